package loop_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/thread"
)

type forecastArgs struct {
	Place string             `json:"place" jsonschema:"A city."`
	Days  int                `json:"days,omitempty" jsonschema:"How far to look ahead."`
	Units *string            `json:"units,omitempty"`
	Near  []near             `json:"near,omitempty"`
	Extra map[string]float64 `json:"extra,omitzero"`
}

type near struct {
	KM float64 `json:"km"`
}

// Functions get their arguments as a struct, both kinds; a call whose arguments do not
// fit the inferred schema is answered with what is wrong, and the function not called.
func TestFuncs(t *testing.T) {
	var asked []forecastArgs
	answer := func(args forecastArgs) agent.Result {
		asked = append(asked, args)
		return agent.Result{Text: strings.Repeat("sun ", args.Days)}
	}
	tools := []agent.Tool{
		agent.Func(llm.Tool{Name: "fetch"}, events.EffectPure, func(_ context.Context, _ agent.Invocation, args forecastArgs) (agent.Result, error) {
			return answer(args), nil
		}),
		loop.PureFunc(llm.Tool{Name: "think"}, func(_ *thread.Tx, _ *agent.Invocation, args forecastArgs) agent.Result {
			return answer(args)
		}),
	}
	j := newJournal(t)
	l, _ := newLoop(t, j, tools,
		llmtest.Calls("", llmtest.Call("fetch", map[string]any{"place": "Nara", "days": 2})),
		llmtest.Calls("", llmtest.Call("think", map[string]any{"place": "Uji", "days": 1, "mood": "good"})),
		llmtest.Calls("", llmtest.Call("fetch", map[string]any{"days": 2}), llmtest.Call("think", map[string]any{"place": "Uji", "days": "two"})),
		llmtest.Says("Done"))
	require.NoError(t, l.Drive(t.Context()))
	require.Equal(t, []forecastArgs{{Place: "Nara", Days: 2}, {Place: "Uji", Days: 1}}, asked)
	results := of[events.ToolCallDone](j)
	require.Len(t, results, 4)
	require.Equal(t, "sun sun ", results[0].Result)
	require.Equal(t, "sun ", results[1].Result)
	for _, refused := range results[2:] {
		require.True(t, refused.Failed)
		require.Contains(t, refused.Result, "do not fit its schema")
	}
}
