package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/outside"
	"github.com/convene-run/convene/thread"
)

// openSlow puts the start of a slow call into the log, and gives it to be run. What a
// dead process had under way is repeated only where that does no harm.
func (l *Loop) openSlow(tx *thread.Tx, effect events.Effect, call *thread.Call, in *agent.Invocation, run func(context.Context) error) (pending, bool) {
	resumed := call != nil && call.Started && !l.running[in.Ref.Index]
	switch {
	case resumed && !repeatable(effect):
		tx.Emit(l.Spec.ID, l.ID, events.Warning{
			Code: events.WarnOutcomeUnknown, Message: in.Tool + " was under way when the run stopped.",
		})
		l.finish(tx, in, agent.Result{Text: "Outcome unknown: the run stopped during this call. Check before repeating it.", Failed: true})
		return pending{}, false
	case call == nil || !call.Started:
		tx.Emit(l.Spec.ID, l.ID, events.ToolStarted{Tool: in.Tool, Effect: effect, CallRef: in.Ref})
	}
	return pending{in.Ref.Index, run}, true
}

func repeatable(effect events.Effect) bool {
	return effect == events.EffectPure || effect == events.EffectIdempotent
}

// consult runs the call and records its result. It is waited for: whom it asks has
// bounds of its own, and ends with ctx.
func (l *Loop) consult(ctx context.Context, handler Consult, in *agent.Invocation) error {
	out := outside.Guarded(ctx, func(ctx context.Context) (agent.Result, error) {
		text, err := handler(ctx, l.Journal, l.Dispatcher, in)
		return agent.Result{Text: text}, err
	})
	if errors.Is(out.Err, ErrSuspended) || suspended(ctx) {
		return Suspension(out.Err)
	}
	return l.Journal.Do(func(tx *thread.Tx) { l.record(tx, in, events.EffectIdempotent, out, nil) })
}

// external runs the call, within tool_timeout, and records its result. A call that a
// stop of the run cut off has none: a resume judges it by its effect.
func (l *Loop) external(ctx context.Context, handler agent.External, in *agent.Invocation) error {
	bounded, heeded, end := l.whileHeard(ctx, in)
	out := outside.Call(bounded, func(ctx context.Context) (agent.Result, error) { return handler.Call(ctx, heeded) })
	end()
	cut := out.Err != nil && suspended(ctx)
	kept, err := l.keep(context.WithoutCancel(ctx), in, &out.Value)
	if err != nil {
		return err
	}
	err = l.Journal.Do(func(tx *thread.Tx) {
		if out.Left && !tx.Run.Status.Over() {
			tx.Emit(l.Spec.ID, l.ID, LeftBehind(in.Tool))
		}
		if !cut {
			l.record(tx, in, handler.Effect, out, kept)
		}
	})
	if err == nil && cut {
		return ErrSuspended
	}
	return err
}

func suspended(ctx context.Context) bool {
	return ctx.Err() != nil && errors.Is(context.Cause(ctx), ErrSuspended)
}

// LeftBehind is the warning that a tool or a specialist's function was left behind.
func LeftBehind(who string) events.Warning {
	return events.Warning{
		Code:    events.WarnLeftBehind,
		Message: who + " did not return when it was told to end, and was left behind. What it still does is not part of this run.",
	}
}

// whileHeard gives the context of an external call, and the call with what its Progress
// does. The context ends, with the bound as its cause, once the call has reported no progress
// for tool_timeout; end gives it back.
func (l *Loop) whileHeard(ctx context.Context, in *agent.Invocation) (bounded context.Context, heeded agent.Invocation, end func()) {
	bounded, stop := context.WithCancelCause(ctx)
	tell, done := l.Live.Work()
	heard := func(words string) {
		if words != "" {
			words = in.Tool + ": " + word(words)
		}
		tell(words)
	}
	most := l.Spec.ToolTimeout
	if most == 0 {
		return bounded, in.WithProgress(heard), func() { done(); stop(nil) }
	}
	timer := time.AfterFunc(most, func() {
		stop(&events.LimitError{Limit: events.LimitToolTimeout, Value: most.Seconds(), Used: most.Seconds()})
	})
	progress := func(words string) {
		if bounded.Err() == nil {
			timer.Reset(most)
			heard(words)
		}
	}
	return bounded, in.WithProgress(progress), func() {
		timer.Stop()
		done()
		stop(nil)
	}
}

// record records the result of a slow call, unless the turn is over without it.
func (l *Loop) record(tx *thread.Tx, in *agent.Invocation, effect events.Effect, out outside.Outcome[agent.Result], kept *keeping) {
	turn := tx.Run.Conversation(l.ID).Turn()
	if turn == nil || turn.ID != in.Ref.ModelCall || tx.Run.Cancelled {
		return
	}
	call := turn.Call(in.Ref.Index)
	if call == nil || call.Done {
		return
	}
	kept.tell(tx)
	l.finish(tx, in, l.resultOf(tx, in, effect, out))
}

func (l *Loop) resultOf(tx *thread.Tx, in *agent.Invocation, effect events.Effect, out outside.Outcome[agent.Result]) agent.Result {
	var limit *events.LimitError
	switch {
	case out.Panic != nil:
		return l.panicked(tx, in, out.Panic)
	case out.Err == nil:
		return out.Value
	case !errors.As(out.Err, &limit):
		return agent.Refuse(out.Err)
	}
	text := fmt.Sprintf("Error: %s was given up: %v.", in.Tool, limit)
	if limit.Limit == events.LimitToolTimeout {
		if !tx.Run.LimitMet(limit.Limit) {
			tx.Emit(l.Spec.ID, l.ID, limit.Fact("The call was given up, and the model was told so."))
		}
		text = fmt.Sprintf("Error: %s was given up: it reported no progress for %s (%s).", in.Tool, events.Amount(limit.Limit, limit.Value), limit.Limit)
	}
	if !repeatable(effect) {
		tx.Emit(l.Spec.ID, l.ID, events.Warning{Code: events.WarnOutcomeUnknown, Message: in.Tool + " was given up; nobody knows what came of it."})
		text += " Its outcome is unknown: check before repeating it."
	}
	return agent.Result{Text: text, Failed: true}
}
