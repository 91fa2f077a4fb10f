package events_test

import (
	"context"
	"fmt"
	"log"

	"github.com/convene-run/convene/events"
)

// A thread is claimed, written and followed.
func Example() {
	ctx := context.Background()
	store := events.NewMemory() // sqlite.Open(ctx, "convene.db") keeps events on disk
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: "3f1e9a52-6c0b-4d8e-9a41-2f6c7b8d9e10"}
	epoch, err := store.Claim(ctx, key, "example", false)
	if err != nil {
		log.Fatal(err)
	}
	const run = events.RunID("0198c0de-0000-7000-8000-000000000001")
	err = store.Append(ctx, key, epoch, 0, []events.Envelope{
		{Run: run, Data: events.WorkflowStarted{Message: "Plan three days in Kyoto"}},
		{Run: run, Data: events.WorkflowFinished{Status: events.StatusCompleted}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for env, err := range events.Follow(ctx, store, key, 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(env.Seq, env.Data.Kind())
		if env.Data.Kind() == events.KindWorkflowFinished {
			break // otherwise Follow waits for more
		}
	}
	// Output:
	// 1 workflow_started
	// 2 workflow_finished
}
