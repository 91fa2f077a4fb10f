package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/eventstest"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// alphaTalks is Alpha while it has the conversation.
const alphaTalks = "You are Alpha, a specialist in a team. The conversation"

// talkers is the pair, whose Alpha may take over.
func talkers() *team.Team {
	tm := pair()
	tm.Specialists[0].WorkflowStates = []string{"gathering", "testing"}
	tm.Handoff = &team.Handoff{Targets: []team.HandoffTarget{{Agent: "alpha", Triggers: []string{"create skill"}}}}
	return tm
}

func handoff(target string) events.ToolCall {
	return llmtest.Call("handoff_conversation", args{"target": target, "reason": "skill creation", "summary": "Wants a skill that posts alerts"})
}

// resume hands over to alpha where a session with it is saved.
func resume(which string) events.ToolCall {
	return llmtest.Call("handoff_conversation", args{"target": "alpha", "reason": "skill creation", "summary": "Wants to go on", "resume": which})
}

func step(state string, metadata args) events.ToolCall {
	if metadata == nil {
		return llmtest.Call("set_workflow_state", args{"state": state})
	}
	return llmtest.Call("set_workflow_state", args{"state": state, "metadata": metadata})
}

func giveBack(status, summary string) events.ToolCall {
	return llmtest.Call("return_control", args{"completion_status": status, "result_summary": summary, "artifacts_created": []string{"SKILL.md"}})
}

// talk is a thread that is talked to.
type talk struct {
	t      testing.TB
	log    events.Log
	thread events.ThreadID
}

// say sends a message, waits for the answer, and gives who answered.
func (k *talk) say(client llm.Client, text string) (answer string, by events.AgentID, result runner.Result) {
	k.t.Helper()
	run, err := newRunner(k.t, k.log, client).Start(k.t.Context(), runner.Job{Request: text, Team: talkers(), Thread: k.thread})
	require.NoError(k.t, err)
	result, err = run.Wait()
	require.NoError(k.t, err)
	k.thread = run.Key().Thread
	for _, env := range k.envs() {
		if env.Run == run.ID() && env.Data.Kind() == events.KindFinalAnswer {
			by = env.Agent
		}
	}
	return result.Answer, by, result
}

func (k *talk) key() events.ThreadKey {
	return events.ThreadKey{Tenant: events.LocalTenant, Thread: k.thread}
}

func (k *talk) envs() []events.Envelope {
	k.t.Helper()
	envs, err := k.log.Read(context.Background(), k.key(), 0, 0)
	require.NoError(k.t, err)
	return envs
}

func (k *talk) fold() *thread.Thread {
	k.t.Helper()
	th, err := thread.Load(context.Background(), k.log, k.key(), 0)
	require.NoError(k.t, err)
	return th
}

// kinds are the kinds of the thread's events about who speaks, in order.
func (k *talk) kinds() (kinds []events.Kind) {
	for _, env := range k.envs() {
		switch env.Data.(type) {
		case events.MessageRouted, events.HandoffRequested, events.HandoffAccepted, events.HandoffRejected,
			events.HandoffExitRequested, events.HandoffReturned, events.WorkflowStateChanged:
			kinds = append(kinds, env.Data.Kind())
		}
	}
	return kinds
}

// requireValid checks that each call of a history has one result, right behind it, and that
// no result is without its call.
func requireValid(t testing.TB, messages []events.Message) {
	t.Helper()
	for i := 0; i < len(messages); i++ {
		if messages[i].Role == events.RoleTool {
			require.Fail(t, "a result without its call", "%v", said(messages))
		}
		for _, call := range messages[i].ToolCalls {
			if i++; i == len(messages) || messages[i].ToolCallID != call.ID {
				require.Fail(t, "a call without its result", "%s in %v", call.ID, said(messages))
			}
		}
	}
}

