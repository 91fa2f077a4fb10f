package runner_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// twoTalkers is the pair of which both may take over.
func twoTalkers(change ...func(*team.Team)) *team.Team {
	tm := talkers()
	tm.Handoff.Targets = append(tm.Handoff.Targets, team.HandoffTarget{Agent: "beta", Triggers: []string{"pay invoice"}})
	for _, c := range change {
		c(tm)
	}
	return tm
}

// tells is a message that the engine wrote to the facilitator for the reason, "" for none.
func (k *talk) tells(reason string) string {
	for _, env := range k.envs() {
		if e, ok := env.Data.(events.UserMessage); ok && e.Synthetic && e.Reason == reason {
			return e.Content
		}
	}
	return ""
}

// withConfig sends a message with a runner of one's own, and waits for the answer.
func (k *talk) withConfig(config runner.Config, tm *team.Team, text string, message runner.Message) runner.Result {
	k.t.Helper()
	config.Log = k.log
	r, err := runner.New(config)
	require.NoError(k.t, err)
	run, err := r.Start(k.t.Context(), runner.Job{Request: text, Team: tm, Thread: k.thread, Message: &message})
	require.NoError(k.t, err)
	result, err := run.Wait()
	require.NoError(k.t, err)
	k.thread = run.Key().Thread
	return result
}

// Proves the edge case "Sub-Agent Unavailability" of the first source: the facilitator is told
// who did not answer and why, and answers from what it has; it is asked to name the limitation.
func TestEdgeSubAgentUnavailable(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	ask := llmtest.Call("ask_specialists", args{"question": "How do I limit rates?"})
	script := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", ask), llmtest.Says("I'm working with limited resources right now, but here's what I know...")),
		llmtest.Agent(alpha, llmtest.Says("By tokens.")),
		llmtest.Agent(beta, llmtest.Fails(&llm.Error{Kind: llm.ErrBadRequest, Status: 400, Message: "the knowledge base is down"})))
	result := k.sayTo(script, twoTalkers(), "How?", runner.Message{})
	require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
	read := script.Requests(boss)[1].Messages
	require.Contains(t, said(read)[2], "By tokens.")
	require.Contains(t, said(read)[2], "the knowledge base is down")
	require.Contains(t, said(read)[2], "Say in the user's language: I'm working with limited resources right now, but here's what I know...")
	require.Contains(t, read[0].Content, "name in your answer what is missing for that reason")
}

