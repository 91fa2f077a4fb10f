package runner_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

const expertsTeam = `
name: experts
specialists:
  - {id: food, description: Eats., prompt: You know FOOD.}
  - {id: rail, description: Rides., prompt: You know RAIL.}
  - {id: art, description: Looks., prompt: You know ART.}
`

func experts(t *testing.T) *team.Team {
	t.Helper()
	parsed, err := team.Parse("experts.yaml", []byte(expertsTeam))
	require.NoError(t, err)
	return parsed
}

// Proves R20, R21: a question to several specialists, by each strategy, with a
// result of each.
func TestDelegate(t *testing.T) {
	broken := &llm.Error{Kind: llm.ErrBadRequest, Status: 400, Message: "no"}
	for name, test := range map[string]struct {
		delegation facilitator.Delegation
		food, rail llmtest.Step
		replies    []facilitator.Reply
		status     events.Status
		answer     string
	}{
		"parallel": {
			facilitator.Delegation{Specialists: []events.AgentID{"food", "rail"}},
			llmtest.Says("Soup.").After(time.Second), llmtest.Says("Train.").After(2 * time.Second),
			[]facilitator.Reply{{Agent: "food", Success: true, Response: "Soup.", LatencyMS: 1000}, {Agent: "rail", Success: true, Response: "Train.", LatencyMS: 2000}},
			events.StatusCompleted, "From food:\n\nSoup.\n\nFrom rail:\n\nTrain.",
		},
		"one fails": {
			facilitator.Delegation{Specialists: []events.AgentID{"food", "rail"}},
			llmtest.Fails(broken), llmtest.Says("Train.").After(time.Second),
			[]facilitator.Reply{{Agent: "food", Error: "bad_request"}, {Agent: "rail", Success: true, Response: "Train.", LatencyMS: 1000}},
			events.StatusDegraded, "Train.",
		},
		"all fail": {
			facilitator.Delegation{Specialists: []events.AgentID{"food", "rail"}},
			llmtest.Fails(broken), llmtest.Fails(broken),
			[]facilitator.Reply{{Agent: "food", Error: "bad_request"}, {Agent: "rail", Error: "bad_request"}},
			events.StatusFailed, "All specialists failed to answer.",
		},
		"first success": {
			facilitator.Delegation{Specialists: []events.AgentID{"food", "rail"}, Strategy: facilitator.FirstSuccess},
			llmtest.Says("Soup.").After(time.Minute), llmtest.Says("Train.").After(time.Second),
			[]facilitator.Reply{{Agent: "food", Error: "cancelled", LatencyMS: 1000}, {Agent: "rail", Success: true, Response: "Train.", LatencyMS: 1000}},
			events.StatusCompleted, "Train.",
		},
		"timeout": {
			facilitator.Delegation{Specialists: []events.AgentID{"food", "rail"}, TimeoutSeconds: 5},
			llmtest.Says("Soup.").After(time.Minute), llmtest.Says("Train."),
			[]facilitator.Reply{{Agent: "food", Error: "specialist_timeout", LatencyMS: 5000}, {Agent: "rail", Success: true, Response: "Train."}},
			events.StatusDegraded, "Train.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := llmtest.Script(t, llmtest.Agent("FOOD", test.food), llmtest.Agent("RAIL", test.rail))
				test.delegation.Question = "How do we start?"
				result, replies, err := newRunner(t, events.NewMemory(), client).Delegate(t.Context(), runner.Job{Team: experts(t)}, test.delegation)
				require.NoError(t, err)
				require.Equal(t, test.status, result.Status, result.Reason)
				require.Equal(t, test.answer, result.Answer)
				require.Empty(t, result.Document, "nothing is written")
				require.Len(t, replies, len(test.replies))
				for i, want := range test.replies {
					require.Contains(t, replies[i].Error, want.Error)
					require.Equal(t, want.Error == "", replies[i].Error == "")
					replies[i].Error = want.Error
					require.Equal(t, want, replies[i])
				}
			})
		})
	}
}

func TestDelegateOneAfterTheOther(t *testing.T) {
	client := llmtest.Script(t, llmtest.Agent("FOOD", llmtest.Says("Soup.")), llmtest.Agent("RAIL", llmtest.Says("Train.\n\nfood answered before you: Gravel.")), llmtest.Agent("ART", llmtest.Says("Paint.")))
	_, replies, err := newRunner(t, events.NewMemory(), client).Delegate(t.Context(), runner.Job{Team: experts(t)},
		facilitator.Delegation{Question: "How do we start?", Strategy: facilitator.Sequential})
	require.NoError(t, err)
	require.Len(t, replies, 3, "without names all are asked")
	last := client.Requests("ART")[0]
	require.Empty(t, last.Tools)
	question, _, _ := strings.Cut(last.Messages[1].Content, "\n\nAnswer in text.")
	require.Equal(t, "The facilitator asks you:\n> How do we start?\n>\n> food answered before you: Soup.\n>\n"+
		"> rail answered before you:\n> > Train.\n> >\n> > food answered before you: Gravel.", question)
}

