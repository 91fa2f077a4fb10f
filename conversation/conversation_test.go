package conversation_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
)

// fold is a state with the log that it was made of.
type fold struct {
	state conversation.State
	log   []events.Envelope
}

func (f *fold) apply(t require.TestingT, facts ...events.Event) {
	for _, fact := range facts {
		env := events.Envelope{Seq: events.Seq(len(f.log) + 1), Time: time.Unix(int64(len(f.log)), 0).UTC(), Data: fact}
		require.NoError(t, f.state.Apply(env))
		f.log = append(f.log, env)
	}
}

// targets is the policy of a team with two targets.
var targets = conversation.Policy{
	Targets:  []conversation.Target{{Agent: "skills", Name: "Skill builder", MaxIdle: time.Hour}, {Agent: "billing", Name: "Billing"}},
	Messages: conversation.Messages{}.WithDefaults(), KeepState: 30 * 24 * time.Hour,
}

func to(target events.AgentID) conversation.Handoff {
	return conversation.Handoff{Source: events.FacilitatorID, Target: target, Summary: "Wants a skill", Reason: "skill creation"}
}

// Proves R32: one handoff at a time, from pending over active to its end, which the
// session records.
func TestSessionFromRequestToReturn(t *testing.T) {
	var f fold
	facts := conversation.Request(&f.state, targets, to("skills"))
	f.apply(t, facts[0])
	require.Equal(t, conversation.StatusPending, f.state.Sessions[0].Status)
	require.Nil(t, f.state.Active(), "nobody has the conversation before the target has accepted")
	f.apply(t, facts[1:]...)
	session := f.state.Active()
	require.Equal(t, conversation.StatusActive, session.Status)
	require.Equal(t, events.AgentID("skills"), session.Request.Target)

	f.apply(t, conversation.Request(&f.state, targets, to("billing"))...)
	require.Equal(t, conversation.StatusError, f.state.Sessions[1].Status)
	require.Equal(t, "skills has the conversation already; finish or leave that first", f.state.Sessions[1].Result)
	require.Same(t, session, f.state.Active(), "a request that is rejected takes nothing away")

	exit, err := conversation.Exit(&f.state, "", conversation.Caller{})
	require.NoError(t, err)
	require.Equal(t, events.HandoffExitRequested{HandoffID: "h1", By: "user"}, exit)
	f.apply(t, exit)
	require.Equal(t, conversation.StatusReturning, f.state.Active().Status)
	returned, err := conversation.Return(&f.state, events.CompletionCancelled, "Half done", []string{"draft.md"})
	require.NoError(t, err)
	f.apply(t, returned)
	require.Nil(t, f.state.Active())
	require.Equal(t, conversation.StatusCancelled, session.Status)
	require.Equal(t, "Half done", session.Result)
	require.Equal(t, []string{"draft.md"}, session.Artifacts)
	require.Equal(t, []time.Time{time.Unix(0, 0).UTC(), time.Unix(5, 0).UTC()}, []time.Time{session.Started, session.Ended})

	f.apply(t, exit) // somebody's wish that came too late
	require.Equal(t, conversation.StatusCancelled, session.Status)
	_, err = conversation.Return(&f.state, events.CompletionCompleted, "", nil)
	require.ErrorIs(t, err, conversation.ErrNoHandoff)
	_, err = conversation.Exit(&f.state, "", conversation.Caller{UserID: "ann"})
	require.ErrorIs(t, err, conversation.ErrNoHandoff)
}

// The source keeps the conversation, and hears to whom it could give it.
func TestUnknownTarget(t *testing.T) {
	var f fold
	facts := conversation.Request(&f.state, targets, to("nobody"))
	f.apply(t, facts...)
	require.Equal(t, events.HandoffRejected{
		HandoffID: "h1", Code: conversation.CodeUnknownTarget, Reason: `the conversation cannot be handed to "nobody"; the targets are skills, billing`,
	}, facts[1])
	require.Nil(t, f.state.Active())
}

// Proves R31: the bounds of a request, each at its edge.
func TestBoundsOfRequest(t *testing.T) {
	edge := conversation.Handoff{Target: "skills", Summary: strings.Repeat("ü", 2000), Reason: strings.Repeat("ü", 500), RecentMessages: 20}
	require.NoError(t, edge.Check())
	for says, change := range map[string]func(*conversation.Handoff){
		"the summary has 2001 characters; at most 2000 are allowed": func(h *conversation.Handoff) { h.Summary += "x" },
		"the summary is empty; say what the target needs to know":   func(h *conversation.Handoff) { h.Summary = " \n" },
		"the reason has 501 characters; at most 500 are allowed":    func(h *conversation.Handoff) { h.Reason += "x" },
		"21 recent messages; 0 to 20 can be passed on":              func(h *conversation.Handoff) { h.RecentMessages = 21 },
		"-1 recent messages; 0 to 20 can be passed on":              func(h *conversation.Handoff) { h.RecentMessages = -1 },
	} {
		over := edge
		change(&over)
		require.EqualError(t, over.Check(), says)
	}
}

