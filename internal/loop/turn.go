package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/thread"
)

// turn is one model call under way: what has streamed so far.
type turn struct {
	id     events.ModelCallID
	wrapUp bool
	// calls are the tool calls that have streamed in whole. The first named of them
	// have the ids that the log knows; the others still the provider's.
	calls []events.ToolCall
	named int
	// due are those up to the newest that starts early: more than named while there is no
	// need to wait for what follows.
	due       int
	text      strings.Builder
	reasoning strings.Builder
	// extra is what the endpoint wants back of the reply up to the newest call that is due.
	extra json.RawMessage
	// started is set once a call of the turn has started early: the turn then stands,
	// however the stream ends.
	started bool
	// chars counts all that streamed in this attempt.
	chars int
	// call is the model call that brings the turn.
	call *modelCall
	done *llm.Completion
	// broke is why a turn that stands has no whole reply; nil if it has.
	broke error
}

func (t *turn) reset() {
	t.calls, t.named, t.due, t.chars = nil, 0, 0, 0
	t.text.Reset()
	t.reasoning.Reset()
	t.extra = nil
}

func (t *turn) early() *events.Early {
	return &events.Early{Text: t.text.String(), Reasoning: t.reasoning.String(), Extra: t.extra}
}

// turn makes one model call and commits what came of it.
func (l *Loop) turn(ctx context.Context, req *llm.Request, wrapUp bool) error {
	if wrapUp {
		req.ToolChoice = llm.ToolChoiceNone
	}
	call, err := l.admit(ctx, req.Call, Estimate{
		Usage: llm.EstimateUsage(req, nil), Target: l.target(), LastTurn: l.last, WrapUp: wrapUp,
	})
	if err != nil {
		return l.refused(err, wrapUp)
	}
	defer call.end()
	t := &turn{id: req.Call, wrapUp: wrapUp, call: call}
	streamErr := l.stream(ctx, req, t)
	if t.done == nil && t.started {
		t.done, t.broke = l.brokenOff(req, t), streamErr
	}
	if t.done == nil {
		return l.broken(streamErr, t)
	}
	call.settle(t.done.Usage, t.done.CostUSD)
	start, err := l.commit(t)
	if err != nil || len(start) == 0 && l.group == nil && t.broke == nil {
		return err
	}
	return l.runSlow(ctx, start)
}

// refused handles a call that the governor did not admit, or did not admit again after
// an attempt of it had failed.
func (l *Loop) refused(err error, wrapUp bool) error {
	var limit *events.LimitError
	if !errors.As(err, &limit) || wrapUp {
		return l.fail(err)
	}
	return l.Journal.Do(func(tx *thread.Tx) {
		if l.Role.Over(tx.Run) {
			return
		}
		Unanswered(tx, l.Spec.ID, l.ID, err)
		if !tx.Run.Cancelled {
			l.Role.Prepare(tx, tx.Run.Conversation(l.ID), limit)
		}
	})
}

// broken handles a call that got no reply. A history that outgrew a window
// nobody knew is compacted, once in a row.
func (l *Loop) broken(err error, t *turn) error {
	switch {
	case t.call.refused:
		return l.refused(err, t.wrapUp)
	case llm.KindOf(err) == llm.ErrContextLength && l.outgrown != t.id:
		l.outgrown = t.id
		return l.tellUnanswered(err)
	}
	return l.fail(err)
}

// errNoCompletion is for a caller that breaks its promise.
var errNoCompletion = errors.New("the stream ended without a completion")

// stream reads the reply, and once more a smaller one if it does not end. The error is nil
// exactly if the turn is done; it tells what was tried.
func (l *Loop) stream(ctx context.Context, req *llm.Request, t *turn) error {
	req = l.withFiles(ctx, req)
	err := l.read(ctx, req, t)
	if t.done != nil || t.started || !endless(err) {
		return err
	}
	return l.askSmaller(ctx, req, t, err)
}

// read makes the model call and reads its reply.
func (l *Loop) read(ctx context.Context, req *llm.Request, t *turn) error {
	l.Live.Asks(t.id)
	req.Begin = l.Governor.Parking()
	for delta, err := range l.Caller.Stream(t.call.ctx, l.Spec.Route, *req) {
		if err != nil {
			return t.call.failed(err)
		}
		if err := l.take(ctx, t, &delta); err != nil {
			return t.call.failed(err)
		}
	}
	if t.done == nil {
		return t.call.failed(errNoCompletion)
	}
	return nil
}

