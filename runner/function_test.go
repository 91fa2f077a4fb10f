package runner_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
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
			})
			require.NoError(t, err)
			result, err := r.Run(t.Context(), runner.Job{
				Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip"), Functions: runner.Functions{"logistics": test.function},
			})
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
	var asked []string
	client := llmtest.Script(t,
		llmtest.Agent("the facilitator of a team",
			llmtest.Calls("", llmtest.Call("create_tasks", map[string]any{"tasks": []any{map[string]any{"text": "Look", "assigned_to": "food"}}})),
			llmtest.Calls("", llmtest.Call("call_food", map[string]any{"task_ids": []int{1}, "message": "go"})),
			llmtest.Says("Done.")),
		llmtest.Agent("",
			llmtest.Calls("", llmtest.Call("weather", map[string]any{"place": "Nara"})),
			llmtest.Calls("", llmtest.Call("write_section", map[string]any{"day": 1, "time_slot": "morning", "content": "Outside."}), complete(1)),
			llmtest.Says("It is sunny.")))
	r, err := runner.New(runner.Config{Log: events.NewMemory(), Models: oneClient{client}, Tools: []agent.Tool{weather(&asked)}})
	require.NoError(t, err)
	result, err := r.Run(t.Context(), runner.Job{Request: "Eat outside?", Team: builtin(t, "trip")})
	require.NoError(t, err)
	require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
	require.Equal(t, []string{`{"place":"Nara"}`}, asked)
	requests := client.Requests("")
	require.Contains(t, asJSONText(requests[len(requests)-1].Messages), "Sunny")
}

func asJSONText(messages []events.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Content + "\n")
	}
	return b.String()
}

// weather is a tool of the embedding program.
func weather(asked *[]string) agent.Tool {
	type place struct {
		Place string `json:"place" jsonschema:"The place."`
	}
	return agent.Func(llm.Tool{Name: "weather", Description: "Gives the weather."}, events.EffectPure,
		func(_ context.Context, in agent.Invocation, _ place) (agent.Result, error) {
			*asked = append(*asked, in.Ref.Arguments)
			return agent.Result{Text: "Sunny"}, nil
		})
}

// A prompt names the tools that there are, and says that there are none only where that
// is so. Proves R20: who is asked has what it needs for an answer, and is not told of
// tools that it lacks.
func TestPromptsNameTheToolsThereAre(t *testing.T) {
	const none = "You have no tools to look things up"
	for name, tools := range map[string]bool{"with tools": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			config := runner.Config{Log: events.NewMemory()}
			answer := []llmtest.Step{llmtest.Says("Sun.")}
			if tools {
				config.Tools = []agent.Tool{weather(&asked)}
				answer = []llmtest.Step{llmtest.Calls("", llmtest.Call("weather", args{"place": "Nara"})), llmtest.Says("Sun.")}
			}
			client := llmtest.Script(t,
				llmtest.Agent(boss,
					llmtest.Calls("", llmtest.Call("ask_specialists", args{"question": "Will it rain?", "specialists": []string{"beta"}})),
					llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("Done")),
				ordinary()[1], llmtest.Agent(beta, answer...))
			config.Models = oneClient{client}
			p := playWith(t, config, pair())
			p.completed(t)
			require.Contains(t, p.results("ask_specialists")[0], "Sun.")

			asking := client.Requests(beta)[0]
			for _, missing := range []string{"read_tasks", "write_section", "complete_task", "Your tasks"} {
				require.NotContains(t, asJSONText(asking.Messages), missing)
			}
			var offered []string
			for _, tool := range asking.Tools {
				offered = append(offered, tool.Name)
			}
			working := client.Requests(alpha)[0].Messages[0].Content
			if !tools {
				require.Empty(t, offered)
				require.Contains(t, asking.Messages[0].Content, none)
				require.Contains(t, working, none)
				return
			}
			require.Equal(t, []string{"weather"}, offered)
			require.Equal(t, []string{`{"place":"Nara"}`}, asked)
			for _, prompt := range []string{asking.Messages[0].Content, working} {
				require.NotContains(t, prompt, none)
				require.Contains(t, prompt, "you have: weather.")
			}
		})
	}
}

// routes records the models that the agents of a run resolve.
type routes struct {
	oneClient
	seen [][]string
}

func (r *routes) Resolve(specs ...string) (llm.Route, error) {
	r.seen = append(r.seen, specs)
	return r.oneClient.Resolve(specs...)
}

// Fallbacks hold for an agent that names no model of its own, too; a model for the
// whole run stands alone.
func TestFallbacksWithoutAModel(t *testing.T) {
	tm := pair()
	tm.Facilitator.FallbackModels = []string{"openai/spare"}
	tm.Specialists[0].Model, tm.Specialists[0].FallbackModels = "openai/own", []string{"openai/other"}
	for model, want := range map[string][][]string{
		"":          {{"", "openai/spare"}, {"openai/own", "openai/other"}, {""}},
		"openai/it": {{"openai/it"}, {"openai/it"}, {"openai/it"}},
	} {
		models := &routes{oneClient: oneClient{llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Hello")))}}
		r, err := runner.New(runner.Config{Log: events.NewMemory(), Models: models})
		require.NoError(t, err)
		_, err = r.Run(t.Context(), runner.Job{Request: "Hello", Team: tm, Model: model})
		require.NoError(t, err)
		require.Equal(t, want, models.seen)
	}
}