// Proves R30 to R34 and journey 2 of the first source: the facilitator hands over, the
// specialist talks to the user over several messages with its steps, and gives back; the
// facilitator answers in the same turn.
func TestHandoffAndReturn(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	first := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("I connect you.", handoff("alpha"))),
		llmtest.Agent(alphaTalks, llmtest.Calls("Hi!", step("gathering", args{"goal": "alerts"})), llmtest.Says("Which channel?")))
	answer, by, result := k.say(first, "I want a skill that sends alerts")
	require.Equal(t, []any{"Which channel?", events.AgentID("alpha"), events.StatusCompleted}, []any{answer, by, result.Status}, result.Reason)
	context := "user: [Context from previous agent (Facilitator)]: Wants a skill that posts alerts"
	opened := first.Requests(alphaTalks)
	require.Equal(t, []string{context, "user: I want a skill that sends alerts"}, said(opened[0].Messages))

	second := llmtest.Script(t, llmtest.Agent(alphaTalks, llmtest.Calls("", step("testing", nil)), llmtest.Says("Shall I test it?")))
	answer, by, result = k.say(second, "#ops")
	require.Equal(t, []any{"Shall I test it?", events.AgentID("alpha"), events.StatusCompleted}, []any{answer, by, result.Status}, result.Reason)
	require.Equal(t, conversation.Workflow{State: "testing", Step: 2, Steps: 2, Metadata: json.RawMessage(`{"goal":"alerts"}`)},
		k.fold().Handoffs.Active().Workflow, "what was gathered stays")

	third := llmtest.Script(t,
		llmtest.Agent(alphaTalks, llmtest.Calls("Done.", giveBack("completed", "Posts to #ops"))),
		llmtest.Agent(boss, llmtest.Says("Your skill is active.")))
	answer, by, result = k.say(third, "Yes")
	require.Equal(t, []any{"Your skill is active.", events.FacilitatorID, events.StatusCompleted}, []any{answer, by, result.Status}, result.Reason)
	asked := said(third.Requests(boss)[0].Messages)
	require.Equal(t, []string{
		"user: I want a skill that sends alerts", "assistant: [Alpha]: Which channel?", "user: #ops", "assistant: [Alpha]: Shall I test it?", "user: Yes",
	}, asked[:5], "nothing of the conversation is lost")
	require.Contains(t, asked[5], "user: alpha gives the conversation back (completed): Posts to #ops\nIt made: SKILL.md\nIt stood at step 2 of 2, testing.")

	talked := append(append(opened, second.Requests(alphaTalks)...), third.Requests(alphaTalks)...)
	require.Len(t, talked, 5)
	llmtest.RequirePrefixes(t, talked)
	for _, req := range talked {
		requireValid(t, req.Messages)
	}
	require.Equal(t, []events.Kind{
		"message_routed", "handoff_requested", "handoff_accepted", "workflow_state_changed",
		"message_routed", "workflow_state_changed", "message_routed", "handoff_returned",
	}, k.kinds())
	fourth := llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("You're welcome.")))
	_, by, _ = k.say(fourth, "Thanks")
	require.Equal(t, events.FacilitatorID, by)
	for _, env := range k.envs() {
		if called, ok := env.Data.(events.ModelCalled); ok && env.Agent == "alpha" {
			require.Equal(t, events.DispatchID("h1"), env.Dispatch)
			require.True(t, strings.HasPrefix(string(called.ID), "h1."), called.ID)
		}
	}
}

