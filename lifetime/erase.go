package lifetime

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/convene-run/convene/events"
)

// Erased is what is gone.
type Erased struct {
	Threads int
	// Runs counts those of the threads.
	Runs int
}

// String counts in words, for an audit.
func (e Erased) String() string { return counted(e.Threads, "thread") + ", " + counted(e.Runs, "run") }

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

const (
	// atOnce is how many threads are removed at once: they share commits, and the appends of
	// runs come between.
	atOnce = 16
	// rounds bounds how often threads are looked for that have begun meanwhile.
	rounds = 8
)

// Erase removes all threads of a user, also those whose runs are parked or were interrupted:
// nobody can continue them any more. While somebody drives one of them nothing is erased: a
// [*LiveError]. A user without threads is [ErrNobody]. The bytes stand in a file until the
// store is compacted ([github.com/convene-run/convene/events/sqlite.Log.Compact]).
func Erase(ctx context.Context, log events.Log, tenant events.TenantID, user string) (erased Erased, err error) {
	for range rounds {
		threads, err := threadsOf(ctx, log, tenant, user)
		if err != nil {
			return erased, err
		}
		if len(threads) == 0 && erased.Threads == 0 {
			return erased, fmt.Errorf("erase user=%q: %w", user, ErrNobody)
		}
		if len(threads) == 0 {
			return erased, nil
		}
		if err := idle(ctx, log, threads); err != nil {
			return erased, err
		}
		gone := make([]bool, len(threads))
		err = each(ctx, threads, func(ctx context.Context, i int, thread *whole) error {
			err := log.Erase(ctx, thread.key)
			gone[i] = err == nil
			return err
		})
		for i, thread := range threads {
			if gone[i] {
				erased.Threads++
				erased.Runs += thread.runs
			}
		}
		if err != nil {
			return erased, err
		}
	}
	return erased, fmt.Errorf("erase user=%q: runs of this user begin again and again: revoke the user's tokens, then erase again", user)
}

// idle refuses threads of which somebody holds one.
func idle(ctx context.Context, log events.Index, threads []*whole) error {
	var live LiveError
	for _, thread := range threads {
		owner, _, err := log.Holder(ctx, thread.key)
		if err != nil {
			return err
		}
		if owner == "" {
			continue
		}
		if live.Owner == "" {
			live.Owner = owner
		}
		live.Runs = append(live.Runs, thread.newest)
	}
	if live.Owner != "" {
		return &live
	}
	return nil
}

// each does something with some threads at once. One that is gone already is no error; one
// that somebody has taken up meanwhile is a [*LiveError].
func each(ctx context.Context, threads []*whole, do func(context.Context, int, *whole) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, thread := range threads {
		group.Go(func() error {
			err := do(ctx, i, thread)
			var held *events.HeldError
			switch {
			case errors.Is(err, events.ErrNotFound):
				return nil
			case errors.As(err, &held):
				return &LiveError{Runs: []events.RunID{thread.newest}, Owner: held.Owner}
			}
			return err
		})
	}
	return group.Wait()
}
