package runner_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/eventstest"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// betaTalks is Beta while it has the conversation.
const betaTalks = "You are Beta, a specialist in a team. The conversation"

// conversing is the pair with a conversation section.
func conversing(c team.Conversation) *team.Team {
	tm := pair()
	tm.Conversation = &c
	return tm
}

// sayTo sends a message to a team and waits for the answer.
func (k *talk) sayTo(client llm.Client, tm *team.Team, text string, message runner.Message) runner.Result {
	k.t.Helper()
	run, err := newRunner(k.t, k.log, client).Start(k.t.Context(), runner.Job{Request: text, Team: tm, Thread: k.thread, Message: &message})
	require.NoError(k.t, err)
	result, err := run.Wait()
	require.NoError(k.t, err)
	k.thread = run.Key().Thread
	return result
}

// of gives the data of the thread's events of a type, in order.
func of[E events.Event](k *talk) (found []E) {
	for _, env := range k.envs() {
		if e, ok := env.Data.(E); ok {
			found = append(found, e)
		}
	}
	return found
}

// Proves R46: a rule gives the conversation to its specialist, which keeps it by affinity,
// and the facilitator is not asked.
func TestRuleGivesTheFloor(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	tm := conversing(team.Conversation{
		Rules:  []team.Rule{{Agent: "alpha", Intents: []string{"billing"}}},
		Phases: []team.AgentPhase{{Agent: "alpha", Phase: conversation.PhaseHandling}},
	})
	first := llmtest.Script(t, llmtest.Agent(alphaTalks, llmtest.Says("Which invoice?"), llmtest.Says("Paid.")))
	result := k.sayTo(first, tm, "I paid twice", runner.Message{Metadata: json.RawMessage(`{"intent":"billing"}`)})
	require.Equal(t, []any{"Which invoice?", events.StatusCompleted}, []any{result.Answer, result.Status}, result.Reason)
	require.Equal(t, []string{"user: I paid twice"}, said(first.Requests(alphaTalks)[0].Messages))
	k.sayTo(first, tm, "Number 7", runner.Message{})
	to := of[events.MessageRouted](k)
	require.Equal(t, []string{"rule: 1: alpha", "affinity: h1"}, []string{
		string(to[0].Tier) + ": " + to[0].Rule, string(to[1].Tier) + ": " + to[1].Rule,
	})
	require.Equal(t, events.RouterID, of[events.HandoffRequested](k)[0].Source)
	progress := k.fold().Handoffs.Progress
	require.Equal(t, []any{conversation.PhaseHandling, events.AgentID("alpha"), 1}, []any{progress.Phase, progress.ActiveAgent, progress.HandoffCount})

	gone := pair()
	gone.Specialists = gone.Specialists[1:]
	gone.Conversation = &team.Conversation{DefaultAgent: "beta"}
	result = k.sayTo(llmtest.Script(t, llmtest.Agent(betaTalks, llmtest.Says("I am Beta."))), gone, "And now?", runner.Message{})
	require.Equal(t, "I am Beta.", result.Answer, result.Reason)
	to = of[events.MessageRouted](k)
	require.Equal(t, events.TierDefault, to[2].Tier, "affinity lapses with the agent")
}

// assess is the pipeline of the third source: alpha qualifies, beta assesses, gamma analyzes.
func assess() *team.Team {
	tm := pair()
	tm.Specialists = append(tm.Specialists, team.Specialist{ID: "gamma", Description: "Analyzes.", Prompt: "Analyze."})
	pipeline, err := conversation.NewPipeline(
		conversation.Stage{Phase: "qualification", Agent: "alpha", Next: "assessment"},
		conversation.Stage{Phase: "assessment", Agent: "beta", Next: "analysis", CanReturnTo: []events.Phase{"qualification"}},
		conversation.Stage{Phase: "analysis", Agent: "gamma"},
	)
	if err != nil {
		panic(err)
	}
	tm.Install(pipeline)
	return tm
}

// gammaTalks is Gamma while it has the conversation.
const gammaTalks = "You are Gamma, a specialist in a team. The conversation"

func completePhase(result string, next ...string) events.ToolCall {
	a := args{"result": result}
	for _, phase := range next {
		a["next_phase"] = phase
	}
	return llmtest.Call("complete_phase", a)
}

