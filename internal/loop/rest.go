package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/thread"
)

// What the model reads when it is asked for the rest of a turn. None of it stays in
// the history.
const (
	restPrompt = "Your last reply was cut off in transit. The calls of it that arrived are above. They stand, and those that are " +
		"under way need no waiting for. If the reply was to make further calls, make them now: those only, and none of the " +
		"calls above again. If there were none, reply with the word \"complete\" and call nothing."
	restUnderWay = "Under way. Its result comes later."
	restWaiting  = "Not run yet: it comes after the calls before it."
)

// rest asks for what else a turn that broke off wanted to call, once, while the calls
// of it that had started run. Where a bound refuses the call or it fails, the turn
// stands as it is.
func (l *Loop) rest(ctx context.Context) error {
	cut, req, err := l.restRequest()
	if err != nil || cut == "" {
		return err
	}
	l.restAsked = cut
	call, err := l.admit(ctx, req.Call, Estimate{
		Usage: llm.EstimateUsage(req, nil), Target: l.target(), LastTurn: l.last,
	})
	if err != nil {
		return suspendedOnly(err)
	}
	defer call.end()
	t := &turn{id: req.Call, wrapUp: true, call: call} // nothing starts early: what is cut is tried again as a whole
	if err := l.stream(ctx, req, t); err != nil {
		if ctx.Err() != nil || errors.Is(err, ErrSuspended) {
			return errors.Join(suspendedOnly(err), l.tellUnanswered(err))
		}
		return l.commitNoRest(t, err)
	}
	call.settle(t.done.Usage, t.done.CostUSD)
	return l.commitRest(ctx, t)
}

// suspendedOnly drops an error that says no more than that the rest did not come.
func suspendedOnly(err error) error {
	if errors.Is(err, ErrSuspended) {
		return ErrSuspended
	}
	return nil
}

// lacksRest reports whether the rest of the turn is still to be asked for.
func (l *Loop) lacksRest(turn *thread.Turn) bool { return turn.LacksRest() && turn.ID != l.restAsked }

// restRequest gives the turn whose rest is to be asked for, "" for none, and the call
// that asks.
func (l *Loop) restRequest() (cut events.ModelCallID, req *llm.Request, err error) {
	err = l.Journal.Do(func(tx *thread.Tx) {
		cut = ""
		conv := tx.Run.Conversation(l.ID)
		turn := conv.Turn()
		if l.Role.Over(tx.Run) || tx.Run.Cancelled || !l.lacksRest(turn) {
			return
		}
		cut, req = turn.ID, l.request(tx.Run, conv)
		if turn.Open() {
			req.Messages = append(req.Messages, turn.Results(unfinished)...)
		}
		req.Messages = append(req.Messages, events.Message{Role: events.RoleUser, Content: restPrompt})
		req.Call = thread.RestID(turn.ID)
	})
	return cut, req, err
}

// unfinished says of a call without a result what the model should know.
func unfinished(call *thread.Call) string {
	if call.Started {
		return restUnderWay
	}
	return restWaiting
}

// commitRest appends the calls of the rest to the turn and starts what may start.
func (l *Loop) commitRest(ctx context.Context, t *turn) error {
	var start []pending
	err := l.Journal.Do(func(tx *thread.Tx) {
		start = nil
		if l.Role.Over(tx.Run) {
			return
		}
		called := t.called()
		called.Purpose = events.PurposeRest
		if turn := tx.Run.Conversation(l.ID).Turn(); turn != nil && !continues(turn, t.done) {
			// Its calls would go back without the reasoning that their endpoint insists on.
			tx.Emit(l.Spec.ID, l.ID, events.Warning{
				Code: events.WarnRestMissing, Message: "The rest of the reply that broke off came from another model or account, which cannot continue it: it is left out.",
			})
			called.Reply = events.Reply{FinishReason: called.Reply.FinishReason}
		}
		called.Reply.ToolCalls = l.name(tx, t, called.Reply.ToolCalls)
		l.warnOfEndpoint(tx, t.done)
		tx.Emit(l.Spec.ID, l.ID, called)
		if tx.Run.Cancelled {
			return
		}
		l.warnOfFinish(tx, called.Reply)
		if turn := tx.Run.Conversation(l.ID).Turn(); turn != nil {
			start = l.advance(tx, advancing{id: turn.ID, calls: calls(turn)})
		}
	})
	if err == nil {
		l.launch(ctx, start)
	}
	return err
}

// continues reports whether what came as the rest can stand behind the turn: what its endpoint
// wants back with it is what it wants back with the turn, and that still goes back.
func continues(turn *thread.Turn, done *llm.Completion) bool {
	kept := turn.Extra
	if done.KeptDropped {
		kept = nil
	}
	return llm.OneKeeper(kept, done.Reply.Extra)
}

// commitNoRest records that the rest was requested without success.
func (l *Loop) commitNoRest(t *turn, cause error) error {
	failed, target := llm.FailedCall(cause), l.target()
	called := modelCalled(t.id, &llm.Completion{
		Provider: target.Endpoint.Name, Model: target.Model, CostUSD: new(float64), // nothing came that could be taken
		Attempts: max(1, len(failed.Attempts)+failed.EarlierAttempts),
	}, failed)
	called.Purpose, called.Interrupted = events.PurposeRest, true
	return l.Journal.Do(func(tx *thread.Tx) {
		if l.Role.Over(tx.Run) {
			return
		}
		tx.Emit(l.Spec.ID, l.ID, called)
		tx.Emit(l.Spec.ID, l.ID, events.Warning{
			Code: events.WarnRestMissing, Message: fmt.Sprintf("The rest of the reply that broke off could not be had: %v.", cause),
		})
	})
}

// repeated reports whether the call of the rest at index was made by the turn before.
// What arrived first stands.
func repeated(turn *thread.Turn, index int) bool {
	call := turn.Call(index)
	if call == nil || !call.Rest {
		return false
	}
	for i := range index {
		if before := turn.Call(i); before != nil && before.Name == call.Name && sameJSON(before.Arguments, call.Arguments) {
			return true
		}
	}
	return false
}

// sameJSON reports whether two texts are the same JSON value.
func sameJSON(a, b string) bool {
	var x, y any
	return a == b || json.Unmarshal([]byte(argumentsOf(a)), &x) == nil && json.Unmarshal([]byte(argumentsOf(b)), &y) == nil && reflect.DeepEqual(x, y)
}