// Proves R37 and the edge case "Handoff Target Unavailable" of the first source: a trigger and
// the tool are rejected with alternatives, the facilitator keeps the conversation and answers in
// the same turn.
func TestEdgeTargetUnavailable(t *testing.T) {
	away := func(tm *team.Team) { tm.Handoff.Targets[0].Unavailable = "it is being rebuilt" }
	says := "alpha is unavailable now (it is being rebuilt); available are beta; or help the user yourself, or offer to try again later"

	k := &talk{t: t, log: events.NewMemory()}
	result := k.sayTo(llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Later?"))), twoTalkers(away), "create skill", runner.Message{})
	require.Equal(t, "Later?", result.Answer)
	rejected := of[events.HandoffRejected](k)
	require.Len(t, rejected, 1)
	sentence := "Alpha is currently unavailable. Would you like me to help you with something else, or try again later?"
	require.Equal(t, events.HandoffRejected{HandoffID: "h1", Code: conversation.CodeUnavailable, Reason: says, Notice: sentence}, rejected[0])
	require.Contains(t, k.tells("handoff_rejected"), sentence)
	require.Nil(t, k.fold().Handoffs.Active())

	script := llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", handoff("alpha")), llmtest.Says("Later?")))
	k = &talk{t: t, log: events.NewMemory()}
	k.sayTo(script, twoTalkers(away), "A skill, please", runner.Message{})
	require.Equal(t, "tool: Error: "+says, said(script.Requests(boss)[1].Messages)[2])
}

// Proves R37: the program, an endpoint that is known to be down, and a model that cannot be
// found make a target unavailable; a target that only talks does not keep the team from
// starting.
func TestWhatMakesATargetUnavailable(t *testing.T) {
	answers := func() *llmtest.Scripted { return llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Later?"))) }
	onlyTalks := func(tm *team.Team) {
		tm.Specialists[0].CanBeOrchestrated, tm.Specialists[0].Model = new(false), "nowhere/model"
	}
	sick := &llm.Health{}
	down := &llm.Endpoint{Name: "down", Health: sick, Client: llmtest.Script(t)}
	for name, c := range map[string]struct {
		config func(client llm.Client) runner.Config
		change func(*team.Team)
		says   string
	}{
		"program": {func(client llm.Client) runner.Config {
			return runner.Config{Models: oneClient{client}, Available: func(name string, id events.AgentID) error {
				return fmt.Errorf("%s of %s is closed on Sundays", id, name)
			}}
		}, func(*team.Team) {}, "alpha of pair is closed on Sundays"},
		"model": {func(client llm.Client) runner.Config {
			return runner.Config{Models: someModels{client: client, fails: errors.New("no such model")}}
		}, onlyTalks, "no such model"},
		"endpoint": {func(client llm.Client) runner.Config {
			return runner.Config{Models: someModels{client: client, other: down}}
		}, onlyTalks, "its model cannot be asked: down"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "endpoint" {
				fall(t, down)
			}
			k := &talk{t: t, log: events.NewMemory()}
			client := answers()
			require.Equal(t, "Later?", k.withConfig(c.config(client), twoTalkers(c.change), "create skill", runner.Message{}).Answer)
			rejected := of[events.HandoffRejected](k)
			require.Len(t, rejected, 1)
			require.Equal(t, conversation.CodeUnavailable, rejected[0].Code)
			require.Contains(t, rejected[0].Reason, c.says)
		})
	}
}

// fall has an endpoint become known to be down.
func fall(t *testing.T, endpoint *llm.Endpoint) {
	t.Helper()
	endpoint.Client = llmtest.Script(t, llmtest.Agent("", llmtest.Fails(&llm.Error{Kind: llm.ErrUnreachable, Permanent: true, Message: "connection refused"})))
	for _, err := range (&llm.Caller{}).Stream(t.Context(), llm.Route{{Endpoint: endpoint, Model: "m"}}, llm.Request{MaxWait: time.Nanosecond}) {
		if err != nil {
			break
		}
	}
	require.NotNil(t, endpoint.Health.Trouble("m"))
}

// someModels finds every model at one client, but one whose name is "nowhere/model".
type someModels struct {
	client llm.Client
	other  *llm.Endpoint
	fails  error
}

func (m someModels) Resolve(specs ...string) (llm.Route, error) {
	if specs[0] != "nowhere/model" {
		return oneClient{m.client}.Resolve(specs...)
	}
	if m.fails != nil {
		return nil, m.fails
	}
	return llm.Route{{Endpoint: m.other, Model: "m"}}, nil
}

// Proves R36 and the edge case "User Abandons Handoff Mid-Workflow": whoever comes back in time
// is with the specialist as if nothing had been; later the session is closed with its state, the
// facilitator offers to continue it, and it goes on at its step with its history.
func TestEdgeUserAbandonsAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &talk{t: t, log: events.NewMemory()}
		script := llmtest.Script(t,
			llmtest.Agent(alphaTalks,
				llmtest.Calls("", step("gathering", args{"channel": "#ops"})), llmtest.Says("Which channel?"),
				llmtest.Says("And when?"), llmtest.Says("Where were we? When?")),
			llmtest.Agent(boss, llmtest.Says("Welcome back! Continue?"), llmtest.Calls("", resume("h1"))))
		k.say(script, "create skill")
		time.Sleep(59 * time.Minute)
		_, by, _ := k.say(script, "#ops")
		require.Equal(t, events.AgentID("alpha"), by)

		time.Sleep(24 * time.Hour)
		_, by, _ = k.say(script, "Hello again")
		require.Equal(t, events.FacilitatorID, by)
		session := k.fold().Handoffs.Sessions[0]
		require.Equal(t, conversation.StatusCancelled, session.Status)
		require.Equal(t, "The session was idle for 24h0m0s, longer than the 1h0m0s that it may be.", session.Result)
		told := script.Requests(boss)[0].Messages
		require.Contains(t, said(told)[len(told)-2], `Session h1 with alpha was left at step 1 of 2, gathering, and its state is kept. If the user's message goes on with it, call handoff_conversation with resume "h1"`)
		require.Contains(t, said(told)[len(told)-2], "Welcome back! Would you like to continue with Alpha?")

		answer, by, _ := k.say(script, "Yes, please")
		require.Equal(t, []any{"Where were we? When?", events.AgentID("alpha")}, []any{answer, by})
		asked := script.Requests(alphaTalks)[3].Messages
		requireValid(t, asked)
		require.Contains(t, said(asked), "assistant: Which channel?")
		require.Equal(t, []string{
			"user: [You have the conversation with the user again. Go on where you were: at step 1 of 2, gathering.]\nSaid meanwhile: Wants to go on",
			"user: Yes, please",
		}, said(asked)[len(said(asked))-2:])
		require.Equal(t, "gathering", k.fold().Handoffs.Active().Workflow.State)
		require.Equal(t, events.HandoffID("h1"), k.fold().Handoffs.Active().ID)
		require.Equal(t, events.HandoffResumed{HandoffID: "h1", By: "user", ContextSummary: "Wants to go on", Notice: "Reconnecting you with Alpha..."}, of[events.HandoffResumed](k)[0])
	})
}