// Proves R38 and the transition problem of the third source: qualifier, assessor and analyzer
// follow each other without a message of the user's between them. What the finishing agent
// says is shown, what it found is passed on, and the synthetic message is hidden.
func TestPhasesFollowWithoutTheUser(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	first := llmtest.Script(t,
		llmtest.Agent(alphaTalks, llmtest.Says("How many people are you?"), llmtest.Calls("Great! I have enough info.", completePhase("Forty people"))),
		llmtest.Agent(betaTalks, llmtest.Says("Let's begin. Question 1: your revenue?")))
	k.sayTo(first, assess(), "Assess my company", runner.Message{})
	result := k.sayTo(first, assess(), "Forty", runner.Message{})
	require.Equal(t, []any{"Let's begin. Question 1: your revenue?", events.StatusCompleted}, []any{result.Answer, result.Status}, result.Reason)
	began := said(first.Requests(betaTalks)[0].Messages)
	require.Equal(t, "user: [Context from previous agent (Alpha)]: Forty people", began[0])
	require.Len(t, began, 2)
	require.Contains(t, began[1], "user: Your phase begins now.")

	second := llmtest.Script(t,
		llmtest.Agent(betaTalks, llmtest.Calls("Thank you.", completePhase("Revenue: 4M", "analysis"))),
		llmtest.Agent(gammaTalks, llmtest.Calls("You are doing well.", completePhase("Healthy"))),
		llmtest.Agent(boss, llmtest.Says("Your assessment is complete.")))
	result = k.sayTo(second, assess(), "Four million", runner.Message{})
	require.Equal(t, []any{"Your assessment is complete.", events.StatusCompleted}, []any{result.Answer, result.Status}, result.Reason)
	told := said(second.Requests(boss)[0].Messages)
	require.Contains(t, told[len(told)-1], "gamma gives the conversation back (completed): Healthy")
	require.NotContains(t, told[len(told)-1], "beta gives")
	for _, agent := range []string{betaTalks, gammaTalks, boss} {
		for _, req := range second.Requests(agent) {
			requireValid(t, req.Messages)
		}
	}
	var seen []string
	for _, m := range k.fold().Messages(0, 0) {
		seen = append(seen, string(m.Agent)+": "+m.Content)
	}
	require.Equal(t, []string{
		": Assess my company", "alpha: How many people are you?", ": Forty",
		"alpha: Great! I have enough info.", ": ✓ Qualification complete - Starting assessment...", "beta: Let's begin. Question 1: your revenue?",
		": Four million", "beta: Thank you.", ": ✓ Assessment complete - Starting analysis...",
		"gamma: You are doing well.", ": ✓ Analysis complete", "facilitator: Your assessment is complete.",
	}, seen)
	changed := of[events.PhaseChanged](k)
	require.Len(t, changed, 4)
	require.JSONEq(t, `{"phase":"qualification","active_agent_id":"alpha","handoff_count":1,"handoff_id":"h1"}`, string(changed[1].Snapshot))
	require.Equal(t, "Forty people", changed[1].Result)
	require.Equal(t, events.Phase(""), k.fold().Handoffs.Progress.Phase)

	third := llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("You're welcome.")))
	require.Equal(t, "You're welcome.", k.sayTo(third, assess(), "Thanks", runner.Message{}).Answer, "the default agent has the conversation")
}

// Proves R38 and the edge case of the third source: the assessor fails. The user hears it and
// is with the qualifier again, who can try once more.
func TestFailingTransitionIsTakenBack(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	first := llmtest.Script(t,
		llmtest.Agent(alphaTalks, llmtest.Calls("Great!", completePhase("Forty people"))),
		llmtest.Agent(betaTalks, llmtest.Fails(&llm.Error{Kind: llm.ErrBadRequest, Status: 400, Message: "no such thing"})))
	result := k.sayTo(first, assess(), "Assess my company of forty", runner.Message{})
	require.Equal(t, "Beta could not take over just now. You are with Alpha again and nothing is lost: send a message to try once more.", result.Answer)
	require.Equal(t, events.StatusDegraded, result.Status)
	require.Contains(t, result.Reason, "beta could not go on: ")
	rolled := of[events.TransitionRolledBack](k)
	require.Len(t, rolled, 1)
	for _, env := range k.envs() {
		if env.Seq == rolled[0].ToSeq+1 {
			require.Equal(t, events.KindHandoffReturned, env.Data.Kind(), "the state is as it was before the transition")
		}
	}
	state := &k.fold().Handoffs
	require.Equal(t, []any{events.HandoffID("h1"), events.Phase("qualification")}, []any{state.Active().ID, state.Progress.Phase})

	second := llmtest.Script(t,
		llmtest.Agent(alphaTalks, llmtest.Calls("Once more.", completePhase("Forty people"))),
		llmtest.Agent(betaTalks, llmtest.Says("Question 1?")))
	require.Equal(t, conversation.Transitions{RolledBack: 1}, k.fold().Context().Transitions)
	require.Equal(t, "Question 1?", k.sayTo(second, assess(), "ok", runner.Message{}).Answer)
	require.Equal(t, conversation.Transitions{Succeeded: 1, RolledBack: 1}, k.fold().Context().Transitions)
	asked := said(second.Requests(alphaTalks)[0].Messages)
	require.Contains(t, asked[len(asked)-2], "user: Beta could not take over, so you have the conversation again.")
	require.Equal(t, "user: ok", asked[len(asked)-1])
	requireValid(t, second.Requests(alphaTalks)[0].Messages)
}