// Proves R34: "Step 2 of 5", and what was gathered is kept from step to step, and when
// the session ends.
func TestWorkflowSteps(t *testing.T) {
	states := []string{"gathering", "triggers", "generating", "testing", "complete"}
	var f fold
	_, err := conversation.Move(&f.state, states, "gathering", nil)
	require.ErrorIs(t, err, conversation.ErrNoHandoff)
	f.apply(t, conversation.Request(&f.state, targets, to("skills"))...)
	notes := json.RawMessage(`{"channel":"#ops"}`)
	for _, step := range []struct {
		to       string
		metadata json.RawMessage
	}{{"gathering", notes}, {"triggers", nil}} {
		moved, err := conversation.Move(&f.state, states, step.to, step.metadata)
		require.NoError(t, err)
		f.apply(t, moved)
	}
	want := conversation.Workflow{State: "triggers", Step: 2, Steps: 5, Metadata: notes}
	require.Equal(t, want, f.state.Active().Workflow)
	_, err = conversation.Move(&f.state, states, "shipping", nil)
	require.EqualError(t, err, `there is no state "shipping"; the states are gathering, triggers, generating, testing, complete`)
	_, err = conversation.Move(&f.state, states, "testing", make(json.RawMessage, conversation.MaxMetadataBytes+1))
	require.EqualError(t, err, "the metadata has 8193 bytes; at most 8192 are kept")
	returned, err := conversation.Return(&f.state, events.CompletionCancelled, "", nil)
	require.NoError(t, err)
	f.apply(t, returned)
	require.Equal(t, want, f.state.Sessions[0].Workflow)
}

// Proves R33, R35, R40: an active handoff comes before triggers, "cancel" leaves it as the
// whole message only, triggers match whole words and the longest wins.
func TestRoute(t *testing.T) {
	triggers := []conversation.Trigger{
		{Phrase: "skill", Target: "billing"}, {Phrase: "create skill", Target: "skills"}, {Phrase: "build  a Skill!", Target: "skills"},
		{Phrase: "make skill", Target: "skills"}, {Phrase: "bill skill", Target: "billing"}, {Phrase: "…", Target: "billing"},
	}
	route := func(s *conversation.State, text string) (events.AgentID, events.Tier, string) {
		routed, ok := conversation.NewRouter(conversation.Routing{Agents: []events.AgentID{"skills", "billing"}, Triggers: triggers}).Route(s, conversation.Message{ID: "m", Text: text})
		require.True(t, ok)
		require.Equal(t, events.MessageID("m"), routed.MessageID)
		return routed.Agent, routed.Tier, routed.Rule
	}
	for _, c := range []struct {
		text  string
		agent events.AgentID
		tier  events.Tier
		rule  string
	}{
		{"How are you?", events.FacilitatorID, events.TierDefault, ""},
		{"My skills are few … are they?", events.FacilitatorID, events.TierDefault, ""},
		{"I want to CREATE SKILL now", "skills", events.TierTrigger, "create skill"},
		{"create, skill", "skills", events.TierTrigger, "create skill"},
		{"Build a skill.", "skills", events.TierTrigger, "build  a Skill!"},
		{"recreate skill", "billing", events.TierTrigger, "skill"},
		{"bill skill, make skill", "skills", events.TierTrigger, "make skill"}, // equally long: the first listed
		{"cancel", events.FacilitatorID, events.TierDefault, ""},
	} {
		agent, tier, rule := route(&conversation.State{}, c.text)
		require.Equal(t, []any{c.agent, c.tier, c.rule}, []any{agent, tier, rule}, c.text)
	}
	var f fold
	f.apply(t, conversation.Request(&f.state, targets, to("billing"))...)
	for text, want := range map[string]events.Tier{
		"create skill": events.TierHandoff, " Cancel\n": events.TierExit, "cancel it": events.TierHandoff, "Do not cancel": events.TierHandoff,
	} {
		agent, tier, rule := route(&f.state, text)
		require.Equal(t, want, tier, text)
		require.Equal(t, "h1", rule)
		require.Equal(t, want == events.TierHandoff, agent == "billing")
	}
}

