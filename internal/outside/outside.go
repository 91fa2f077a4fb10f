// Package outside calls code that is not ours, a tool or a function, which may hang and may
// panic: neither stops the caller.
package outside

import (
	"context"
	"time"
)

// leaveAfter is how long a call may take to come back once its context has ended:
// longer than whoever heeds the context needs, short enough that a bound still holds
// and nobody who stops a run waits for it.
const leaveAfter = time.Second

// Outcome is what came of a call of code that is not ours.
type Outcome[T any] struct {
	Value T
	// Err is why there is no value. Of a call that failed when its context had ended it
	// is the cause of that.
	Err error
	// Panic is what the call panicked with, nil if it did not.
	Panic any
	// Left says that the call ignored the end of its context and was left behind.
	Left bool
}

// Call returns when the call does, or a moment after ctx has ended: the call is
// then left behind on its goroutine, and whatever it still returns is thrown away. So
// it must be given nothing through which it could change the run.
func Call[T any](ctx context.Context, call func(context.Context) (T, error)) Outcome[T] {
	returned := make(chan Outcome[T], 1)
	go func() { returned <- Guarded(ctx, call) }()
	select {
	case out := <-returned:
		return out.caused(ctx)
	case <-ctx.Done():
	}
	timer := time.NewTimer(leaveAfter)
	defer timer.Stop()
	select {
	case out := <-returned:
		return out.caused(ctx)
	case <-timer.C:
		return Outcome[T]{Err: context.Cause(ctx), Left: true}
	}
}

// Guarded runs the call; a panic in it is part of the outcome.
func Guarded[T any](ctx context.Context, call func(context.Context) (T, error)) (out Outcome[T]) {
	defer func() { out.Panic = recover() }()
	out.Value, out.Err = call(ctx)
	return out
}

func (o Outcome[T]) caused(ctx context.Context) Outcome[T] {
	if o.Err != nil && ctx.Err() != nil {
		o.Err = context.Cause(ctx)
	}
	return o
}
