package loop

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/quote"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/thread"
)

// compactAt is the share of the window, in percent, at which a history is
// compacted: the rest must hold the reply and the error of our estimate.
const compactAt = 75

// assumedWindowTokens is taken for a window that nobody told us when an endpoint
// refuses a request as too long: the smallest that is common.
const assumedWindowTokens = 8192

const compactPrompt = "Summarize the work above for yourself: what was asked, what was done and decided, " +
	"which ids and results still matter, what is left. Write at most 600 words, plain text."

// mustCompact reports whether the request is over the model's window, as far as we
// know, and has a history that can be made shorter.
func (l *Loop) mustCompact(req *llm.Request) bool {
	if !l.compactable {
		return false
	}
	if l.outgrown == req.Call {
		return true
	}
	window := l.Spec.WindowTokens
	return window > 0 && llm.EstimateUsage(req, nil).InputTokens > int64(window*compactAt/100)
}

// compact summarizes the history, or as much of it as fits into one call: what follows is
// left to the next one, which is given the summary so far. Nothing is left out unseen.
func (l *Loop) compact(ctx context.Context, req *llm.Request, wrapUp bool) error {
	window := l.compactingWindow(req)
	var digest thread.Digest
	if err := l.Journal.Do(func(tx *thread.Tx) { digest = tx.Run.Conversation(l.ID).Digest() }); err != nil {
		return err
	}
	history := transcript(req.Messages[1:])
	part, end := cutPart(history, digest.Covered, window*llm.BytesPerToken/2)
	ask := l.Spec.tuned(&llm.Request{
		Run: l.Run, Call: compactID(req.Call, digest.Steps), Priority: l.Priority,
		Messages: []events.Message{req.Messages[0], {Role: events.RoleUser, Content: compactRequest(digest.Summary, part)}},
	})
	call, err := l.admit(ctx, ask.Call, Estimate{
		Usage: llm.EstimateUsage(ask, nil), Target: l.target(), WrapUp: wrapUp,
	})
	if err != nil {
		return l.refused(err, wrapUp)
	}
	defer call.end()
	t := &turn{id: ask.Call, wrapUp: true, call: call}
	switch err := l.stream(ctx, ask, t); {
	case err == nil:
	case call.refused:
		return l.refused(err, wrapUp)
	case call.ctx.Err() != nil:
		return l.fail(err)
	default:
		return l.fail(fmt.Errorf("summarize the history: %w", err))
	}
	call.settle(t.done.Usage, t.done.CostUSD)
	fact, warning := summarized(t.done.Reply, digest.Summary, part, window*llm.BytesPerToken/4)
	if end < len(history) {
		fact.CoveredBytes = end
	}
	return l.Journal.Do(func(tx *thread.Tx) {
		if l.Role.Over(tx.Run) {
			return
		}
		called := t.called()
		called.Purpose = events.PurposeCompact
		tx.Emit(l.Spec.ID, l.ID, called)
		if tx.Run.Cancelled {
			return
		}
		if warning != "" {
			tx.Emit(l.Spec.ID, l.ID, events.Warning{Code: events.WarnHistoryClipped, Message: warning})
		}
		fact.ThroughTurn = tx.Run.Conversation(l.ID).LastTurn()
		tx.Emit(l.Spec.ID, l.ID, fact)
	})
}

// compactingWindow is the window that a summary is asked for in. Where the endpoint refused the
// request, what is said of its window is wrong: it is close below what was refused.
func (l *Loop) compactingWindow(req *llm.Request) int {
	window := l.Spec.WindowTokens
	if window == 0 {
		return assumedWindowTokens
	}
	if l.outgrown == req.Call {
		refused := int(llm.EstimateUsage(req, nil).InputTokens)
		window = min(window, max(assumedWindowTokens, refused/refusedShare))
	}
	return window
}

// refusedShare leaves room for a request that was refused long after the window was full, as
// by a fallback with a smaller one.
const refusedShare = 4

// compactID is the id of a call that summarizes before a turn; the first has no number.
func compactID(turn events.ModelCallID, steps int) events.ModelCallID {
	if steps == 0 {
		return turn + "c"
	}
	return events.ModelCallID(fmt.Sprintf("%sc%d", turn, steps+1))
}

// compactRequest asks for the summary of a part of the history and all that came before.
func compactRequest(summary, part string) string {
	if summary != "" {
		part = quote.After("The summary of the work so far:", summary) + "\n\nWhat followed:\n" + part
	}
	return part + "\n\n" + compactPrompt
}

// summarized takes the model's summary. Where it is blank, what there was says more than
// nothing; that, and a summary that is too long, is cut to max bytes, and says so.
func summarized(reply events.Reply, before, part string, max int) (fact events.HistoryCompacted, warning string) {
	why, summary := "was too long", reply.Text
	if reply.Blank() {
		why, summary = "came back empty", strings.TrimSpace(before+"\n\n"+part)
	}
	if kept := clipBytes(summary, max); len(kept) < len(summary) {
		warning = fmt.Sprintf("The summary of an agent's history %s: %d characters were left out.", why, chars.Count(summary)-chars.Count(kept))
		summary = kept + "… (" + warning + ")"
	}
	return events.HistoryCompacted{Summary: summary}, warning
}

// transcript writes messages as text, quoted, so that none passes for another message or
// for what is asked behind them.
func transcript(messages []events.Message) string {
	var b strings.Builder
	for i := range messages {
		m := &messages[i]
		fmt.Fprintf(&b, "[%s]\n%s\n", m.Role, quote.Lines(m.Content))
		for j := range m.ToolCalls {
			fmt.Fprintf(&b, "[%s calls %q]\n%s\n", m.Role, m.ToolCalls[j].Name, quote.Lines(m.ToolCalls[j].Arguments))
		}
	}
	return b.String()
}

// cutPart gives the part of a transcript from a byte on that has about max bytes, and where
// it ends: with a line, or else with a word. A line that was cut is quoted again.
func cutPart(transcript string, from, max int) (part string, end int) {
	from = min(from, len(transcript))
	part = clipBytes(transcript[from:], max)
	if from+len(part) < len(transcript) {
		if at := strings.LastIndexByte(part, '\n'); at > len(part)*3/4 {
			part = part[:at+1]
		} else if at := strings.LastIndexByte(part, ' '); at > len(part)*3/4 {
			part = part[:at+1]
		}
	}
	end = from + len(part)
	if from > 0 && transcript[from-1] != '\n' {
		part = "> " + part
	}
	return part, end
}

// leastPart is how much of a history a call is asked to summarize at least, in bytes.
const leastPart = 1024

// clipBytes gives the beginning of a text, of so many bytes or leastPart: a window is in
// tokens, and bytes tell them better than characters do.
func clipBytes(text string, bytes int) string {
	bytes = max(bytes, leastPart)
	if len(text) <= bytes {
		return text
	}
	for bytes > 0 && !utf8.RuneStart(text[bytes]) {
		bytes--
	}
	return text[:bytes]
}