// Proves R40, R35 and journey 4 of the first source: a phrase hands over without asking a
// model; "cancel" returns in the same turn, what was gathered is kept, and the
// facilitator is told so.
func TestTriggerAndCancel(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	first := llmtest.Script(t, llmtest.Agent(alphaTalks, llmtest.Calls("", step("gathering", args{"a": 1})), llmtest.Says("Which one?")))
	_, by, _ := k.say(first, "Please create skill X")
	require.Equal(t, events.AgentID("alpha"), by)
	require.Equal(t, []string{
		"user: [Context from previous agent (Facilitator)]: The user writes: Please create skill X", "user: Please create skill X",
	}, said(first.Requests(alphaTalks)[0].Messages))

	second := llmtest.Script(t, llmtest.Agent(alphaTalks, llmtest.Says("Nothing is cancelled by that.")))
	_, by, _ = k.say(second, "How do I cancel it later? And create skill Y")
	require.Equal(t, events.AgentID("alpha"), by, "an active handoff comes before triggers, and cancel is the whole message")

	third := llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("No problem.")))
	answer, by, result := k.say(third, "Cancel")
	require.Equal(t, []any{"No problem.", events.FacilitatorID, events.StatusCompleted}, []any{answer, by, result.Status}, result.Reason)
	asked := said(third.Requests(boss)[0].Messages)
	require.Contains(t, asked[len(asked)-1], `alpha gives the conversation back (cancelled): The user left.
It stood at step 1 of 2, gathering.
It had gathered: {"a":1}`)
	session := k.fold().Handoffs.Sessions[0]
	require.Equal(t, conversation.StatusCancelled, session.Status)
	require.Equal(t, "gathering", session.Workflow.State)
	require.Equal(t, []events.Kind{
		"message_routed", "handoff_requested", "handoff_accepted", "workflow_state_changed", "message_routed",
		"message_routed", "handoff_exit_requested", "handoff_returned",
	}, k.kinds())
}

// Proves R32 and the ordering of section 9: a handoff beside dispatches settles last of its
// turn, a second one is rejected, and each call has its result.
func TestHandoffBesideDispatches(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	script := llmtest.Script(t,
		llmtest.Agent(boss,
			llmtest.Calls("", create("beta")),
			llmtest.Calls("", handoff("alpha"), dispatch("beta", 1), handoff("alpha")),
			llmtest.Says("All done.")),
		llmtest.Agent(alphaTalks, llmtest.Calls("", giveBack("completed", "ok"))),
		llmtest.Agent(beta, llmtest.Calls("", write("s", "text"), complete(1)), llmtest.Says("Written.")))
	_, by, result := k.say(script, "Both")
	require.Equal(t, []any{events.FacilitatorID, events.StatusCompleted}, []any{by, result.Status}, result.Reason)
	finished, accepted := events.Seq(0), events.Seq(0)
	for _, env := range k.envs() {
		switch env.Data.Kind() {
		case events.KindAgentFinished:
			finished = env.Seq
		case events.KindHandoffAccepted:
			accepted = env.Seq
		}
	}
	require.Less(t, finished, accepted, "the handoff waits for what stands beside it")
	last := script.Requests(boss)[2].Messages
	requireValid(t, last)
	require.Equal(t, []string{
		"tool: alpha has the conversation now.", "tool: Written.",
		"tool: Error: alpha has the conversation already; finish or leave that first",
	}, said(last)[4:7])
}

// A second handoff of the same turn hears that somebody has the conversation.
func TestSecondHandoffIsRejected(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	other := llmtest.Call("handoff_conversation", args{"target": "alpha", "reason": "again", "summary": "Another skill"})
	script := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", handoff("alpha"), other), llmtest.Says("Done.")),
		llmtest.Agent(alphaTalks, llmtest.Calls("", giveBack("error", "cannot"))))
	k.say(script, "Both")
	require.Equal(t, []events.Kind{
		"message_routed", "handoff_requested", "handoff_accepted", "handoff_requested", "handoff_rejected", "handoff_returned",
	}, k.kinds())
	last := script.Requests(boss)[1].Messages
	requireValid(t, last)
	require.Equal(t, "tool: Error: alpha has the conversation already; finish or leave that first", said(last)[3])
}

// Proves R37: the specialist's model cannot be asked. The facilitator has the conversation
// again, hears why and answers in the same turn.
func TestTargetThatFails(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	script := llmtest.Script(t,
		llmtest.Agent(alphaTalks, llmtest.Fails(&llm.Error{Kind: llm.ErrBadRequest, Status: 400, Message: "no such thing"})),
		llmtest.Agent(boss, llmtest.Says("That assistant is unavailable. Can I help otherwise?")))
	answer, by, _ := k.say(script, "create skill")
	require.Equal(t, []any{"That assistant is unavailable. Can I help otherwise?", events.FacilitatorID}, []any{answer, by})
	asked := said(script.Requests(boss)[0].Messages)
	require.Contains(t, asked[len(asked)-1], "alpha gives the conversation back (error)")
	require.Contains(t, asked[len(asked)-1], "no such thing")
	require.Equal(t, conversation.StatusError, k.fold().Handoffs.Sessions[0].Status)
}

