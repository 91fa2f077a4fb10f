package agent_test

import (
	"context"
	"fmt"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// A tool whose schema is inferred from the struct of its arguments.
func ExampleFunc() {
	type place struct {
		City string `json:"city" jsonschema:"A city."`
		Days int    `json:"days,omitempty" jsonschema:"How many days ahead. Defaults to 1."`
	}
	forecast := agent.Func(llm.Tool{Name: "forecast", Description: "Returns the weather forecast of a city."},
		events.EffectPure, // may be repeated after a crash
		func(_ context.Context, _ agent.Invocation, args place) (agent.Result, error) {
			return agent.Result{Text: fmt.Sprintf("%d sunny days in %s", max(1, args.Days), args.City)}, nil
		})
	fmt.Println(string(forecast.Parameters))
	// Output: {"type":"object","properties":{"city":{"type":"string","description":"A city."},"days":{"type":"integer","description":"How many days ahead. Defaults to 1."}},"required":["city"]}
}
