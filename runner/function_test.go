package runner_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/llm/sim"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/specialists"
)

// Proves R22, R72: a Go function works as a specialist; where it fails the run goes
// on without it and says so.
func TestFunctionAsSpecialist(t *testing.T) {
	place := map[string]any{"day": 1, "time_slot": "morning"}
	for name, test := range map[string]struct {
		function specialists.Function
		failure  string
	}{
		"good": {func(_ context.Context, work specialists.Assignment) (specialists.Contribution, error) {
			if len(work.Tasks) == 0 || work.Request != "Plan three days in Kyoto for two" {
				return specialists.Contribution{}, errors.New("no work")
			}
			return specialists.Contribution{Entries: []specialists.Entry{{Place: place, Content: "Train 7.", Task: work.Tasks[0].ID}}, Summary: "Found."}, nil
		}, ""},
		"error": {func(context.Context, specialists.Assignment) (specialists.Contribution, error) {
			return specialists.Contribution{}, errors.New("no timetable today")
		}, "no timetable today"},
		"panic": {func(context.Context, specialists.Assignment) (specialists.Contribution, error) { panic("boom") }, "the specialist panicked: boom"},
		"no such place": {func(context.Context, specialists.Assignment) (specialists.Contribution, error) {
			return specialists.Contribution{Entries: []specialists.Entry{{Place: map[string]any{"day": "first"}, Content: "x"}}}, nil
		}, "day"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := runner.New(runner.Config{
				Log: events.NewMemory(), Models: oneClient{sim.New(sim.Options{})},
				Functions: map[events.AgentID]specialists.Function{"logistics": test.function},
			})
			require.NoError(t, err)
			result, err := r.Run(t.Context(), runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")})
			require.NoError(t, err)
			if test.failure == "" {
				require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
				require.Contains(t, result.Document, "Train 7.")
				return
			}
			require.Equal(t, events.StatusDegraded, result.Status)
			require.Contains(t, result.Reason, test.failure)
			require.NotEmpty(t, result.MissingTasks)
		})
	}
}

// A tool of the embedding program is offered to specialists, and run.
func TestCustomTool(t *testing.T) {
	asked := ""
	weather := agent.Tool{
		Tool: llm.Tool{Name: "weather", Description: "Gives the weather.", Parameters: agent.Parameters(
			agent.Property{Name: "place", Schema: agent.Text("The place."), Required: true})},
		Handler: agent.External{Effect: events.EffectPure, Call: func(_ context.Context, in agent.Invocation) (string, error) {
			asked = in.Ref.Arguments
			return "Sunny", nil
		}},
	}
	client := llmtest.Script(t,
		llmtest.Agent("the facilitator of a team",
			llmtest.Calls("", llmtest.Call("create_tasks", map[string]any{"tasks": []any{map[string]any{"text": "Look", "assigned_to": "food"}}})),
			llmtest.Calls("", llmtest.Call("call_food", map[string]any{"task_ids": []int{1}, "message": "go"})),
			llmtest.Says("Done.")),
		llmtest.Agent("",
			llmtest.Calls("", llmtest.Call("weather", map[string]any{"place": "Nara"})),
			llmtest.Says("It is sunny.")))
	r, err := runner.New(runner.Config{Log: events.NewMemory(), Models: oneClient{client}, Tools: []agent.Tool{weather}})
	require.NoError(t, err)
	result, err := r.Run(t.Context(), runner.Job{Request: "Eat outside?", Team: builtin(t, "trip")})
	require.NoError(t, err)
	require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
	require.JSONEq(t, `{"place":"Nara"}`, asked)
	requests := client.Requests("")
	last := requests[len(requests)-1].Messages
	require.True(t, strings.Contains(asJSONText(last), "Sunny") || strings.Contains(asJSONText(requests[len(requests)-2].Messages), "Sunny"))
}

func asJSONText(messages []events.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Content + "\n")
	}
	return b.String()
}
