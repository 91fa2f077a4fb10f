package agent

import (
	"context"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// Func makes a tool of a Go function, as [External] runs it. Its arguments are read
// into an In, a struct, whose [Schema] the model is shown unless tool.Parameters is set.
// effect says what repeating a call would do; "" is effectful.
//
// It panics if no schema can be made of In, as [Schema] does.
func Func[In any](tool llm.Tool, effect events.Effect, call func(ctx context.Context, in Invocation, args In) (Result, error)) Tool {
	return Tool{described[In](tool), External{Effect: effect, Call: func(ctx context.Context, in Invocation) (Result, error) {
		var args In
		if err := in.Decode(&args); err != nil {
			return Result{}, err
		}
		return call(ctx, in, args)
	}}}
}

// described gives the tool with the schema of In, if it has none of its own.
func described[In any](tool llm.Tool) llm.Tool {
	if tool.Parameters == nil {
		tool.Parameters = Schema[In]()
	}
	return tool
}