// Proves R35 and R36: after an exit the facilitator knows what is saved until the state is too
// old; a phrase that would begin another session with the same specialist leaves the choice to
// the user, and so does the tool.
func TestSavedStateIsOffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &talk{t: t, log: events.NewMemory()}
		script := llmtest.Script(t,
			llmtest.Agent(alphaTalks, llmtest.Calls("", step("gathering", nil)), llmtest.Says("Which?"), llmtest.Says("A new one, then.")),
			llmtest.Agent(boss, llmtest.Says("Bye."), llmtest.Says("Sure."), llmtest.Says("Continue the old one?"),
				llmtest.Calls("", handoff("alpha")), llmtest.Calls("", resume("new")), llmtest.Says("Hm."), llmtest.Says("It is too old.")))
		k.say(script, "create skill")
		k.say(script, "cancel")
		require.Contains(t, k.tells("handoff_returned"), "Let me know if you'd like to continue with Alpha later.")
		k.say(script, "Thanks")
		require.Contains(t, k.tells("saved_sessions"), "Session h1 with alpha was left at step 1 of 2, gathering, and its state is kept.")
		_, by, _ := k.say(script, "create skill")
		require.Equal(t, events.FacilitatorID, by, "the user is asked first")
		routed := of[events.MessageRouted](k)
		require.Equal(t, []any{events.FacilitatorID, events.TierTrigger}, []any{routed[3].Agent, routed[3].Tier})

		answer, by, _ := k.say(script, "No, a new one")
		require.Equal(t, []any{"A new one, then.", events.AgentID("alpha")}, []any{answer, by})
		asked := script.Requests(boss)
		require.Contains(t, said(asked[4].Messages)[len(said(asked[4].Messages))-1], `Ask the user whether to continue it. Then call handoff_conversation again, with resume "h1" to continue or "new" to begin anew`)
		require.Equal(t, events.HandoffID("h2"), k.fold().Handoffs.Active().ID)
		k.say(script, "cancel")

		time.Sleep(31 * 24 * time.Hour)
		k.say(script, "Hello")
		last := script.Requests(boss)[6].Messages
		require.NotContains(t, strings.Join(said(last), "\n"), "its state is kept", "30 days have passed")
	})
}

