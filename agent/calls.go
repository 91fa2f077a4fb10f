package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// advancing is a turn whose calls are to be brought closer to their results.
type advancing struct {
	id    events.ModelCallID
	calls []events.ToolCall
	// early is set while the turn is still streaming: calls are then those so far.
	early *events.Early
	// refuse answers every call with the reason why none is run.
	refuse bool
}

// pending is a call whose start is in the log and whose result is not.
type pending struct {
	index int
	run   func(context.Context) error
}

// advance runs the calls of a turn in their order: a decision is made at once, and
// slow calls that stand side by side are returned to be run together. It stops
// before a decision that stands behind slow calls, to be called again when those
// have ended.
func (l *Loop) advance(tx *thread.Tx, a advancing) []pending {
	var start []pending
	if a.early == nil {
		l.recordTooMany(tx, len(a.calls))
	}
	for i, tc := range a.calls {
		call, over := l.callState(tx, a, i)
		if over {
			continue
		}
		in := Invocation{
			Agent: l.Spec.ID, Dispatch: l.ID, Tool: tc.Name,
			Ref: events.CallRef{
				ModelCall: a.id, Index: i, CallID: tc.ID, Arguments: tc.Arguments, Extra: tc.Extra, Early: a.early,
			},
		}
		tool, err := l.check(a, i, tc)
		if err != nil && (call == nil || !call.Started) {
			l.refuse(tx, tool, in, err)
			continue
		}
		switch handler := tool.Handler.(type) {
		case Pure:
			if len(start) > 0 {
				return start
			}
			l.finish(tx, in, l.decide(tx, handler, in))
		case Dispatch:
			if p, open := l.openDispatch(tx, handler, call, in); open {
				start = append(start, p)
			}
		case Consult:
			if p, open := l.openExternal(tx, l.consult(handler), call, in); open {
				start = append(start, p)
			}
		case External:
			if p, open := l.openExternal(tx, handler, call, in); open {
				start = append(start, p)
			}
		}
	}
	return start
}

// callState gives what the log knows of a call, nil for nothing, and whether it is
// over: it has its result, and with the last of them the turn itself is gone.
func (l *Loop) callState(tx *thread.Tx, a advancing, index int) (call *thread.Call, over bool) {
	turn := tx.Run.Conversation(l.ID).Turn()
	if turn == nil {
		return nil, a.early == nil
	}
	call = turn.Call(index)
	return call, call != nil && call.Done
}

func (l *Loop) check(a advancing, index int, tc events.ToolCall) (compiled, error) {
	tool, err := l.Spec.Tools.check(tc)
	switch {
	case a.refuse:
		return tool, fmt.Errorf("%s was not run: this is the last turn, and its text is the answer", tc.Name)
	case err == nil && index >= l.Spec.MaxToolCalls:
		return tool, fmt.Errorf("%s was not run: at most %d tools are run in one turn. Call it again in the next", tc.Name, l.Spec.MaxToolCalls)
	}
	return tool, err
}

// recordTooMany puts it into the log, once, that a turn has more calls than are run.
func (l *Loop) recordTooMany(tx *thread.Tx, calls int) {
	if max := l.Spec.MaxToolCalls; calls > max && !tx.Run.LimitMet(team.LimitMaxToolCallsPerTurn) {
		tx.Emit(l.Spec.ID, l.ID, events.LimitReached{
			Limit: team.LimitMaxToolCallsPerTurn, Value: float64(max), Used: float64(calls),
			Consequence: "The calls beyond it were not run, and the model was told so.",
		})
	}
}

// refuse answers a call that is not run. Dispatch tools have an event of their own
// for it.
func (l *Loop) refuse(tx *thread.Tx, tool compiled, in Invocation, reason error) {
	if _, dispatch := tool.Handler.(Dispatch); dispatch || strings.HasPrefix(in.Tool, DispatchPrefix) {
		tx.Emit(l.Spec.ID, l.ID, events.DispatchRefused{
			Tool: in.Tool, Result: Refuse(reason).Text, CallRef: in.Ref,
		})
		return
	}
	l.finish(tx, in, Refuse(reason))
}

// finish records a result.
func (l *Loop) finish(tx *thread.Tx, in Invocation, result Result) {
	tx.Emit(l.Spec.ID, l.ID, events.ToolCallDone{
		Agent: l.Spec.ID, Tool: in.Tool, Phase: "complete",
		Result: Bound(tx, l.Spec.ID, l.ID, result.Text, l.Spec.MaxResultBytes),
		Failed: result.Failed, ShownEntries: result.Shown, CallRef: in.Ref,
	})
}

