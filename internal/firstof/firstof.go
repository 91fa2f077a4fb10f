// Package firstof gives a context that ends with the first of several.
//
// [context.WithCancel] and [context.AfterFunc] do that too, and register with each of the
// contexts. This one does so when somebody waits for it: what mostly need not wait, for a turn
// or a budget, costs nothing.
//
//	ctx, stop := firstof.Context(ctx, parking)
//	defer stop()
//	return budget.Reserve(ctx, amount)
package firstof

import (
	"context"
	"sync"
)

// Context ends with ctx, and as cancelled with any of the others. stop frees what waiting for
// it took; the context is not to be used any more then. Both are safe for concurrent use.
func Context(ctx context.Context, others ...context.Context) (first context.Context, stop func()) {
	f := &firstOf{Context: ctx, others: others}
	return f, f.stop
}

// firstOf has the values and the deadline of the context that it embeds.
type firstOf struct {
	context.Context
	others []context.Context

	mu sync.Mutex // guards what follows
	// waited is the context that is cancelled with the first, once somebody has asked for it.
	waited context.Context
	stops  []func()
}

// Done implements [context.Context].
func (f *firstOf) Done() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waited == nil {
		waited, cancel := context.WithCancel(f.Context)
		f.waited, f.stops = waited, append(f.stops, cancel)
		for _, other := range f.others {
			unregister := context.AfterFunc(other, cancel)
			f.stops = append(f.stops, func() { unregister() })
		}
	}
	return f.waited.Done()
}

// Err implements [context.Context].
func (f *firstOf) Err() error {
	if waited := f.asked(); waited != nil && waited.Err() != nil {
		return waited.Err()
	}
	if err := f.Context.Err(); err != nil {
		return err
	}
	for _, other := range f.others {
		if other.Err() != nil {
			return context.Canceled
		}
	}
	return nil
}

// Value implements [context.Context]. Contexts find by it how the one ended that they came from.
func (f *firstOf) Value(key any) any {
	if waited := f.asked(); waited != nil {
		return waited.Value(key)
	}
	return f.Context.Value(key)
}

func (f *firstOf) asked() context.Context {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waited
}

func (f *firstOf) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, stop := range f.stops {
		stop()
	}
	f.stops = nil
}
