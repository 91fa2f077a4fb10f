package loop_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/thread"
)

// An agent with one tool, driven until its role says that it is over. Package runner does
// this for a facilitator and its specialists, with a durable journal, retries and limits.
func Example() {
	forecast := loop.PureFunc(llm.Tool{Name: "forecast", Description: "Returns the weather forecast."},
		func(*thread.Tx, *agent.Invocation, struct{}) agent.Result { return agent.Result{Text: "Sunny"} })
	tools, err := loop.NewToolset([]agent.Tool{forecast})
	if err != nil {
		log.Fatal(err)
	}
	journal := &journal{thread: thread.New()}
	started := events.Envelope{Run: "r", Thread: "t", Seq: 1, Time: time.Now(), Data: events.WorkflowStarted{Message: "Hello"}}
	if err := journal.thread.Apply(started); err != nil {
		log.Fatal(err)
	}
	l := &loop.Loop{
		Spec: &loop.Spec{ID: "guide", System: "You know Kyoto.", Tools: tools, MaxToolCalls: 8, MaxResultChars: 4096},
		Role: &role{}, ID: thread.Facilitator, Run: "r",
		Journal: journal, Caller: straight{sim.New(sim.Options{})}, Governor: free{},
	}
	if err := l.Drive(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(journal.thread.Current().Status)
	// Output: completed
}
