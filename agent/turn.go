package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// turn is one model call under way: what has streamed so far.
type turn struct {
	id     events.ModelCallID
	wrapUp bool
	// calls are the tool calls that have streamed in whole. The first named of them
	// have the ids that the log knows; the others still the provider's.
	calls     []events.ToolCall
	named     int
	text      strings.Builder
	reasoning strings.Builder
	// started is set once a call of the turn has started early: the turn then stands,
	// however the stream ends.
	started bool
	// bytes counts all that streamed in this attempt.
	bytes int
	done  *llm.Completion
	// broke is why a turn that stands has no whole reply; nil if it has.
	broke error
}

func (t *turn) reset() {
	t.calls, t.named, t.bytes = nil, 0, 0
	t.text.Reset()
	t.reasoning.Reset()
}

func (t *turn) early() *events.Early {
	return &events.Early{Text: t.text.String(), Reasoning: t.reasoning.String()}
}

// turn makes one model call and commits what came of it.
func (l *Loop) turn(ctx context.Context, req llm.Request, wrapUp bool) error {
	if wrapUp {
		req.ToolChoice = llm.ToolChoiceNone
	}
	l.Live.phase(PhaseQueued)
	reservation, err := l.Governor.Admit(ctx, Estimate{
		Usage: estimateUsage(req, events.Reply{}), Target: l.target(), LastTurn: l.last, WrapUp: wrapUp,
	})
	if err != nil {
		return l.refused(err, wrapUp)
	}
	t := &turn{id: req.Call, wrapUp: wrapUp}
	l.Live.call(t.id)
	streamErr := l.stream(ctx, req, t)
	if t.done == nil && t.started {
		t.done, t.broke = l.interrupted(req, t), streamErr
	}
	if t.done == nil {
		l.settleBroken(reservation, req, t)
		return l.broken(ctx, streamErr, t)
	}
	reservation.Settle(t.done.Usage, t.done.CostUSD)
	start, err := l.commit(t)
	if err != nil {
		return err
	}
	return l.runSlow(ctx, start)
}

// refused handles a call that the governor did not admit.
func (l *Loop) refused(err error, wrapUp bool) error {
	var limit *LimitError
	if !errors.As(err, &limit) || wrapUp {
		return l.fail(err)
	}
	return l.Journal.Do(func(tx *thread.Tx) {
		if !l.Role.Over(tx.Run) && !tx.Run.Cancelled {
			l.Role.Prepare(tx, tx.Run.Conversation(l.ID), limit)
		}
	})
}

// broken handles a call that brought no reply. A history that outgrew a window
// nobody knew is compacted, once in a row.
func (l *Loop) broken(ctx context.Context, err error, t *turn) error {
	switch {
	case ctx.Err() != nil:
		err = stopped(err, context.Cause(ctx))
	case llm.KindOf(err) == llm.ErrContextLength && l.outgrown != t.id:
		l.outgrown = t.id
		return nil
	}
	return l.fail(err)
}

// stopped gives the cause that stopped an agent, with what the call under way had
// tried.
func stopped(err, cause error) error {
	var call *llm.CallError
	if !errors.As(err, &call) {
		return cause
	}
	tried := *call
	tried.Err = cause
	return &tried
}

// errNoCompletion is for a caller that breaks its promise.
var errNoCompletion = errors.New("the stream ended without a completion")

// stream reads the reply. The error is nil exactly if the turn is done.
func (l *Loop) stream(ctx context.Context, req llm.Request, t *turn) error {
	for delta, err := range l.Caller.Stream(ctx, l.Spec.Route, req) {
		t.bytes += len(delta.Text) + len(delta.Reasoning) + len(delta.Fragment)
		if max := l.Spec.MaxReplyBytes; max > 0 && t.bytes > max {
			return &LimitError{Limit: team.LimitMaxReplyBytes, Value: float64(max), Used: float64(t.bytes)}
		}
		switch {
		case err != nil:
			return err
		case delta.Text != "":
			t.text.WriteString(delta.Text)
			l.Live.text(delta.Text)
		case delta.Reasoning != "":
			t.reasoning.WriteString(delta.Reasoning)
			l.Live.reasoning()
		case delta.Fragment != "":
			l.Live.fragment(delta.Index, delta.Fragment)
		case delta.Call != nil:
			t.calls = append(t.calls, *delta.Call)
			if err := l.startEarly(ctx, t); err != nil {
				return err
			}
		case delta.Retry != nil:
			if t.started {
				return delta.Retry.Err
			}
			t.reset()
			l.Live.retry(delta.Retry)
		case delta.Sent != 0:
			l.Live.sent(delta.Sent)
		case delta.Done != nil:
			t.done = delta.Done
		}
	}
	if t.done == nil {
		return errNoCompletion
	}
	return nil
}

