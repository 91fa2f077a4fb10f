package batch_test

import (
	"context"
	"fmt"
	"log"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// A batch whose rows come from a channel.
func ExampleBatch_Run() {
	trip, err := team.Builtin("trip")
	if err != nil {
		log.Fatal(err)
	}
	r, err := runner.New(runner.Config{Log: events.NewMemory(), Models: endpoint.New(endpoint.Config{Default: "sim"})})
	if err != nil {
		log.Fatal(err)
	}
	requests := make(chan string)
	go func() {
		defer close(requests)
		for _, city := range []string{"Kyoto", "Nara", "Osaka"} {
			requests <- "Plan a day in " + city
		}
	}()
	rows := func(yield func(batch.Row, error) bool) {
		for request := range requests {
			if !yield(batch.Row{Request: request}, nil) {
				return
			}
		}
	}
	b, err := batch.New(batch.Config{Runner: r, Team: trip, Concurrency: 2})
	if err != nil {
		log.Fatal(err)
	}
	answered := 0
	report, err := b.Run(context.Background(), rows, batch.SinkFunc(func(out batch.Output) error {
		if out.Answer != "" {
			answered++
		}
		return nil
	}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Completed, "completed,", answered, "answered")
	// Output: 3 completed, 3 answered
}
