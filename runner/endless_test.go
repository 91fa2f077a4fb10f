package runner_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/team"
)

// Proves that a reply which does not end is asked for once more, for a smaller one: over
// its bound, repeating itself, or too large for the endpoint's client. What was tried, and
// what it used, is in the log.
func TestEndlessReplyIsAskedForOnceMore(t *testing.T) {
	limit := func(l *team.Limits) { l.MaxReplyChars = 100_000 }
	runaway := events.Reply{Text: strings.Repeat("I say it again. ", 2000), FinishReason: events.FinishLength}
	words := strings.Builder{}
	for i := 0; words.Len() < 120_000; i++ {
		words.WriteString(strings.Repeat("x", i%91) + " ")
	}
	for name, c := range map[string]struct {
		endless llmtest.Step
		message string
	}{
		"over the bound": {llmtest.Says(words.String()), "max_reply_chars=100000 is reached"},
		"repeating":      {llmtest.Replies(runaway), "the reply repeated itself up to the output limit"},
		"for the client": {llmtest.Fails(&llm.Error{Kind: llm.ErrReplyTooLarge, Message: "too large"}), "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			script := llmtest.Script(t, ordinary()[0], llmtest.Agent(alpha, llmtest.Calls("", write("a", "A"), complete(1)), c.endless, llmtest.Says("Did it")))
			p := play(t, script, pair(limit))
			p.completed(t)
			requests := script.Requests(alpha)
			require.Zero(t, requests[1].MaxOutputTokens)
			require.Equal(t, 8192, requests[2].MaxOutputTokens)
			require.Equal(t, requests[1].Messages, requests[2].Messages)
			var last events.ModelCalled
			for _, env := range p.of(events.KindModelCalled) {
				if env.Agent == "alpha" {
					last = env.Data.(events.ModelCalled)
				}
			}
			require.Equal(t, "Did it", last.Reply.Text)
			require.Equal(t, 2, last.Attempts)
			require.Len(t, last.Retries, 1)
			require.Equal(t, string(llm.ErrReplyTooLarge), last.Retries[0].Error)
			require.Contains(t, last.Retries[0].Message, c.message)
			if name != "for the client" { // there nothing had streamed
				require.Positive(t, last.Lost.Usage.OutputTokens)
			}
		})
	}
}

// Proves that a second endless reply fails as one does, and that both are told of.
func TestEndlessReplyFailsTheSecondTime(t *testing.T) {
	again := llmtest.Says(strings.Repeat("I say it again. ", 2000))
	p := play(t, llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("Not done"), llmtest.Says("Still not done")),
		llmtest.Agent(alpha, again, again)), pair(func(l *team.Limits) { l.MaxReplyChars = 10_000 }))
	require.Equal(t, events.StatusDegraded, p.Status)
	finished := p.of(events.KindAgentFinished)[0].Data.(events.AgentFinished)
	require.Equal(t, events.OutcomeLimit, finished.Status)
	require.Len(t, finished.Attempts, 1, "the second came whole: its usage alone is told")
	require.Equal(t, string(llm.ErrReplyTooLarge), finished.Attempts[0].Error)
	require.Positive(t, finished.Attempts[0].Usage.OutputTokens)
	require.Greater(t, finished.Lost.Usage.OutputTokens, finished.Attempts[0].Usage.OutputTokens)
}

// Proves that a reply which runs away a second time is taken as it is, and named: there is
// no end to asking.
func TestSecondRunawayReplyIsTaken(t *testing.T) {
	again := llmtest.Replies(events.Reply{Text: strings.Repeat("I say it again. ", 200), FinishReason: events.FinishLength})
	p := play(t, llmtest.Script(t, ordinary()[0], llmtest.Agent(alpha, llmtest.Calls("", write("a", "A"), complete(1)), again, again)), pair())
	require.Equal(t, []string{events.WarnReplyCut}, p.warnings())
	require.Equal(t, []events.Outcome{events.OutcomeOK}, p.outcomes())
}