// startEarly starts the newest call of the turn, if it is one that may run before
// its turn has ended and nothing listed before it stands in the way. The reader
// waits for the commit, never for the call.
func (l *Loop) startEarly(ctx context.Context, t *turn) error {
	if t.wrapUp {
		return nil
	}
	if !l.Spec.Tools.slow(t.calls[len(t.calls)-1]) {
		return nil
	}
	var start []pending
	var named []events.ToolCall
	err := l.Journal.Do(func(tx *thread.Tx) {
		start, named = nil, nil
		if l.Role.Over(tx.Run) || tx.Run.Cancelled {
			return
		}
		named = l.name(tx, t, t.calls)
		start = l.advance(tx, advancing{id: t.id, calls: named, early: t.early()})
	})
	if err != nil || named == nil {
		return err
	}
	t.calls, t.named, t.started = named, len(named), true
	l.launch(ctx, start)
	return nil
}

// name gives every call behind the first t.named an id that is unique within the
// thread: the provider's own where it is.
func (l *Loop) name(tx *thread.Tx, t *turn, calls []events.ToolCall) []events.ToolCall {
	if len(calls) == 0 {
		return nil // as the log gives it back
	}
	named := slices.Clone(calls)
	seen := map[events.CallID]bool{}
	for i := range named {
		if i < t.named {
			named[i] = t.calls[i]
		} else if id := named[i].ID; id == "" || seen[id] || tx.Run.Thread().CallIDTaken(id) {
			named[i].ID = madeID(t.id, i, func(id events.CallID) bool {
				return seen[id] || tx.Run.Thread().CallIDTaken(id)
			})
		}
		seen[named[i].ID] = true
	}
	return named
}

// madeID gives a call an id of our own. Turns of later runs of a thread are numbered
// anew, so it may take a further number to be unique.
func madeID(turn events.ModelCallID, index int, taken func(events.CallID) bool) events.CallID {
	base := fmt.Sprintf("call_%s_%d", strings.ReplaceAll(string(turn), ".", "_"), index)
	id := events.CallID(base)
	for n := 2; taken(id); n++ {
		id = events.CallID(fmt.Sprintf("%s_%d", base, n))
	}
	return id
}

// commit makes the reply a fact, together with all that follows from it at once.
func (l *Loop) commit(t *turn) (start []pending, err error) {
	err = l.Journal.Do(func(tx *thread.Tx) {
		start = nil
		if l.Role.Over(tx.Run) {
			return
		}
		done := t.done
		reply := done.Reply
		reply.ToolCalls = l.name(tx, t, reply.ToolCalls)
		tx.Emit(l.Spec.ID, l.ID, events.ModelCalled{
			ID: t.id, Provider: done.Provider, Model: done.Model, Reply: reply,
			Usage: done.Usage, CostUSD: done.CostUSD, Attempts: done.Attempts,
			QueuedMS: milliseconds(done.Queued), RetriedMS: milliseconds(done.Retried),
			FirstTokenMS: milliseconds(done.FirstToken), TotalMS: milliseconds(done.Total), Retries: llm.Recorded(done.Failures),
			Interrupted: t.broke != nil,
		})
		if tx.Run.Cancelled {
			return
		}
		l.warnOfBreak(tx, t.broke)
		l.warnOfFinish(tx, reply)
		if len(reply.ToolCalls) > 0 {
			if !reply.Blank() && !t.wrapUp {
				l.Role.Beside(tx, reply.Text)
			}
			start = l.advance(tx, advancing{id: t.id, calls: reply.ToolCalls, refuse: t.wrapUp})
		}
		if !reply.Blank() && (len(reply.ToolCalls) == 0 || t.wrapUp) {
			l.Role.Close(tx, reply)
		}
	})
	return start, err
}

func milliseconds(d time.Duration) int64 { return d.Round(time.Millisecond).Milliseconds() }
