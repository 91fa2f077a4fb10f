package runner_test

import (
	"context"
	"fmt"
	"log"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/team"
)

// exampleRunner keeps its runs in memory and asks the simulated model.
func exampleRunner(config runner.Config) *runner.Runner {
	config.Log = events.NewMemory() // sqlite.Open(ctx, "convene.db") keeps them
	config.Models = endpoint.New(endpoint.Config{Default: "sim"})
	r, err := runner.New(config)
	if err != nil {
		log.Fatal(err)
	}
	return r
}

func exampleTeam() *team.Team {
	trip, err := team.Builtin("trip")
	if err != nil {
		log.Fatal(err)
	}
	return trip
}

// One run, from the request to the answer.
func ExampleRunner_Run() {
	r := exampleRunner(runner.Config{})
	result, err := r.Run(context.Background(), runner.Job{Request: "Plan three days in Kyoto for two", Team: exampleTeam()})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Status, len(result.Tasks), "tasks", result.Simulated)
	// Output: completed 6 tasks true
}

// Following the events of a run while it is under way.
func ExampleRun_Events() {
	ctx := context.Background()
	run, err := exampleRunner(runner.Config{}).Start(ctx, runner.Job{Request: "Plan three days in Kyoto for two", Team: exampleTeam()})
	if err != nil {
		log.Fatal(err)
	}
	for env, err := range run.Events(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		switch e := env.Data.(type) {
		case events.TasksCreated:
			fmt.Println(len(e.Tasks), "tasks")
		case events.WorkflowFinished:
			fmt.Println(e.Status)
		}
	}
	// Output:
	// 6 tasks
	// completed
}

// A specialist that is a Go function in place of a model.
func ExampleJob_functions() {
	timetable := func(_ context.Context, work specialists.Assignment) (specialists.Contribution, error) {
		return specialists.Contribution{
			Entries: []specialists.Entry{{
				Place:   map[string]any{"day": 1, "time_slot": "morning"},
				Content: fmt.Sprintf("Train 7 leaves at 8:12 (%d tasks).", len(work.Tasks)),
			}},
			Summary: "One train found.",
		}, nil
	}
	run, err := exampleRunner(runner.Config{}).Start(context.Background(), runner.Job{
		Request: "Plan three days in Kyoto for two", Team: exampleTeam(), Functions: runner.Functions{"logistics": timetable},
	})
	if err != nil {
		log.Fatal(err)
	}
	for env := range run.Events(context.Background()) {
		if written, ok := env.Data.(events.DocumentUpdated); ok && env.Agent == "logistics" {
			fmt.Println(written.Content)
		}
	}
	// Output: Train 7 leaves at 8:12 (2 tasks).
}

// A tool of one's own, which every specialist may call.
func ExampleConfig_tools() {
	type place struct {
		Place string `json:"place" jsonschema:"A city or a region."`
	}
	weather := agent.Func(llm.Tool{Name: "weather", Description: "Gives the weather of a place."},
		events.EffectPure, // may be asked again after a crash
		func(_ context.Context, _ agent.Invocation, args place) (agent.Result, error) {
			return agent.Result{Text: "Sunny in " + args.Place}, nil
		})
	r := exampleRunner(runner.Config{Tools: []agent.Tool{weather}})
	result, err := r.Run(context.Background(), runner.Job{Request: "Plan three days in Kyoto for two", Team: exampleTeam()})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Status)
	// Output: completed
}

// A conversation: a message, its answer, and a handoff at the wish of the program, after which
// the specialist speaks.
func ExampleConversation() {
	ctx := context.Background()
	builder, err := team.Builtin("skill-builder")
	if err != nil {
		log.Fatal(err)
	}
	r := exampleRunner(runner.Config{})
	c := r.Conversation(runner.Job{Team: builder})
	receipt, err := c.Send(ctx, "Hello")
	if err != nil {
		log.Fatal(err)
	}
	if _, err = receipt.Run.Wait(); err != nil {
		log.Fatal(err)
	}
	id, err := c.HandOff(ctx, conversation.Handoff{Target: builder.Handoff.Agents()[0], Reason: "new skill", Summary: "Wants a skill that posts alerts."})
	if err != nil {
		log.Fatal(err)
	}
	for env, err := range c.Follow(ctx, 0) {
		if err != nil {
			log.Fatal(err)
		}
		if answer, ok := env.Data.(events.FinalAnswer); ok && env.Dispatch == events.DispatchID(id) {
			fmt.Println(env.Agent, "answers:", answer.Content != "")
			break
		}
	}
	// Output: skill_builder answers: true
}
