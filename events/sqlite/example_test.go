package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

// A store in one file. Events are durable once Append returns.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := sqlite.Open(ctx, filepath.Join(dir, "convene.db"))
	if err != nil {
		log.Fatal(err) // says what is wrong with the file and what to do
	}
	defer store.Close()
	runs, err := store.Runs(ctx, events.RunQuery{Tenant: events.LocalTenant})
	fmt.Println(len(runs), err)
	// Output: 0 <nil>
}
