package loop

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/thread"
)

// smallerOutputTokens is what a reply may have that is asked for again because the first
// one did not end: a long turn, and no more than every model of today may write.
const smallerOutputTokens = 8192

// smaller is the bound on the tokens of such a reply, where the first one had this bound.
func (s *Spec) smaller(bound int) int {
	tokens := smallerOutputTokens
	if bound > 0 {
		tokens = min(tokens, bound/2)
	}
	if s.MaxReplyChars > 0 {
		tokens = min(tokens, s.MaxReplyChars/llm.BytesPerToken)
	}
	return max(tokens, 1)
}

// errRepeats is about a reply that said the same over and over until it was cut.
var errRepeats = &llm.Error{Kind: llm.ErrReplyTooLarge, Message: "the reply repeated itself up to the output limit"}

// endless reports whether an error says that the reply did not end by itself.
func endless(err error) bool {
	var limit *events.LimitError
	return llm.KindOf(err) == llm.ErrReplyTooLarge || errors.As(err, &limit) && limit.Limit == events.LimitMaxReplyChars
}

// askSmaller asks once more for a reply that did not end, for a smaller one, unless the
// run was cancelled meanwhile. What was tried stays with the call.
func (l *Loop) askSmaller(ctx context.Context, req *llm.Request, t *turn, cause error) error {
	over := false
	if err := l.Journal.Do(func(tx *thread.Tx) { over = l.Role.Over(tx.Run) || tx.Run.Cancelled }); err != nil || over {
		return cmp.Or(err, cause)
	}
	if err := t.call.anew(cause, req.Model); err != nil {
		return err
	}
	t.reset()
	l.Live.Take(&llm.Delta{Retry: &llm.Retry{Err: cause}})
	smaller := *req
	smaller.MaxOutputTokens = l.Spec.smaller(req.MaxOutputTokens)
	return l.read(ctx, &smaller, t)
}

// anew begins the call again that was given up, or ended, with that error. The error is
// the reason why it may not.
func (c *modelCall) anew(cause error, model string) error {
	var tried *llm.CallError
	if errors.As(cause, &tried) {
		c.before, c.earlier = tried.Failures, tried.Earlier
	}
	since := time.Since(c.begun)
	if len(c.before) == 0 { // the reply came whole, and was not wanted
		c.before = []llm.Failure{{Ran: since, Model: model, Lost: c.lost}}
	}
	last := &c.before[len(c.before)-1]
	last.Err = &llm.Error{Kind: llm.ErrReplyTooLarge, Message: cause.Error()}
	last.Wait = max(0, since-last.Sent-last.Ran)
	c.offset = since
	c.stop(nil)
	c.ctx, c.stop = context.WithCancelCause(c.agent)
	c.again()
	if c.ctx.Err() != nil {
		return c.failed(context.Cause(c.ctx))
	}
	return nil
}

// all gives the failures of the call, those of the reply that did not end first: the
// newest [events.MaxRetries] of them, and how many were before those.
func (c *modelCall) all(failures []llm.Failure, earlier int) (list []llm.Failure, before int) {
	if len(c.before) == 0 {
		return failures, earlier
	}
	list = append(list, c.before...)
	for _, f := range failures {
		f.Sent += c.offset
		list = append(list, f)
	}
	over := max(0, len(list)-events.MaxRetries)
	return list[over:], earlier + c.earlier + over
}

const (
	// repeatedBytes is how much of the same at the end of a reply is no text any more.
	repeatedBytes = 2 << 10
	// repeatedUnitBytes is the longest part that is looked for.
	repeatedUnitBytes = 512
)

// ranAway reports whether a reply said the same over and over until it was cut.
func ranAway(reply *events.Reply) bool {
	if reply.FinishReason != events.FinishLength {
		return false
	}
	last := reply.Reasoning
	if reply.Text != "" {
		last = reply.Text
	}
	if n := len(reply.ToolCalls); n > 0 {
		last = reply.ToolCalls[n-1].Arguments
	}
	return repeats(last)
}

// repeats reports whether the end of a text is one short part over and over: it is then
// the same as itself, moved by the length of the part.
func repeats(text string) bool {
	if len(text) < repeatedBytes {
		return false
	}
	text = text[len(text)-repeatedBytes:]
	for moved := 1; moved <= repeatedUnitBytes; moved++ {
		if text[moved:] == text[:len(text)-moved] {
			return true
		}
	}
	return false
}