// Proves R35: an exit that is asked for while the specialist writes stops it, and the
// facilitator answers in the same run.
func TestLeaveInTheMiddleOfAReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		script := llmtest.Script(t,
			llmtest.Agent(alphaTalks, llmtest.Says("Too late").After(time.Hour)),
			llmtest.Agent(boss, llmtest.Says("I am back.")))
		r := newRunner(t, log, script)
		run, err := r.Start(t.Context(), runner.Job{Request: "create skill", Team: talkers()})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.NoError(t, r.Leave(t.Context(), "", run.Key().Thread, "", conversation.Caller{UserID: "ann"}))
		result, err := run.Wait()
		require.NoError(t, err)
		require.Equal(t, "I am back.", result.Answer)
		require.Less(t, result.Driven, 2*time.Minute)
		k := &talk{t: t, log: log, thread: run.Key().Thread}
		require.Equal(t, conversation.StatusCancelled, k.fold().Handoffs.Sessions[0].Status)
		require.ErrorIs(t, r.Leave(t.Context(), "", run.Key().Thread, "", conversation.Caller{UserID: "ann"}), conversation.ErrNoHandoff)
		require.NoError(t, r.Shutdown(t.Context()))
	})
}

// A message that is sent twice counts once, while its run is under way and afterwards.
func TestSameMessageCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		r := newRunner(t, log, llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Once").After(time.Minute))))
		job := runner.Job{Request: "Hello", Team: talkers(), Thread: "7b2c5a60-93f0-4d7e-8f43-8c1a0c1f3e55", Message: &runner.Message{
			ID: "m1", UserID: "ann", ChannelType: "web", ChannelID: "c", Metadata: json.RawMessage(`{"intent":"x"}`),
		}}
		run, err := r.Start(t.Context(), job)
		require.NoError(t, err)
		for range 2 {
			_, err = r.Start(t.Context(), job)
			var answered *runner.AnsweredError
			require.ErrorAs(t, err, &answered)
			require.Equal(t, run.ID(), answered.Run)
			_, err = run.Wait()
			require.NoError(t, err)
		}
		envs, err := log.Read(t.Context(), run.Key(), 0, 0)
		require.NoError(t, err)
		require.Equal(t, events.UserMessage{
			Content: "Hello", MessageID: "m1", UserID: "ann", ChannelType: "web", ChannelID: "c", Metadata: json.RawMessage(`{"intent":"x"}`),
			Delivery: events.DeliveryStart,
		}, envs[0].Data)
		require.Empty(t, envs[0].Run, "it is there before its run")
		require.Equal(t, events.MessageID("m1"), envs[1].Data.(events.WorkflowStarted).MessageID)
		require.Equal(t, events.MessageRouted{MessageID: "m1", Agent: events.FacilitatorID, Tier: events.TierDefault}, envs[2].Data)
	})
}

// What is wrong with a message is said, and nothing is written.
func TestWrongMessages(t *testing.T) {
	r := newRunner(t, events.NewMemory(), llmtest.Script(t))
	for says, message := range map[string]runner.Message{
		"the message id has 256 characters; at most 255 are taken": {ID: events.MessageID(strings.Repeat("x", 256))},
		"the user id is not valid UTF-8":                           {UserID: "\xff"},
		"the metadata is not a JSON object":                        {Metadata: json.RawMessage(`[1]`)},
		"the metadata has 65537 bytes; at most 65536 are taken":    {Metadata: make(json.RawMessage, 65537)},
	} {
		_, err := r.Start(t.Context(), runner.Job{Request: "x", Team: talkers(), Message: &message})
		var wrong *runner.InputError
		require.ErrorAs(t, err, &wrong)
		require.Equal(t, says, wrong.Message)
	}
	_, err := r.Start(t.Context(), runner.Job{Request: "x", Team: talkers(), Functions: runner.Functions{"alpha": func(context.Context, specialists.Assignment) (specialists.Contribution, error) {
		return specialists.Contribution{}, nil
	}}})
	require.ErrorContains(t, err, "specialist alpha is a Go function, which cannot talk to the user")
}

