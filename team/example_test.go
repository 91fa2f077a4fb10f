package team_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/convene-run/convene/team"
)

// Every problem in a team file is reported with its line and column.
func ExampleParse() {
	_, err := team.Parse("launch.yaml", []byte("name: launch\nspecialists:\n  - id: pricing\n    description: prices\n    prompt: You know prices.\n    modell: sim\n"))
	first, _, _ := strings.Cut(err.Error(), " the keys here are")
	fmt.Println(first)
	// Output: launch.yaml:6:5: unknown key "modell" in specialists[0]; did you mean "model"?
}

// A built-in team, with every default filled in.
func ExampleBuiltin() {
	trip, err := team.Builtin("trip")
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range trip.Specialists {
		fmt.Println(s.ID)
	}
	fmt.Println(trip.Limits.MaxTasks, trip.Limits.MaxTime)
	// Output:
	// logistics
	// food
	// sightseeing
	// 20 30m0s
}