// Proves R32 and the edge case "Concurrent Handoffs Attempted": a second handoff is rejected with
// an explanation, or waits its turn, by the team's policy; where the first specialist does not
// need the conversation for itself alone, it gives way.
func TestEdgeConcurrentHandoffs(t *testing.T) {
	both := []events.ToolCall{handoff("alpha"), handoff("beta")}
	ids := func(k *talk) (statuses []conversation.Status) {
		for _, session := range k.fold().Handoffs.Sessions {
			statuses = append(statuses, session.Status)
		}
		return statuses
	}
	t.Run("reject", func(t *testing.T) {
		k := &talk{t: t, log: events.NewMemory()}
		script := llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", both...)), llmtest.Agent(alphaTalks, llmtest.Says("Alpha here.")))
		require.Equal(t, "Alpha here.", k.sayTo(script, twoTalkers(), "Both", runner.Message{}).Answer)
		require.Equal(t, "You're currently in a session with Alpha. Would you like to finish that first?", of[events.HandoffRejected](k)[0].Notice)
		require.Equal(t, []conversation.Status{conversation.StatusActive, conversation.StatusError}, ids(k))
	})
	t.Run("queue", func(t *testing.T) {
		k := &talk{t: t, log: events.NewMemory()}
		queues := twoTalkers(func(tm *team.Team) { tm.Handoff.Second = team.SecondQueue })
		script := llmtest.Script(t,
			llmtest.Agent(boss, llmtest.Calls("", both...), llmtest.Says("Both are done.")),
			llmtest.Agent(alphaTalks, llmtest.Says("Alpha here."), llmtest.Calls("Done.", giveBack("completed", "A"))),
			llmtest.Agent(betaTalks, llmtest.Says("Beta here."), llmtest.Calls("Done.", giveBack("completed", "B"))))
		require.Equal(t, "Alpha here.", k.sayTo(script, queues, "Both", runner.Message{}).Answer)
		require.Equal(t, []conversation.Status{conversation.StatusActive, conversation.StatusPending}, ids(k))
		require.Equal(t, "Beta here.", k.sayTo(script, queues, "Fine", runner.Message{}).Answer)
		require.Equal(t, []conversation.Status{conversation.StatusCompleted, conversation.StatusActive}, ids(k))
		require.Equal(t, "Both are done.", k.sayTo(script, queues, "Fine", runner.Message{}).Answer)
		last := script.Requests(boss)[1].Messages
		requireValid(t, last)
		require.Contains(t, said(last)[len(last)-2], "alpha gives the conversation back (completed): A", "nothing that came of it is lost")
		require.Contains(t, said(last)[len(last)-2], "beta gives the conversation back (completed): B")
	})
	t.Run("gives way", func(t *testing.T) {
		k := &talk{t: t, log: events.NewMemory()}
		yields := twoTalkers(func(tm *team.Team) { tm.Specialists[0].RequiresExclusiveControl = new(false) })
		script := llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", both...)), llmtest.Agent(betaTalks, llmtest.Says("Beta here.")))
		require.Equal(t, "Beta here.", k.sayTo(script, yields, "Both", runner.Message{}).Answer)
		require.Equal(t, []conversation.Status{conversation.StatusCancelled, conversation.StatusActive}, ids(k))
	})
}

// Proves R32: a specialist that the team lets hand on closes its session and opens the next, in
// the same turn; agents that hand on in a ring stop at the depth limit.
func TestSpecialistHandsOn(t *testing.T) {
	on := twoTalkers(func(tm *team.Team) { tm.Handoff.Sources = []events.AgentID{"alpha", "beta"} })
	k := &talk{t: t, log: events.NewMemory()}
	script := llmtest.Script(t,
		llmtest.Agent(alphaTalks, llmtest.Calls("That is Beta's.", handoff("beta"))),
		llmtest.Agent(betaTalks, llmtest.Says("Which invoice?")))
	require.Equal(t, "Which invoice?", k.sayTo(script, on, "create skill", runner.Message{}).Answer)
	sessions := k.fold().Handoffs.Sessions
	require.Equal(t, conversation.StatusCompleted, sessions[0].Status)
	require.Equal(t, "Handed over to beta: skill creation", sessions[0].Result)
	require.Equal(t, []any{events.AgentID("alpha"), events.AgentID("beta")}, []any{sessions[1].Request.Source, sessions[1].Request.Target})
	require.Equal(t, "user: [Context from previous agent (Alpha)]: Wants a skill that posts alerts", said(script.Requests(betaTalks)[0].Messages)[0])

	ring := &talk{t: t, log: events.NewMemory()}
	toBeta, toAlpha := llmtest.Calls("", handoff("beta")), llmtest.Calls("", handoff("alpha"))
	passing := llmtest.Script(t,
		llmtest.Agent(alphaTalks, toBeta, toBeta, toBeta, toBeta, toBeta), llmtest.Agent(betaTalks, toAlpha, toAlpha, toAlpha, toAlpha))
	result := ring.sayTo(passing, on, "create skill", runner.Message{})
	require.Equal(t, events.StatusDegraded, result.Status, result.Reason)
	require.Len(t, of[events.HandoffAccepted](ring), 1+conversation.MaxTransitions)
	require.Equal(t, events.WarnTransitionDepth, of[events.Warning](ring)[0].Code)
}

