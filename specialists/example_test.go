package specialists_test

import (
	"context"
	"fmt"
	"log"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/team"
)

// What a specialist is made of: package runner gives it a route of models, and drives its
// dispatches with a [specialists.Dispatcher].
func Example() {
	trip, err := team.Builtin("trip")
	if err != nil {
		log.Fatal(err)
	}
	food := trip.Specialists[0]
	system, err := specialists.System(trip, food, nil)
	if err != nil {
		log.Fatal(err)
	}
	tools, err := loop.NewToolset(specialists.Tools(trip))
	if err != nil {
		log.Fatal(err)
	}
	spec := &loop.Spec{ID: food.ID, DisplayName: food.DisplayName, System: system, Tools: tools}
	dispatcher := specialists.NewDispatcher(specialists.Config{
		Team: trip, Specs: map[events.AgentID]*loop.Spec{food.ID: spec},
	})
	var _ loop.Dispatcher = dispatcher // what the facilitator's loop is given
	for _, tool := range specialists.Tools(trip) {
		fmt.Println(tool.Name)
	}
	// Output:
	// read_tasks
	// complete_task
	// decline_task
	// read_document
	// write_section
}

// A specialist that is a Go function instead of a model.
func ExampleFunction() {
	var timetable specialists.Function = func(_ context.Context, work specialists.Assignment) (specialists.Contribution, error) {
		return specialists.Contribution{
			Entries: []specialists.Entry{{Place: map[string]any{"day": 1, "time_slot": "morning"}, Content: "Train 7 leaves at 8:12."}},
			Summary: "Found one train.",
		}, nil
	}
	found, err := timetable(context.Background(), specialists.Assignment{})
	fmt.Println(found.Summary, err)
	// Output: Found one train. <nil>
}
