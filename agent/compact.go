package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/thread"
)

// compactAt is the share of the window, in percent, at which a history is
// compacted: the rest must hold the reply and the error of our estimate.
const compactAt = 75

// assumedWindowTokens is taken for a window that nobody told us when an endpoint
// refuses a request as too long: the smallest that is common.
const assumedWindowTokens = 8192

const (
	compactPrompt = "Summarize the work above for yourself: what was asked, what was done and decided, " +
		"which ids and results still matter, what is left. Write at most 600 words, plain text."
	summaryIntroduction = "Summary of the conversation so far, which was too long to keep:\n\n"
)

// mustCompact reports whether the request is over the model's window, as far as we
// know, and has a history that can be made shorter.
func (l *Loop) mustCompact(req llm.Request) bool {
	if len(req.Messages) <= len(l.opening)+1 {
		return false
	}
	if l.outgrown == req.Call {
		return true
	}
	window := l.Spec.WindowTokens
	return window > 0 && tokens(requestBytes(req)) > int64(window*compactAt/100)
}

// compact replaces the history by a summary that the model writes.
func (l *Loop) compact(ctx context.Context, req llm.Request, wrapUp bool) error {
	window := l.Spec.WindowTokens
	if window == 0 {
		window = assumedWindowTokens
	}
	history := transcript(req.Messages[1:], window*bytesPerToken/2)
	ask := llm.Request{
		Run: l.Run, Call: req.Call + "c", Priority: l.Priority,
		Messages: []events.Message{
			req.Messages[0],
			{Role: events.RoleUser, Content: history + "\n\n" + compactPrompt},
		},
	}
	l.Live.phase(PhaseQueued)
	reservation, err := l.Governor.Admit(ctx, Estimate{
		Usage: estimateUsage(ask, events.Reply{}), Target: l.target(), WrapUp: wrapUp,
	})
	if err != nil {
		return l.refused(err, wrapUp)
	}
	t := &turn{id: ask.Call, wrapUp: true}
	l.Live.call(t.id)
	if err := l.stream(ctx, ask, t); err != nil {
		l.settleBroken(reservation, ask, t)
		if ctx.Err() != nil {
			return l.fail(stopped(err, context.Cause(ctx)))
		}
		return l.fail(fmt.Errorf("summarize the history: %w", err))
	}
	reservation.Settle(t.done.Usage, t.done.CostUSD)
	summary := t.done.Reply.Text
	if t.done.Reply.Blank() { // what there was, clipped, says more than nothing
		summary = clip(history, window*bytesPerToken/4)
	}
	return l.Journal.Do(func(tx *thread.Tx) {
		if l.Role.Over(tx.Run) {
			return
		}
		done := t.done
		tx.Emit(l.Spec.ID, l.ID, events.ModelCalled{
			ID: t.id, Provider: done.Provider, Model: done.Model, Reply: done.Reply, Purpose: "compact",
			Usage: done.Usage, CostUSD: done.CostUSD, Attempts: done.Attempts,
			QueuedMS: milliseconds(done.Queued), RetriedMS: milliseconds(done.Retried),
			FirstTokenMS: milliseconds(done.FirstToken), TotalMS: milliseconds(done.Total), Retries: llm.Recorded(done.Failures),
		})
		if !tx.Run.Cancelled {
			last := tx.Run.Conversation(l.ID).LastTurn()
			tx.Emit(l.Spec.ID, l.ID, events.HistoryCompacted{ThroughTurn: last, Summary: summary})
		}
	})
}

// transcript writes messages as text of about max bytes: each is clipped alike.
func transcript(messages []events.Message, max int) string {
	each := max / len(messages)
	var b strings.Builder
	for i := range messages {
		m := &messages[i]
		fmt.Fprintf(&b, "[%s] %s\n", m.Role, clip(m.Content, each))
		for j := range m.ToolCalls {
			fmt.Fprintf(&b, "[%s calls %s] %s\n", m.Role, m.ToolCalls[j].Name, clip(m.ToolCalls[j].Arguments, each))
		}
	}
	return b.String()
}