// Bound cuts the result of a call to max bytes, which it says there, and once in the
// log. 0 is no bound.
func Bound(tx *thread.Tx, agent events.AgentID, dispatch events.DispatchID, text string, max int) string {
	if max <= 0 || len(text) <= max {
		return text
	}
	if !tx.Run.LimitMet(team.LimitMaxToolResultBytes) {
		tx.Emit(agent, dispatch, events.LimitReached{
			Limit: team.LimitMaxToolResultBytes, Value: float64(max), Used: float64(len(text)),
			Consequence: "The model reads such a result cut, and it says so.",
		})
	}
	return clip(text, max) + fmt.Sprintf("\n[cut: %d of %d bytes shown]", max, len(text))
}

// decide runs a decision. A panic in it is a result, not the end of the run.
func (l *Loop) decide(tx *thread.Tx, handler Pure, in Invocation) (result Result) {
	defer func() {
		if p := recover(); p != nil {
			result = l.panicked(tx, in, p)
		}
	}()
	return handler(tx, in)
}

func (l *Loop) panicked(tx *thread.Tx, in Invocation, p any) Result {
	tx.Emit(l.Spec.ID, l.ID, events.Warning{
		Code: events.WarnToolPanicked, Message: fmt.Sprintf("The tool %s panicked: %v", in.Tool, p),
	})
	return Result{Text: "Error: " + in.Tool + " failed inside. Go on without it.", Failed: true}
}

func (l *Loop) openDispatch(tx *thread.Tx, handler Dispatch, call *thread.Call, in Invocation) (pending, bool) {
	var id events.DispatchID
	if call != nil && call.Started {
		id = call.Dispatch
	} else {
		var refusal string
		if id, refusal = handler(tx, in); refusal != "" {
			tx.Emit(l.Spec.ID, l.ID, events.DispatchRefused{Tool: in.Tool, Result: refusal, CallRef: in.Ref})
			return pending{}, false
		}
	}
	return pending{in.Ref.Index, func(ctx context.Context) error { return l.Dispatcher.Dispatch(ctx, id) }}, true
}

func (l *Loop) openExternal(tx *thread.Tx, handler External, call *thread.Call, in Invocation) (pending, bool) {
	resumed := call != nil && call.Started && !l.running[in.Ref.Index]
	switch {
	case resumed && handler.Effect != events.EffectPure && handler.Effect != events.EffectIdempotent:
		tx.Emit(l.Spec.ID, l.ID, events.Warning{
			Code: events.WarnOutcomeUnknown, Message: in.Tool + " was under way when the process died.",
		})
		l.finish(tx, in, Result{Text: "Outcome unknown: the process died during this call. Check before repeating it.", Failed: true})
		return pending{}, false
	case call == nil || !call.Started:
		tx.Emit(l.Spec.ID, l.ID, events.ToolStarted{Tool: in.Tool, Effect: handler.Effect, CallRef: in.Ref})
	}
	return pending{in.Ref.Index, func(ctx context.Context) error { return l.external(ctx, handler, in) }}, true
}

func (l *Loop) consult(handler Consult) External {
	return External{Effect: events.EffectIdempotent, Call: func(ctx context.Context, in Invocation) (string, error) {
		return handler(ctx, l.Journal, l.Dispatcher, in)
	}}
}

// external runs the call and records its result.
func (l *Loop) external(ctx context.Context, handler External, in Invocation) error {
	text, panicked, err := callSafely(ctx, handler, in)
	if errors.Is(err, ErrSuspended) || ctx.Err() != nil && errors.Is(context.Cause(ctx), ErrSuspended) {
		return ErrSuspended
	}
	result := Result{Text: text}
	if err != nil {
		result = Refuse(err)
	}
	return l.Journal.Do(func(tx *thread.Tx) {
		turn := tx.Run.Conversation(l.ID).Turn()
		if turn == nil || turn.ID != in.Ref.ModelCall || tx.Run.Cancelled {
			return
		}
		if call := turn.Call(in.Ref.Index); call != nil && !call.Done {
			if panicked != nil {
				result = l.panicked(tx, in, panicked)
			}
			l.finish(tx, in, result)
		}
	})
}

// callSafely runs the call; a panic in it is returned.
func callSafely(ctx context.Context, handler External, in Invocation) (text string, panicked any, err error) {
	defer func() { panicked = recover() }()
	text, err = handler.Call(ctx, in)
	return text, nil, err
}