// Proves R62: what the sender's grants lack is refused before it is done, recorded, and the
// same for whoever acts on the message.
func TestPermissionsAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		grants  access.Grants
		denied  string
		accepts bool
	}{
		"everything":  {nil, "", true},
		"both":        {access.Grants{"handoff:initiate", "skill:create"}, "", true},
		"no initiate": {access.Grants{"skill:create"}, "handoff:initiate", false},
		"no required": {access.Grants{"handoff:initiate"}, "skill:create", false},
		"nothing":     {access.Grants{}, "handoff:initiate", false},
	} {
		t.Run(name, func(t *testing.T) {
			k := &talk{t: t, log: events.NewMemory()}
			required := twoTalkers(func(tm *team.Team) { tm.Handoff.Targets[0].Requires = "skill:create" })
			var script *llmtest.Scripted
			if c.accepts {
				script = llmtest.Script(t, llmtest.Agent(alphaTalks, llmtest.Says("Hi.")))
			} else {
				script = llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("You may not.")))
			}
			k.sayTo(script, required, "create skill", runner.Message{UserID: "ann", Grants: c.grants})
			if c.accepts {
				require.Empty(t, of[events.PermissionDenied](k))
				return
			}
			require.Equal(t, []events.PermissionDenied{{Permission: c.denied, UserID: "ann", What: "hand the conversation over to alpha"}}, of[events.PermissionDenied](k))
			require.Equal(t, conversation.CodePermissionDenied, of[events.HandoffRejected](k)[0].Code)
		})
	}
	k := &talk{t: t, log: events.NewMemory()}
	script := llmtest.Script(t, llmtest.Agent(alphaTalks, llmtest.Says("Hi.")),
		llmtest.Agent(boss, llmtest.Says("You may not leave."), llmtest.Calls("", create("beta")), llmtest.Calls("", dispatch("beta", 1)), llmtest.Says("Nobody may work."), llmtest.Says("Nobody may work.")))
	k.sayTo(script, twoTalkers(), "create skill", runner.Message{})
	k.sayTo(script, twoTalkers(), "cancel", runner.Message{Grants: access.Grants{"handoff:initiate"}})
	require.Equal(t, "handoff:cancel", of[events.PermissionDenied](k)[0].Permission)
	require.NotNil(t, k.fold().Handoffs.Active())
	other := &talk{t: t, log: k.log}
	other.sayTo(script, pair(), "Work", runner.Message{Grants: access.Grants{}})
	require.Equal(t, "orchestration:delegate", of[events.PermissionDenied](other)[0].Permission)
	require.Empty(t, of[events.AgentStarted](other))
}

// Proves R39 and R48: an alias stands for its target; what goes along is the summary and, where
// the team shares them, the newest messages, all sanitized, with who said them.
func TestWhatGoesAlong(t *testing.T) {
	shares := twoTalkers(func(tm *team.Team) {
		tm.Handoff.ShareMessages, tm.Handoff.Aliases = true, map[string]events.AgentID{"skills": "alpha"}
	})
	k := &talk{t: t, log: events.NewMemory()}
	call := llmtest.Call("handoff_conversation", args{
		"target": "skills", "reason": "asks for ann@example.com", "summary": "Card 4111111111111111, password: hunter2",
		"handoff_metadata": args{"ticket": 7, "token": "abc", "note": "secret=x8Kq2mPz", "card": 4111111111111111}, "recent_message_count": 1,
	})
	script := llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Write to help@example.com."), llmtest.Calls("", call)), llmtest.Agent(alphaTalks, llmtest.Says("Hi.")))
	k.sayTo(script, shares, "Hello", runner.Message{})
	k.sayTo(script, shares, "A skill", runner.Message{UserID: "ann"})
	request := of[events.HandoffRequested](k)[0]
	require.Equal(t, events.HandoffRequested{
		HandoffID: "h1", UserID: "ann", Source: events.FacilitatorID, Target: "alpha", ContextSummary: "Card [CARD_1], password: [PASSWORD_1]", Reason: "asks for [EMAIL_1]",
		RecentMessageCount: 1, RecentMessages: []events.SharedMessage{{Role: events.RoleAssistant, Content: "Write to [EMAIL_2]."}},
		PreserveState: true, ReturnExpected: true, Metadata: []byte(`{"card":"[CARD_1]","note":"secret=[KEY_1]","ticket":7,"token":"[KEY_2]"}`),
	}, request)
	require.Equal(t, "user: [Context from previous agent (Facilitator)]: Card [CARD_1], password: [PASSWORD_1]\n"+
		`It passes on: {"card":"[CARD_1]","note":"secret=[KEY_1]","ticket":7,"token":"[KEY_2]"}`+"\n\nThe newest messages before this one:\nassistant: Write to [EMAIL_2].",
		said(script.Requests(alphaTalks)[0].Messages)[0])
}

