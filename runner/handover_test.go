package runner_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/thread"
)

// Proves R35: a conversation at rest is handed over and left by a program; who has it then
// speaks, in a run that no message of the user's started.
func TestHandOffAndLeaveAtRest(t *testing.T) {
	log := events.NewMemory()
	script := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Says("Hello."), llmtest.Says("I am back.")),
		llmtest.Agent(alphaTalks, llmtest.Says("Which skill?")))
	r := newRunner(t, log, script)
	c := r.Conversation(runner.Job{Team: talkers(), Thread: chat})
	_, err := c.HandOff(t.Context(), to("alpha"))
	require.ErrorContains(t, err, "is new: begin it with a message")
	_, err = c.Send(t.Context(), "Hi")
	require.NoError(t, err)
	idle(t, r, 1)

	require.ErrorIs(t, c.Return(t.Context(), conversation.Caller{UserID: "ann"}), conversation.ErrNoHandoff)
	id, err := c.HandOff(t.Context(), to("alpha"))
	require.NoError(t, err)
	require.Equal(t, events.HandoffID("h1"), id)
	idle(t, r, 2)
	where, err := c.Context(t.Context())
	require.NoError(t, err)
	require.Equal(t, events.AgentID("alpha"), where.Agent)

	var rejected *conversation.RejectedError
	_, err = c.HandOff(t.Context(), to("beta"))
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, conversation.CodeUnknownTarget, rejected.Code)
	th := idle(t, r, 3)
	require.Equal(t, events.StatusFailed, th.Current().Status, "what was refused is in the log, and nobody was asked")

	require.NoError(t, c.Return(t.Context(), conversation.Caller{UserID: "ann"}))
	th = idle(t, r, 4)
	require.Equal(t, conversation.StatusCancelled, th.Handoffs.Session("h1").Status)
	var texts []string
	for _, m := range th.Messages(0, 0) {
		if m.Role != thread.RoleNotice {
			texts = append(texts, string(m.Role)+": "+m.Content)
		}
	}
	require.Equal(t, []string{"user: Hi", "assistant: Hello.", "assistant: Which skill?", "assistant: I am back."}, texts)
	require.NoError(t, r.Shutdown(t.Context()))
}

func to(target events.AgentID) conversation.Handoff {
	return conversation.Handoff{Target: target, Summary: "Wants a skill", Reason: "skill creation"}
}

// Proves R62 for [runner.Runner.Leave]: whoever lacks the permission leaves nothing, neither
// at rest nor in the middle of a reply, and the log says who tried.
func TestLeavingNeedsPermission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		script := llmtest.Script(t, llmtest.Agent(alphaTalks, llmtest.Says("Which skill?").After(5*time.Minute), llmtest.Says("For whom?")))
		r := newRunner(t, log, script)
		c := r.Conversation(runner.Job{Team: talkers(), Thread: chat})
		first, err := c.Send(t.Context(), "create skill")
		require.NoError(t, err)
		time.Sleep(time.Minute)
		eve := conversation.Caller{UserID: "eve", Grants: access.Grants{access.HandoffInitiate}}
		requireDenied := func() {
			t.Helper()
			var rejected *conversation.RejectedError
			require.ErrorAs(t, c.Return(t.Context(), eve), &rejected)
			require.Equal(t, conversation.CodePermissionDenied, rejected.Code)
			require.Equal(t, "the user may not leave alpha: the permission handoff:cancel is missing", rejected.Reason)
		}
		requireDenied()
		result, err := first.Run.Wait()
		require.NoError(t, err)
		require.Equal(t, "Which skill?", result.Answer)
		requireDenied()
		_, err = c.Send(t.Context(), "A skill")
		require.NoError(t, err)
		th := idle(t, r, 3)
		require.Equal(t, conversation.StatusActive, th.Handoffs.Active().Status)
		require.Equal(t, "For whom?", th.Current().FinalAnswer.Content)
		for _, run := range th.Runs[:2] {
			require.Equal(t, []events.PermissionDenied{{Permission: "handoff:cancel", UserID: "eve", What: "leave handoff h1"}}, run.Denied)
		}
		require.NoError(t, r.Shutdown(t.Context()))
	})
}