// thinker is a model that answers by what it reads, so that it may be killed and asked
// again. It checks every history that it is sent.
type thinker struct {
	t  testing.TB
	mu sync.Mutex // guards asked
	// asked counts the requests.
	asked int
}

func (m *thinker) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	m.mu.Lock()
	m.asked++
	id := m.asked
	m.mu.Unlock()
	requireValid(m.t, req.Messages)
	reply := m.reply(req)
	return func(yield func(llm.Delta, error) bool) {
		for i := range reply.ToolCalls {
			reply.ToolCalls[i].ID = events.CallID(fmt.Sprintf("c%d_%d", id, i))
			if !yield(llm.Delta{Index: i, Call: &reply.ToolCalls[i]}, nil) {
				return
			}
		}
		if reply.Text != "" && !yield(llm.Delta{Text: reply.Text}, nil) {
			return
		}
		yield(llm.Delta{Done: &llm.Completion{Reply: reply, Model: "sim", Provider: "sim", Attempts: 1}}, nil)
	}
}

func (m *thinker) reply(req llm.Request) events.Reply {
	last := req.Messages[len(req.Messages)-1]
	saved := savedSession.FindStringSubmatch(last.Content)
	calls := func(calls ...events.ToolCall) events.Reply {
		return events.Reply{ToolCalls: calls, FinishReason: events.FinishToolCalls}
	}
	talks := strings.Contains(req.Messages[0].Content, alphaTalks)
	switch {
	case talks && last.Role == events.RoleTool:
		return events.Reply{Text: "Next?", FinishReason: events.FinishStop}
	case talks && last.Content == "done":
		return calls(giveBack("completed", "ok"))
	case talks && last.Content == "more":
		return calls(step("testing", nil))
	case talks:
		return calls(step("gathering", args{"said": last.Content}))
	case last.Role == events.RoleTool && saved != nil:
		return calls(resume("new"))
	case saved != nil:
		return calls(resume(saved[1]))
	case m.wants(req):
		return calls(handoff("alpha"))
	}
	return events.Reply{Text: "Facilitator here.", FinishReason: events.FinishStop}
}

// savedSession is how the facilitator is told of a session that can be continued.
var savedSession = regexp.MustCompile(`with resume "(h\d+)"`)

// wants reports whether the user wants a skill and nothing has been done about it.
func (m *thinker) wants(req llm.Request) bool {
	for _, message := range slices.Backward(req.Messages) {
		if message.Role != events.RoleUser || message.Content == "skill, please" {
			return message.Role == events.RoleUser
		}
	}
	return false
}

// Proves R36: a process that dies before or after any append of a conversation, in every
// state of its handoffs, is taken up again: each message is answered once, by whom it would
// have been, and no history that a model is sent lacks a result.
func TestConversationSurvivesDeathAtEveryAppend(t *testing.T) {
	for _, want := range [][]string{
		{"skill, please → alpha: Next?", "more → alpha: Next?", "done → facilitator: Facilitator here."},
		{"create skill → alpha: Next?", "cancel → facilitator: Facilitator here.", "create skill → alpha: Next?"}, // which resumes
	} {
		var messages []string
		for _, exchange := range want {
			text, _, _ := strings.Cut(exchange, " →")
			messages = append(messages, text)
		}
		undisturbed := dying(0, false)
		require.Equal(t, want, converse(t, undisturbed, messages))
		from, every := race.Every(7, 1)
		for at := from; at <= undisturbed.Appends(); at += every {
			for _, after := range []bool{false, true} {
				require.Equal(t, want, converse(t, dying(at, after), messages), "append %d after=%v", at, after)
			}
		}
	}
}

// mortal is what eventstest's failpoint is here.
type mortal interface {
	events.Log
	Appends() int
}

