package loop

import (
	"context"
	"fmt"
	"strings"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
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
// have ended. A [Last] comes when all others are over.
func (l *Loop) advance(tx *thread.Tx, a advancing) []pending {
	var start []pending
	var last []*agent.Invocation
	waits := false
	if a.early == nil {
		l.recordTooMany(tx, len(a.calls))
	}
	for i, tc := range a.calls {
		call, over := l.callState(tx, a, i)
		if over {
			continue
		}
		in := &agent.Invocation{
			Run: l.Run, Traceparent: tx.Run.Started.Traceparent,
			Agent: l.Spec.ID, Dispatch: l.ID.Dispatch(), Tool: tc.Name, Time: tx.Now,
			Ref: events.CallRef{
				ModelCall: a.id, Index: i, CallID: tc.ID, Arguments: tc.Arguments, Extra: tc.Extra, Early: a.early,
			},
			MaxResultChars: l.Spec.MaxResultChars, Artifacts: l.artifacts(tx), Folder: l.folder(tx),
		}
		tool := l.Spec.Tools.tools[tc.Name]
		if call == nil || !call.Started {
			if err := l.check(tx, a, i, tc); err != nil {
				l.refuse(tx, tool, in, err)
				continue
			}
		}
		switch handler := tool.Handler.(type) {
		case Pure:
			if len(start) > 0 {
				return start
			}
			l.finish(tx, in, l.decide(tx, handler, in))
		case Last:
			last = append(last, in)
		case Await:
			waits = l.await(tx, handler, in) || waits
		default:
			p, opened := l.open(tx, tool, call, in)
			switch opened {
			case granted:
				start = append(start, p)
			case asked:
				waits = true
			}
		}
	}
	if len(start) == 0 && !waits && !l.lacksRest(tx.Run.Conversation(l.ID).Turn()) {
		for _, in := range last {
			l.finish(tx, in, l.decide(tx, Pure(l.Spec.Tools.tools[in.Tool].Handler.(Last)), in))
		}
	}
	return start
}

// open starts a slow call. It is granted where the result is to be run, and asked where a
// person is to decide on it.
func (l *Loop) open(tx *thread.Tx, tool compiled, call *thread.Call, in *agent.Invocation) (p pending, may standing) {
	var opened bool
	switch handler := tool.Handler.(type) {
	case Dispatch:
		p, opened = l.openDispatch(tx, handler, call, in)
	case Consult:
		p, opened = l.openSlow(tx, events.EffectIdempotent, call, in, func(ctx context.Context) error { return l.consult(ctx, handler, in) })
	case agent.External:
		left, may := l.leave(tx, tool, handler, call, in)
		if may != granted {
			return p, may
		}
		p, opened = l.openSlow(tx, handler.Effect, call, left, func(ctx context.Context) error { return l.external(ctx, handler, left) })
	}
	if !opened {
		return p, refused
	}
	return p, granted
}

// callState gives what the log knows of a call, nil for nothing, and whether it is
// over: it has its result, and with the last of them the turn itself is gone.
func (l *Loop) callState(tx *thread.Tx, a advancing, index int) (call *thread.Call, over bool) {
	turn := tx.Run.Conversation(l.ID).Turn()
	if turn == nil || turn.ID != a.id {
		return nil, a.early == nil
	}
	call = turn.Call(index)
	return call, call != nil && call.Done
}

// check says why a call that has not started is not run. The error is for the model.
func (l *Loop) check(tx *thread.Tx, a advancing, index int, tc events.ToolCall) error {
	switch {
	case a.early == nil && repeated(tx.Run.Conversation(l.ID).Turn(), index):
		return fmt.Errorf("%s was not run again: this turn has made the same call already, and that one stands", tc.Name)
	case a.refuse:
		return fmt.Errorf("%s was not run: this is the last turn, and its text is the answer", tc.Name)
	}
	_, err := l.Spec.Tools.check(tc)
	if err == nil && index >= l.Spec.MaxToolCalls {
		return fmt.Errorf("%s was not run: at most %d tools are run in one turn. Call it again in the next", tc.Name, l.Spec.MaxToolCalls)
	}
	return err
}

// recordTooMany puts it into the log, once, that a turn has more calls than are run.
func (l *Loop) recordTooMany(tx *thread.Tx, calls int) {
	if max := l.Spec.MaxToolCalls; calls > max && !tx.Run.LimitMet(events.LimitMaxToolCallsPerTurn) {
		tx.Emit(l.Spec.ID, l.ID, events.LimitReached{
			Limit: events.LimitMaxToolCallsPerTurn, Value: float64(max), Used: float64(calls),
			Consequence: "The calls beyond it were not run, and the model was told so.",
		})
	}
}

// refuse answers a call that is not run. Dispatch tools have an event of their own
// for it.
func (l *Loop) refuse(tx *thread.Tx, tool compiled, in *agent.Invocation, reason error) {
	if _, dispatch := tool.Handler.(Dispatch); dispatch || strings.HasPrefix(in.Tool, DispatchPrefix) {
		tx.Emit(l.Spec.ID, l.ID, events.DispatchRefused{
			Tool: in.Tool, Result: l.bounded(tx, agent.Refuse(reason).Text), CallRef: in.Ref,
		})
		return
	}
	l.finish(tx, in, agent.Refuse(reason))
}

// decide runs a decision. A panic in it is a result, not the end of the run.
func (l *Loop) decide(tx *thread.Tx, handler Pure, in *agent.Invocation) (result agent.Result) {
	defer func() {
		if p := recover(); p != nil {
			result = l.panicked(tx, in, p)
		}
	}()
	return handler(tx, in)
}

func (l *Loop) panicked(tx *thread.Tx, in *agent.Invocation, p any) agent.Result {
	tx.Emit(l.Spec.ID, l.ID, events.Warning{
		Code: events.WarnToolPanicked, Message: fmt.Sprintf("The tool %s panicked: %v", in.Tool, p),
	})
	return agent.Result{Text: "Error: " + in.Tool + " failed internally. Continue without it.", Failed: true}
}

func (l *Loop) openDispatch(tx *thread.Tx, handler Dispatch, call *thread.Call, in *agent.Invocation) (pending, bool) {
	var id events.DispatchID
	if call != nil && call.Started {
		id = call.Dispatch
	} else {
		var refusal string
		if id, refusal = handler(tx, in); refusal != "" {
			tx.Emit(l.Spec.ID, l.ID, events.DispatchRefused{Tool: in.Tool, Result: l.bounded(tx, refusal), CallRef: in.Ref})
			return pending{}, false
		}
	}
	return pending{in.Ref.Index, func(ctx context.Context) error { return l.Dispatcher.Dispatch(ctx, id, 0) }}, true
}