// What contradicts the state is not of a log that convene wrote.
func TestContradictions(t *testing.T) {
	opened := func() *fold {
		f := &fold{}
		f.apply(t, conversation.Request(&f.state, targets, to("skills"))...)
		return f
	}
	for _, wrong := range []events.Event{
		events.HandoffRequested{HandoffID: "h1"}, events.HandoffRequested{HandoffID: "h3"}, events.HandoffAccepted{HandoffID: "h1"},
		events.HandoffAccepted{HandoffID: "h2"}, events.HandoffRejected{HandoffID: "h1"}, events.HandoffReturned{HandoffID: "h2", CompletionStatus: "completed"},
		events.HandoffReturned{HandoffID: "h1", CompletionStatus: "active"}, events.HandoffResumed{HandoffID: "h1"}, events.HandoffResumed{HandoffID: "h9"}, events.WorkflowStateChanged{HandoffID: "h2"},
		events.WorkflowStateChanged{HandoffID: "h1", From: "x"}, events.FinalAnswer{},
	} {
		require.Error(t, opened().state.Apply(events.Envelope{Data: wrong}), "%T %v", wrong, wrong)
	}
	pending := &fold{}
	pending.apply(t, events.HandoffRequested{HandoffID: "h1"})
	require.Error(t, pending.state.Apply(events.Envelope{Data: events.HandoffResumed{HandoffID: "h1"}}))
	require.Error(t, pending.state.Apply(events.Envelope{Data: events.HandoffReturned{HandoffID: "h1", CompletionStatus: "completed"}}))
}

// Over any sequence of decisions, under any policy, there is one session at most that is
// active, it is the one that messages go to, others wait only where the policy queues and
// never while nobody has the conversation, what is over stays as it is unless it is resumed,
// and the log gives the state back.
func TestAnySequenceOfDecisions(t *testing.T) {
	states := []string{"one", "two", "three"}
	agents := []events.AgentID{"skills", "billing", "nobody"}
	router := conversation.NewRouter(conversation.Routing{Agents: agents[:2], Triggers: []conversation.Trigger{{Phrase: "create skill", Target: "skills"}}})
	rapid.Check(t, func(t *rapid.T) {
		var f fold
		policy, down := targets, map[events.AgentID]bool{}
		policy.Queue = rapid.Bool().Draw(t, "queue")
		policy.Targets = slices.Clone(targets.Targets)
		policy.Targets[0].Yields = rapid.Bool().Draw(t, "yields")
		policy.Caller.Grants = rapid.SampledFrom([]access.Grants{nil, {}, {access.HandoffInitiate}}).Draw(t, "grants")
		policy.Available = func(id events.AgentID) error {
			if down[id] {
				return errors.New("down")
			}
			return nil
		}
		now := func() time.Time { return time.Unix(int64(len(f.log)), 0).UTC() }
		over := map[events.HandoffID]conversation.Session{}
		t.Repeat(map[string]func(*rapid.T){
			"request": func(t *rapid.T) {
				before := f.state.Active()
				h := to(rapid.SampledFrom(agents).Draw(t, "target"))
				h.DropState = rapid.Bool().Draw(t, "drop")
				if before != nil && rapid.Bool().Draw(t, "handed on") {
					h.Source = before.Request.Target
				}
				f.apply(t, conversation.Request(&f.state, policy, h)...)
				last := f.state.Sessions[len(f.state.Sessions)-1]
				require.Equal(t, last == f.state.Active(), last.Held)
				if last.Status == conversation.StatusError {
					require.Same(t, before, f.state.Active(), "a request that is rejected takes nothing away")
				}
				if h.Target == "nobody" || down[h.Target] || !policy.Caller.Grants.Allow(access.HandoffInitiate) {
					require.Equal(t, conversation.StatusError, last.Status)
				}
			},
			"outage": func(t *rapid.T) { id := rapid.SampledFrom(agents[:2]).Draw(t, "id"); down[id] = !down[id] },
			"exit": func(t *rapid.T) {
				if exit, err := conversation.Exit(&f.state, "", conversation.Caller{UserID: "ann"}); err == nil {
					f.apply(t, exit)
				}
			},
			"late exit": func(t *rapid.T) {
				f.apply(t, events.HandoffExitRequested{HandoffID: rapid.SampledFrom([]events.HandoffID{"h1", "h2", "h3"}).Draw(t, "id")})
			},
			"return": func(t *rapid.T) {
				how := rapid.SampledFrom([]events.CompletionStatus{events.CompletionCompleted, events.CompletionCancelled, events.CompletionError}).Draw(t, "how")
				if returned, err := conversation.Return(&f.state, how, "so", nil); err == nil {
					f.apply(t, returned)
					f.apply(t, conversation.Next(&f.state, policy)...)
				}
			},
			"expire": func(t *rapid.T) {
				later := now().Add(rapid.SampledFrom([]time.Duration{0, 2 * time.Hour}).Draw(t, "later"))
				if returned, expired := conversation.Expire(&f.state, policy, later); expired {
					require.Equal(t, events.AgentID("skills"), f.state.Active().Request.Target, "billing may be idle for ever")
					f.apply(t, returned)
					f.apply(t, conversation.Next(&f.state, policy)...)
				}
			},
			"resume": func(t *rapid.T) {
				id := rapid.SampledFrom([]events.HandoffID{"h1", "h2", "h3"}).Draw(t, "id")
				before := f.state.Session(id)
				resumed, rejected := conversation.Resume(&f.state, policy, id, "goes on", now())
				if rejected != nil {
					return
				}
				require.True(t, before.Held && before.Request.PreserveState && before.Status != conversation.StatusCompleted)
				workflow := before.Workflow
				delete(over, id)
				f.apply(t, resumed)
				require.Same(t, before, f.state.Active())
				require.Equal(t, workflow, before.Workflow)
			},
			"move": func(t *rapid.T) {
				if moved, err := conversation.Move(&f.state, states, rapid.SampledFrom(states).Draw(t, "to"), nil); err == nil {
					f.apply(t, moved)
				}
			},
			"message": func(t *rapid.T) {
				text := rapid.SampledFrom([]string{"hello", "cancel", "create skill"}).Draw(t, "text")
				routed, _ := router.Route(&f.state, conversation.Message{ID: "m", Text: text})
				f.apply(t, routed)
				if session := f.state.Active(); session != nil && text != "cancel" {
					require.Equal(t, session.Request.Target, f.state.Routed.Agent)
				}
			},
			"": func(t *rapid.T) {
				open := slices.DeleteFunc(slices.Clone(f.state.Sessions), func(s *conversation.Session) bool {
					return s.Status.Over() || s.Status == conversation.StatusPending
				})
				pending := f.state.Pending()
				if active := f.state.Active(); active != nil {
					require.Equal(t, []*conversation.Session{active}, open)
					require.True(t, policy.Queue && len(pending) <= conversation.MaxPending || len(pending) == 0)
				} else {
					require.Empty(t, open)
					require.Empty(t, pending)
				}
				for _, s := range f.state.Sessions {
					if before, ended := over[s.ID]; ended {
						require.Equal(t, before, *s)
					} else if s.Status.Over() {
						over[s.ID] = *s
					}
				}
				var again fold
				for _, env := range f.log {
					require.NoError(t, again.state.Apply(env))
				}
				require.Equal(t, f.state, again.state)
			},
		})
	})
}