// take takes one delta of the reply.
func (l *Loop) take(ctx context.Context, t *turn, delta *llm.Delta) error {
	t.chars += chars.Count(delta.Text) + chars.Count(delta.Reasoning) + chars.Count(delta.Fragment)
	if max := l.Spec.MaxReplyChars; max > 0 && t.chars > max {
		t.call.giveUp(&events.LimitError{Limit: events.LimitMaxReplyChars, Value: float64(max), Used: float64(t.chars)})
	}
	if delta.Call != nil && !t.call.given() {
		t.calls = append(t.calls, *delta.Call)
		if l.early(t) {
			t.due, t.extra = len(t.calls), delta.Extra
		}
	}
	// Calls that come together start together, and with the reply where its end comes with them.
	if t.due > t.named && !delta.More && (delta.Done == nil || t.call.given()) {
		if err := l.startEarly(ctx, t); err != nil {
			return err
		}
	}
	switch {
	case delta.Lost != nil:
		t.call.lose(delta.Lost, t.started)
	case delta.Retry != nil:
		if t.started {
			return delta.Retry.Err
		}
		t.reset()
		l.Live.Take(delta)
		t.call.again()
	case delta.Away != nil:
		l.Live.Take(delta)
	case delta.Back:
		l.Live.Take(delta)
	case delta.Sent != 0:
		l.Live.Take(delta)
	case delta.Done != nil:
		if err := t.call.unwanted(delta.Done); err != nil {
			return err
		}
		if !t.started && len(t.call.before) == 0 && ranAway(&delta.Done.Reply) {
			t.call.lose(&events.Spent{Usage: delta.Done.Usage, CostUSD: delta.Done.CostUSD}, false)
			return errRepeats
		}
		t.done = delta.Done
	case t.call.given(): // what still comes of it is not wanted
	case delta.Text != "":
		t.text.WriteString(delta.Text)
		l.Live.Take(delta)
	case delta.Reasoning != "":
		t.reasoning.WriteString(delta.Reasoning)
		l.Live.Take(delta)
	case delta.Fragment != "":
		l.Live.Take(delta)
	}
	return nil
}

// early reports whether the newest call of the turn may run before its turn has ended, and
// nothing listed before it stands in the way.
func (l *Loop) early(t *turn) bool {
	return !t.wrapUp && l.Spec.Tools.slow(t.calls[len(t.calls)-1]) && !slices.ContainsFunc(t.calls, l.Spec.holdsBack)
}

// startEarly starts the calls that are due, in one decision. The reader waits for the commit,
// never for the calls.
func (l *Loop) startEarly(ctx context.Context, t *turn) error {
	var start []pending
	var named []events.ToolCall
	due := t.calls[:t.due]
	t.due = t.named
	err := l.Journal.Do(func(tx *thread.Tx) {
		start, named = nil, nil
		if l.Role.Over(tx.Run) || tx.Run.Cancelled {
			return
		}
		named = l.name(tx, t, due)
		start = l.advance(tx, advancing{id: t.id, calls: named, early: t.early()})
	})
	if err != nil || named == nil {
		return err
	}
	copy(t.calls, named)
	t.named, t.due, t.started = len(named), len(named), true
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
		called := t.called()
		called.Interrupted = t.broke != nil
		reply := &called.Reply
		reply.ToolCalls = l.name(tx, t, reply.ToolCalls)
		l.warnOfEndpoint(tx, t.done)
		l.warnOfTier(tx, t.done)
		tx.Emit(l.Spec.ID, l.ID, called)
		if tx.Run.Cancelled {
			return
		}
		l.warnOfBreak(tx, t.broke)
		l.warnOfFinish(tx, *reply)
		if len(reply.ToolCalls) > 0 {
			if !reply.Blank() && !t.wrapUp {
				l.Role.Beside(tx, reply.Text)
			}
			start = l.advance(tx, advancing{id: t.id, calls: reply.ToolCalls, refuse: t.wrapUp})
		}
		if !reply.Blank() && reply.FinishReason != events.FinishPaused && (len(reply.ToolCalls) == 0 || t.wrapUp) {
			if !l.interrupts(tx, reply, t.wrapUp) {
				l.Role.Close(tx, *reply)
			}
		}
	})
	return start, err
}