// Proves R31: a target to which the conversation was handed for good answers itself, until it
// cannot go on; state that is not preserved is not offered.
func TestHandedOverForGood(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	call := llmtest.Call("handoff_conversation", args{"target": "alpha", "reason": "r", "summary": "s", "return_expected": false, "preserve_state": false})
	script := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", call), llmtest.Says("Alpha could not."), llmtest.Says("Hello.")),
		llmtest.Agent(alphaTalks, llmtest.Calls("", step("gathering", nil), giveBack("completed", "ok")), llmtest.Says("Here is it."), llmtest.Calls("", giveBack("error", "stuck"))))
	require.Equal(t, "Here is it.", k.sayTo(script, twoTalkers(), "A skill", runner.Message{}).Answer)
	require.Equal(t, "tool: Error: the conversation was handed over to you for good: answer the user yourself", said(script.Requests(alphaTalks)[1].Messages)[4])
	k.sayTo(script, twoTalkers(), "And?", runner.Message{})
	require.Equal(t, conversation.Workflow{}, k.fold().Handoffs.Sessions[0].Workflow)
	k.sayTo(script, twoTalkers(), "Hi", runner.Message{})
	require.Empty(t, k.tells("saved_sessions"))
}

// Proves R41: what agents declare stands on their cards, and is kept: a specialist that can
// orchestrate asks those who can be, while it has the conversation, by its strategies; one that
// cannot be orchestrated gets no tasks.
func TestDeclaredAbilities(t *testing.T) {
	declares := twoTalkers(func(tm *team.Team) {
		tm.Specialists[0].CanOrchestrate, tm.Specialists[0].CanBeOrchestrated = new(true), new(false)
		tm.Specialists[0].SupportedDelegationStrategies, tm.Specialists[0].MaxConcurrentDelegations = []string{"sequential"}, 2
		tm.Specialists[0].HandoffTriggers, tm.Specialists[0].MaxSessionDurationSeconds = []string{"new skill"}, 60
	})
	k := &talk{t: t, log: events.NewMemory()}
	ask := llmtest.Call("ask_specialists", args{"question": "Is it free?"})
	script := llmtest.Script(t,
		llmtest.Agent(alphaTalks, llmtest.Calls("", ask), llmtest.Says("It is free.")),
		llmtest.Agent(beta, llmtest.Says("Yes.")))
	require.Equal(t, "It is free.", k.sayTo(script, declares, "A new skill, please", runner.Message{}).Answer)
	requireValid(t, script.Requests(alphaTalks)[1].Messages)
	require.Equal(t, []events.AgentID{"beta"}, []events.AgentID{of[events.AgentStarted](k)[0].Agent})

	cards := of[events.WorkflowStarted](k)[0].Agents
	require.Equal(t, &events.HandoffCard{
		SupportsHandoff: true, HandoffTriggers: []string{"create skill", "new skill"}, WorkflowStates: []string{"gathering", "testing"},
		RequiresExclusiveControl: true, MaxSessionDurationSeconds: 60,
	}, cards[1].Handoff)
	require.Equal(t, &events.OrchestrationCard{CanOrchestrate: true, SupportedDelegationStrategies: []string{"sequential"}, MaxConcurrentDelegations: 2}, cards[1].Orchestration)
	require.Equal(t, &events.OrchestrationCard{CanBeOrchestrated: true}, cards[2].Orchestration)
	require.Equal(t, &events.OrchestrationCard{
		CanOrchestrate: true, SupportedDelegationStrategies: team.Strategies(), MaxConcurrentDelegations: 5,
	}, cards[0].Orchestration)

	tasks := llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Says("Nobody can.")))
	other := &talk{t: t, log: k.log}
	other.sayTo(tasks, declares, "Work", runner.Message{})
	require.Contains(t, said(tasks.Requests(boss)[1].Messages)[2], "tool: Error")
	for _, tool := range tasks.Requests(boss)[0].Tools {
		require.NotEqual(t, "call_alpha", tool.Name)
	}
}

