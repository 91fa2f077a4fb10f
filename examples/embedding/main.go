// Command embedding shows convene inside of another program: a module of its own
// that imports the runner and the batch, and nothing else of convene's command line.
//
//	go run . "Plan a weekend in Lisbon"            # with the simulated model
//	CONVENE_MODEL=openai/gpt-5-mini go run . "…"   # with a real one
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

func main() {
	request := strings.Join(os.Args[1:], " ")
	if request == "" {
		request = "Plan a weekend in Lisbon"
	}
	if err := run(context.Background(), os.Stdout, "embedding.db", request); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run has a team answer the request, and then ask the same of three cities at once.
func run(ctx context.Context, out io.Writer, store, request string) (err error) {
	log, err := sqlite.Open(ctx, store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	model := os.Getenv("CONVENE_MODEL")
	if model == "" {
		model = "sim"
	}
	r, err := runner.New(runner.Config{Log: log, Models: endpoint.New(endpoint.Config{Default: model})})
	if err != nil {
		return err
	}
	trip, err := team.Builtin("trip")
	if err != nil {
		return err
	}
	if err := follow(ctx, out, r, runner.Job{Request: request, Team: trip}); err != nil {
		return err
	}
	return many(ctx, out, r, trip, "Lisbon", "Porto", "Faro")
}

// follow shows one run as it goes.
func follow(ctx context.Context, out io.Writer, r *runner.Runner, job runner.Job) error {
	started, err := r.Start(ctx, job)
	if err != nil {
		return err
	}
	for env, err := range started.Events(ctx) {
		if err != nil {
			return err
		}
		switch e := env.Data.(type) {
		case events.TasksCreated:
			fmt.Fprintf(out, "%d tasks\n", len(e.Tasks))
		case events.AgentFinished:
			fmt.Fprintf(out, "%s: %s\n", e.DisplayName, e.Status)
		}
	}
	result, err := started.Wait()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n\n%s\n", result.Status, result.Answer)
	return nil
}

// many runs a request for each city, two at a time.
func many(ctx context.Context, out io.Writer, r *runner.Runner, t *team.Team, cities ...string) error {
	b, err := batch.New(batch.Config{Runner: r, Team: t, Concurrency: 2, Total: len(cities)})
	if err != nil {
		return err
	}
	report, err := b.Run(ctx, func(yield func(batch.Row, error) bool) {
		for i, city := range cities {
			if !yield(batch.Row{ID: city, Index: i, Request: "Plan a day in " + city}, nil) {
				return
			}
		}
	}, batch.SinkFunc(func(o batch.Output) error {
		_, err := fmt.Fprintf(out, "%s: %s\n", o.ID, o.Status)
		return err
	}))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d of %d completed\n", report.Completed, report.Rows)
	return nil
}
