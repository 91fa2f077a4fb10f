package runner_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// A team works on one request, and the run is kept in a file.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "convene")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "jobs.db")

	store, err := sqlite.Open(ctx, path)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	trip, err := team.Builtin("trip") // or team.Load, or a team.Team of your own
	if err != nil {
		log.Fatal(err)
	}
	r, err := runner.New(runner.Config{Log: store, Models: endpoint.New(endpoint.Config{Default: "sim"})})
	if err != nil {
		log.Fatal(err)
	}
	result, err := r.Run(ctx, runner.Job{Request: "Plan three days in Kyoto for two", Team: trip})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Status, len(result.Tasks), "tasks", result.Answer != "", result.Document != "")

	err = r.Shutdown(ctx) // parks what is in progress; r.Resume continues it
	fmt.Println(err)
	// Output:
	// completed 6 tasks true true
	// <nil>
}
