package eventstest

import (
	"context"
	"sync"

	"github.com/convene-run/convene/events"
)

// Failpoint is a log that calls a hook before and after every append, to fail or
// end the process there. It is safe for concurrent use.
//
//	log := eventstest.NewFailpoint(events.NewMemory(), func(p eventstest.Point) error {
//		if p == (eventstest.Point{Append: 7, After: true}) {
//			os.Exit(9)
//		}
//		return nil
//	})
type Failpoint struct {
	events.Log
	hook func(Point) error

	// mu guards appends.
	mu      sync.Mutex
	appends int
}

// Point is a moment beside an append.
type Point struct {
	// Append numbers the appends from 1 in the order in which they were called.
	Append int
	// After says that the append is durable; otherwise it has not begun.
	After bool
}

// NewFailpoint wraps a log. An error of the hook is what Append returns: before an
// append in its stead, after it although the events are in the log.
func NewFailpoint(log events.Log, hook func(Point) error) *Failpoint {
	return &Failpoint{Log: log, hook: hook}
}

// FailAt gives a hook that returns err at one point and at every later one: a
// store that breaks does not repair itself.
func FailAt(point Point, err error) func(Point) error {
	return func(p Point) error {
		if p.Append > point.Append || p == point {
			return err
		}
		return nil
	}
}

// Append implements [events.Log].
func (f *Failpoint) Append(
	ctx context.Context, key events.ThreadKey, epoch events.Epoch, after events.Seq, envs []events.Envelope,
) error {
	return f.around(func() error { return f.Log.Append(ctx, key, epoch, after, envs) })
}

// AppendFirst implements [events.Log].
func (f *Failpoint) AppendFirst(ctx context.Context, key events.ThreadKey, owner events.Owner, envs []events.Envelope) (epoch events.Epoch, err error) {
	err = f.around(func() (err error) {
		epoch, err = f.Log.AppendFirst(ctx, key, owner, envs)
		return err
	})
	return epoch, err
}

// AppendLast implements [events.Log].
func (f *Failpoint) AppendLast(
	ctx context.Context, key events.ThreadKey, epoch events.Epoch, after events.Seq, envs []events.Envelope,
) error {
	return f.around(func() error { return f.Log.AppendLast(ctx, key, epoch, after, envs) })
}

func (f *Failpoint) around(add func() error) error {
	f.mu.Lock()
	f.appends++
	n := f.appends
	f.mu.Unlock()
	if err := f.hook(Point{Append: n}); err != nil {
		return err
	}
	if err := add(); err != nil {
		return err
	}
	return f.hook(Point{Append: n, After: true})
}

// Appends is the number of appends so far.
func (f *Failpoint) Appends() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.appends
}