// throughDeaths sends a message and waits until it is answered: a process that dies over it is
// followed by the next, which is given back.
func (k *talk) throughDeaths(r *runner.Runner, job runner.Job, next func() *runner.Runner) *runner.Runner {
	k.t.Helper()
	for range 3 {
		run, err := r.Start(k.t.Context(), job)
		var answered *runner.AnsweredError
		if errors.As(err, &answered) {
			run, err = r.Resume(k.t.Context(), "", answered.Run, runner.Terms{})
		}
		if err == nil {
			_, err = run.Wait()
		}
		if err == nil || errors.Is(err, events.ErrRunOver) {
			break
		}
		require.ErrorIs(k.t, err, errDied)
		k.log = surviving(k.log)
		r = next()
	}
	return r
}

// converse says the messages, each with an id, in a process that may die, and goes on in one
// that does not. It gives who answered what.
func converse(t *testing.T, dying mortal, messages []string) (exchanges []string) {
	t.Helper()
	model := &thinker{t: t}
	k := &talk{t: t, log: dying, thread: "7b2c5a60-93f0-4d7e-8f43-8c1a0c1f3e55"}
	r, tm := newRunner(t, dying, model), talkers()
	for i, text := range messages {
		job := runner.Job{Request: text, Team: tm, Thread: k.thread, Message: &runner.Message{ID: events.MessageID(fmt.Sprint("m", i))}}
		r = k.throughDeaths(r, job, func() *runner.Runner { return newRunner(t, k.log, model) })
	}
	th := k.fold()
	require.Len(t, th.Runs, len(messages))
	by := map[events.RunID]events.AgentID{}
	for _, env := range k.envs() {
		if env.Data.Kind() == events.KindFinalAnswer {
			require.Empty(t, by[env.Run], "two answers")
			by[env.Run] = env.Agent
		}
	}
	for _, run := range th.Runs {
		exchanges = append(exchanges, fmt.Sprintf("%s → %s: %s", run.Started.Message, by[run.ID], run.FinalAnswer.Content))
	}
	return exchanges
}

// What somebody says to a run under way goes to whoever has the floor; a fork in the middle of
// a conversation goes on with whom it was with.
func TestSteeringAndForkOfAConversation(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	_, _, first := k.say(llmtest.Script(t, llmtest.Agent(alphaTalks, llmtest.Says("Which one?"))), "create skill")
	script := llmtest.Script(t, llmtest.Agent(alphaTalks, llmtest.Calls("", step("gathering", nil)), llmtest.Says("Fine.")))
	steering := stage(script, alphaTalks, 1, func(ctx context.Context, req llm.Request, yield func(llm.Delta, error) bool) {
		_, err := k.log.Post(ctx, k.key(), events.Envelope{Run: req.Run, Data: events.UserMessage{Content: "and fast"}})
		require.NoError(t, err)
		for delta, err := range script.Stream(ctx, req) {
			if !yield(delta, err) {
				return
			}
		}
	})
	_, by, second := k.say(steering, "The first")
	require.Equal(t, events.AgentID("alpha"), by)
	last := script.Requests(alphaTalks)[len(script.Requests(alphaTalks))-1].Messages
	require.Contains(t, said(last), "user: and fast")
	requireValid(t, last)

	at := events.Seq(0)
	for _, env := range k.envs() {
		if env.Run == second.Run && env.Data.Kind() == events.KindMessageRouted {
			at = env.Seq
		}
	}
	again := llmtest.Script(t, llmtest.Agent(alphaTalks, llmtest.Says("Otherwise.")))
	fork, err := newRunner(t, k.log, again).Fork(t.Context(), "", second.Run, runner.Change{At: at})
	require.NoError(t, err)
	result, err := fork.Wait()
	require.NoError(t, err)
	require.Equal(t, "Otherwise.", result.Answer)
	require.NotEqual(t, first.Run, result.Run)
	require.Equal(t, []string{"user: create skill", "assistant: Which one?", "user: The first"}, said(again.Requests(alphaTalks)[0].Messages)[1:])
}

// surviving is the log that outlives the process.
func surviving(log events.Log) events.Log {
	if failpoint, ok := log.(*eventstest.Failpoint); ok {
		return failpoint.Log
	}
	return log
}
