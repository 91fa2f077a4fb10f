package facilitator_test

import (
	"fmt"
	"log"

	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/team"
)

// What a facilitator is made of. Package runner drives it.
func Example() {
	trip, err := team.Builtin("trip")
	if err != nil {
		log.Fatal(err)
	}
	system, err := facilitator.System(trip)
	if err != nil {
		log.Fatal(err)
	}
	var _ loop.Role = facilitator.NewRole(trip, nil, "Plan three days in Kyoto for two")
	fmt.Println(system != "")
	for _, tool := range facilitator.Tools(trip, nil)[:2] {
		fmt.Println(tool.Name)
	}
	// Output:
	// true
	// create_tasks
	// get_plan_status
}