// Proves R31 and R32 for programs: the edge case "Thread ID Mismatch" is refused, a handoff of a
// program waits its turn where the team queues, and a saved session is resumed by its id.
func TestProgramHandsOver(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	script := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Says("Hello."), llmtest.Says("Bye.")),
		llmtest.Agent(alphaTalks, llmtest.Calls("", step("gathering", nil)), llmtest.Says("Alpha here."), llmtest.Says("Alpha again.")))
	tm := twoTalkers()
	k.sayTo(script, tm, "Hello", runner.Message{})
	r := newRunner(t, k.log, script)
	_, err := r.HandOff(t.Context(), "another-tenant", k.thread, handTo("alpha"))
	require.ErrorContains(t, err, "is new: begin it with a message")
	wait := func() {
		for _, run := range r.Runs() {
			_, err := run.Wait()
			require.NoError(t, err)
		}
	}
	id, err := r.HandOff(t.Context(), "", k.thread, handTo("alpha"))
	require.NoError(t, err)
	require.Equal(t, events.HandoffID("h1"), id)
	wait()
	denied := handTo("beta")
	denied.Grants = access.Grants{}
	_, err = r.HandOff(t.Context(), "", k.thread, denied)
	var rejected *conversation.RejectedError
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, conversation.CodePermissionDenied, rejected.Code)
	wait()
	require.NoError(t, r.Leave(t.Context(), "", k.thread, "", conversation.Caller{UserID: "ann"}))
	wait()
	id, err = r.HandOff(t.Context(), "", k.thread, conversation.Handoff{Resume: "h1"})
	require.NoError(t, err)
	require.Equal(t, events.HandoffID("h1"), id)
	wait()
	_, err = r.HandOff(t.Context(), "", k.thread, conversation.Handoff{Resume: "h7"})
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, `there is no saved session "h7"; no session is saved; hand over anew`, rejected.Reason)
	var said []string
	for _, m := range k.fold().Messages(0, 0) {
		said = append(said, m.Content)
	}
	require.Contains(t, said, "Alpha again.")
}

// handTo is a handoff as a program asks for it.
func handTo(target events.AgentID) conversation.Handoff {
	return conversation.Handoff{Target: target, Summary: "Wants a skill", Reason: "asked for"}
}

// Proves R46 for a session: a specialist that is not part of the team any more when the next
// message comes gives the conversation back, and the facilitator answers; nothing of the
// history is orphaned.
func TestSpecialistGoneFromTheTeam(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	script := llmtest.Script(t,
		llmtest.Agent(alphaTalks, llmtest.Calls("", step("gathering", nil)), llmtest.Says("Which skill?")),
		llmtest.Agent(boss, llmtest.Says("Alpha has left us.")))
	k.sayTo(script, twoTalkers(), "create skill", runner.Message{})
	smaller := twoTalkers(func(tm *team.Team) {
		tm.Specialists, tm.Handoff.Targets = tm.Specialists[1:], tm.Handoff.Targets[1:]
	})
	result := k.sayTo(script, smaller, "For alerts", runner.Message{})
	require.Equal(t, []any{"Alpha has left us.", events.StatusCompleted}, []any{result.Answer, result.Status}, result.Reason)
	asked := script.Requests(boss)[0].Messages
	requireValid(t, asked)
	require.Contains(t, strings.Join(said(asked), "\n"), "alpha is not part of the team any more.")
	th := k.fold()
	require.Nil(t, th.Handoffs.Active())
	require.Equal(t, []any{conversation.StatusError, "gathering"}, []any{th.Handoffs.Sessions[0].Status, th.Handoffs.Sessions[0].Workflow.State})
}

// Proves R40: the summary that the engine writes has the user's last messages, sanitized, so that
// the user repeats nothing; what an agent said is not among them.
func TestTriggerPassesOnWhatTheUserSaid(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	script := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Says("1."), llmtest.Says("2."), llmtest.Says("3."), llmtest.Says("4.")),
		llmtest.Agent(alphaTalks, llmtest.Says("For which channel?")))
	for _, text := range []string{"Hello", "I watch payments", "Write to ann@example.com\nat night", strings.Repeat("x", 2500), "create skill"} {
		k.say(script, text)
	}
	summary := of[events.HandoffRequested](k)[0].ContextSummary
	require.Equal(t, "The user writes: create skill\nBefore that, the oldest first:\n- I watch payments\n- Write to [EMAIL_1] at night\n- "+
		strings.Repeat("x", 300)+"…", summary)
	require.Contains(t, said(script.Requests(alphaTalks)[0].Messages)[0], "> - I watch payments\n")
}
