package thread_test

import (
	"fmt"
	"log"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// Folding a thread's events. [thread.Load] reads them from a log.
func Example() {
	th := thread.New()
	for i, fact := range []events.Event{
		events.WorkflowStarted{Message: "Plan three days in Kyoto"},
		events.FinalAnswer{Content: "Start at the market."},
		events.WorkflowFinished{Status: events.StatusCompleted},
	} {
		env := events.Envelope{Tenant: events.LocalTenant, Thread: "t", Run: "r", Seq: events.Seq(i + 1), Time: time.Unix(int64(i), 0), Data: fact}
		if err := th.Apply(env); err != nil {
			log.Fatal(err)
		}
	}
	run := th.Current()
	fmt.Println(run.Status, run.Answer)
	// Output: completed Start at the market.
}