// Proves R38: agents that pass the conversation on in a ring are stopped, and the user is told.
func TestRingOfAgentsStops(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	tm := pair()
	pipeline, err := conversation.NewPipeline(
		conversation.Stage{Phase: "here", Agent: "alpha", Next: "there"}, conversation.Stage{Phase: "there", Agent: "beta", Next: "here"})
	require.NoError(t, err)
	tm.Install(pipeline)
	var on, back []llmtest.Step
	for range conversation.MaxTransitions {
		on, back = append(on, llmtest.Calls("", completePhase("on"))), append(back, llmtest.Calls("", completePhase("back")))
	}
	script := llmtest.Script(t, llmtest.Agent(alphaTalks, on[:5]...), llmtest.Agent(betaTalks, back[:4]...))
	result := k.sayTo(script, tm, "Go", runner.Message{})
	require.Contains(t, result.Answer, "I stopped here, because the conversation was passed on many times")
	require.Equal(t, events.StatusDegraded, result.Status)
	require.Contains(t, result.Reason, "passed on 8 times")
	require.Len(t, k.fold().Current().Entered, conversation.MaxTransitions)
	require.Equal(t, events.AgentID("alpha"), k.fold().Handoffs.Active().Request.Target)
	next := llmtest.Script(t, llmtest.Agent(alphaTalks, llmtest.Says("What do you need?")))
	require.Equal(t, "What do you need?", k.sayTo(next, tm, "Stop that", runner.Message{}).Answer)
}

// Proves R38 over real HTTP: the built-in assessment goes from qualifier to analyzer, and each
// agent but the first speaks without a message of the user's before it.
func TestAssessmentOverHTTP(t *testing.T) {
	r, _, log := overHTTP(t, sim.Options{})
	k, tm := &talk{t: t, log: log}, builtin(t, "assessment")
	var phases []events.Phase
	for i := 0; i < 20 && len(phases) < 4; i++ { // each agent asks a handful of questions
		run, err := r.Start(t.Context(), runner.Job{Request: fmt.Sprintf("Assess my company: answer %d is 40 people", i), Team: tm, Thread: k.thread})
		require.NoError(t, err)
		result, err := run.Wait()
		require.NoError(t, err)
		require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
		k.thread, phases = run.Key().Thread, nil
		for _, changed := range of[events.PhaseChanged](k) {
			phases = append(phases, changed.To)
		}
	}
	stages := tm.Conversation.Pipeline
	require.Equal(t, []events.Phase{stages[0].Phase, stages[1].Phase, stages[2].Phase, ""}, phases)
	th := k.fold()
	entered := 0
	for _, run := range th.Runs {
		entered += len(run.Entered)
		require.NotNil(t, run.FinalAnswer)
	}
	require.Equal(t, 2, entered)
	for _, m := range th.Messages(0, 0) {
		require.NotContains(t, m.Content, "Your phase begins now", "synthetic messages are hidden")
	}
}

// Proves R38: whenever the process dies around a transition, it has happened or it has not; the
// run that is taken up again comes to the same end.
func TestKilledAroundATransition(t *testing.T) {
	from, step := race.Every(3, 0)
	for dies := from; dies < 8; dies += step {
		k, tm := &talk{t: t, log: events.NewMemory()}, builtin(t, "assessment")
		key := events.ThreadKey{Tenant: events.LocalTenant, Thread: "7b2c5a60-93f0-4d7e-8f43-8c1a0c1f3e55"}
		k.thread = key.Thread
		for i := 0; i < 20 && len(of[events.PhaseChanged](k)) < 4; i++ {
			mortal := eventstest.NewFailpoint(k.log, func(p eventstest.Point) error {
				if p.Append == dies {
					return errDied
				}
				return nil
			})
			job := runner.Job{
				Request: fmt.Sprintf("Assess my company: answer %d is 40 people", i), Team: tm, Thread: key.Thread,
				Message: &runner.Message{ID: events.MessageID(fmt.Sprint("m", i))},
			}
			if err := sayWith(t, mortal, job); err != nil {
				require.ErrorIs(t, err, errDied)
				require.NoError(t, sayWith(t, k.log, job))
			}
		}
		th := k.fold()
		require.Len(t, of[events.PhaseChanged](k), 4, "killed at append %d", dies)
		require.Nil(t, th.Handoffs.Active())
		for _, run := range th.Runs {
			require.Equal(t, events.StatusCompleted, run.Status, run.Reason)
		}
	}
}

// sayWith starts the run of the message with the simulated model, or takes it up, and waits for
// its end.
func sayWith(t *testing.T, log events.Log, job runner.Job) error {
	t.Helper()
	r := newRunner(t, log, sim.New(sim.Options{}))
	run, err := r.Start(t.Context(), job)
	var answered *runner.AnsweredError
	if errors.As(err, &answered) {
		run, err = r.Resume(t.Context(), "", answered.Run, runner.Terms{})
	}
	if errors.Is(err, events.ErrRunOver) {
		return nil
	}
	if err == nil {
		_, err = run.Wait()
	}
	return err
}
