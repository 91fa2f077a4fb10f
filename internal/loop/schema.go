package loop

import (
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/thread"
)

// PureFunc is [agent.Func] for a decision, a [Pure].
func PureFunc[In any](tool llm.Tool, decide func(tx *thread.Tx, in *agent.Invocation, args In) agent.Result) agent.Tool {
	if tool.Parameters == nil {
		tool.Parameters = agent.Schema[In]()
	}
	return agent.Tool{Tool: tool, Handler: Pure(func(tx *thread.Tx, in *agent.Invocation) agent.Result {
		var args In
		if err := in.Decode(&args); err != nil {
			return agent.Refuse(err)
		}
		return decide(tx, in, args)
	})}
}

// Place puts the arguments that address the document before the others. A reading tool
// requires none of them and gives no more than their types: the writing tool that its agent
// has beside it says the rest.
func Place(layout document.Layout, reading bool) func(*jsonschema.Schema) {
	return func(tool *jsonschema.Schema) {
		var order, required []string
		for _, p := range layout.Params() {
			if reading {
				p = document.Param{Name: p.Name, Type: p.Type}
			}
			tool.Properties[p.Name] = placeSchema(p)
			order = append(order, p.Name)
			if p.Required && !reading {
				required = append(required, p.Name)
			}
		}
		tool.PropertyOrder = slices.Concat(order, tool.PropertyOrder)
		tool.Required = slices.Concat(required, tool.Required)
	}
}

// Placed are the arguments that [Place] adds, under the names of every layout. Arguments that
// embed it are decoded with their place at once.
type Placed struct {
	Day      any `json:"day"`
	TimeSlot any `json:"time_slot"`
	Section  any `json:"section"`
	Slot     any `json:"slot"`
}

// Args gives those that were set, by name: [document.Layout.Place] and
// [document.Layout.Filter] read them.
func (p *Placed) Args() map[string]any {
	args := make(map[string]any, 2)
	for _, arg := range [...]struct {
		name  string
		value any
	}{{"day", p.Day}, {"time_slot", p.TimeSlot}, {"section", p.Section}, {"slot", p.Slot}} {
		if arg.value != nil {
			args[arg.name] = arg.value
		}
	}
	return args
}

func placeSchema(p document.Param) *jsonschema.Schema {
	schema := &jsonschema.Schema{Type: p.Type, Description: p.Description, Enum: Enum(p.Enum)}
	if p.Min != nil {
		schema.Minimum = jsonschema.Ptr(float64(*p.Min))
	}
	if p.Max != nil {
		schema.Maximum = jsonschema.Ptr(float64(*p.Max))
	}
	return schema
}

// Enum gives the values that an argument may have, as a schema lists them.
func Enum[T any](values []T) []any {
	var list []any
	for _, value := range values {
		list = append(list, value)
	}
	return list
}