func TestDelegateRefusesWhatCannotBe(t *testing.T) {
	r := newRunner(t, events.NewMemory(), llmtest.Script(t))
	for complaint, d := range map[string]facilitator.Delegation{
		"no specialist": {Question: "x", Specialists: []events.AgentID{"nobody"}},
		"named twice":   {Question: "x", Specialists: []events.AgentID{"food", "food"}},
		"no strategy":   {Question: "x", Strategy: "loudest"},
		"empty":         {},
		"not from 1":    {Question: "x", TimeoutSeconds: -1},
	} {
		_, _, err := r.Delegate(t.Context(), runner.Job{Team: experts(t)}, d)
		var input *runner.InputError
		require.ErrorAs(t, err, &input)
		require.ErrorContains(t, err, complaint)
	}
}

// Proves R73: a delegation that was stopped is resumed, and whom it has an answer of
// is not asked again.
func TestDelegationIsResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := llmtest.Script(t,
			llmtest.Agent("FOOD", llmtest.Says("Soup.").After(time.Second)),
			llmtest.Agent("RAIL", llmtest.Says("Train.").After(time.Minute), llmtest.Says("Train.")))
		r := newRunner(t, events.NewMemory(), client)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		result, replies, err := r.Delegate(ctx, runner.Job{Team: experts(t)}, facilitator.Delegation{
			Question: "How do we start?", Specialists: []events.AgentID{"food", "rail"},
		})
		require.NoError(t, err)
		require.Equal(t, events.StatusSuspended, result.Status)
		require.Equal(t, []bool{true, false}, []bool{replies[0].Success, replies[1].Success})
		run, err := r.Resume(t.Context(), "", result.Run, runner.Terms{})
		require.NoError(t, err)
		result, err = run.Wait()
		require.NoError(t, err)
		require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
		require.Equal(t, "From food:\n\nSoup.\n\nFrom rail:\n\nTrain.", result.Answer)
	})
}

// Proves R20: the facilitator asks several specialists with one tool call, and reads
// the result of each.
func TestAskSpecialistsTool(t *testing.T) {
	client := llmtest.Script(t,
		llmtest.Agent("the facilitator of a team",
			llmtest.Calls("", llmtest.Call("ask_specialists", map[string]any{"question": "How do we start?", "specialists": []string{"food", "rail"}})),
			llmtest.Says("With soup, by train.")),
		llmtest.Agent("FOOD", llmtest.Says("Soup.")), llmtest.Agent("RAIL", llmtest.Fails(&llm.Error{Kind: llm.ErrBadRequest, Message: "derailed"})))
	r := newRunner(t, events.NewMemory(), client)
	result, err := r.Run(t.Context(), runner.Job{Request: "Start", Team: experts(t)})
	require.NoError(t, err)
	require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
	require.Equal(t, 3, result.ModelCalls, "the answers are paid for in the log")
	messages := client.Requests("the facilitator of a team")[1].Messages
	var replies []facilitator.Reply
	require.NoError(t, json.NewDecoder(strings.NewReader(messages[len(messages)-1].Content)).Decode(&replies)) // a note follows
	require.Equal(t, "Soup.", replies[0].Response)
	require.Contains(t, replies[1].Error, "derailed")
}

// Proves R41: an agent asks no more specialists at once, and by no other strategy, than it
// declares.
func TestDeclaredDelegations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tm := experts(t)
		tm.Facilitator.MaxConcurrentDelegations, tm.Facilitator.SupportedDelegationStrategies = 1, []string{"parallel"}
		client := llmtest.Script(t, llmtest.Agent("FOOD", llmtest.Says("Soup.").After(time.Second)), llmtest.Agent("RAIL", llmtest.Says("Train.").After(2*time.Second)))
		r := newRunner(t, events.NewMemory(), client)
		both := facilitator.Delegation{Question: "How do we start?", Specialists: []events.AgentID{"food", "rail"}}
		start := time.Now()
		result, _, err := r.Delegate(t.Context(), runner.Job{Team: tm}, both)
		require.NoError(t, err)
		require.Equal(t, "From food:\n\nSoup.\n\nFrom rail:\n\nTrain.", result.Answer)
		require.Equal(t, 3*time.Second, time.Since(start), "one after the other")

		both.Strategy = facilitator.Sequential
		_, _, err = r.Delegate(t.Context(), runner.Job{Team: tm}, both)
		require.ErrorContains(t, err, `no strategy "sequential": choose from parallel`)
	})
}