// Proves R31: the bounds of the fields that a handoff may have besides.
func TestBoundsOfWhatElseAHandoffSays(t *testing.T) {
	edge := to("skills")
	edge.NextPhase, edge.ChannelEscalation, edge.Metadata = events.Phase(strings.Repeat("ü", 255)), events.ChannelSMS, json.RawMessage(`{"a":1}`)
	edge.UserID, edge.Target = strings.Repeat("u", 255), events.AgentID(strings.Repeat("a", 255))
	require.NoError(t, edge.Check())
	for says, change := range map[string]func(*conversation.Handoff){
		"the target is empty; name who takes over":                         func(h *conversation.Handoff) { h.Target = "" },
		"the target has 256 characters; at most 255 are allowed":           func(h *conversation.Handoff) { h.Target += "a" },
		"the user id has 256 characters; at most 255 are allowed":          func(h *conversation.Handoff) { h.UserID += "u" },
		"the next phase has 256 characters; at most 255 are allowed":       func(h *conversation.Handoff) { h.NextPhase += "u" },
		`there is no channel "pigeon"; choose same, voice, email or sms`:   func(h *conversation.Handoff) { h.ChannelEscalation = "pigeon" },
		"the metadata is not a JSON object":                                func(h *conversation.Handoff) { h.Metadata = json.RawMessage(`[]`) },
		"the metadata has 8193 bytes; at most 8192 are passed on":          func(h *conversation.Handoff) { h.Metadata = make(json.RawMessage, 8193) },
		"the reason is empty; say in a sentence why the target takes over": func(h *conversation.Handoff) { h.Reason = " " },
	} {
		over := edge
		change(&over)
		require.EqualError(t, over.Check(), says)
	}
}
