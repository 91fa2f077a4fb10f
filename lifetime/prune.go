package lifetime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/convene-run/convene/events"
)

// Ages says what is old: whose newest event is before a time. The zero time keeps everything.
type Ages struct {
	// Runs is for threads of ended runs that are no conversation.
	Runs time.Time
	// Conversations is for threads in which users write messages.
	Conversations time.Time
	// Batches is for batches that have finished, with their rows.
	Batches time.Time
	// SavedState is for runs that were parked, wait for somebody or were interrupted. Where
	// they are of a conversation, that must be old as well.
	SavedState time.Time
}

// Rules says what is old in each tenant.
type Rules struct {
	// Tenant is the one that is looked at; "" for all of them.
	Tenant events.TenantID
	// Of gives the ages of a tenant.
	Of func(events.TenantID) Ages
	// Newest are the latest of all tenants' ages: what is younger is not looked at.
	Newest Ages
}

// Every gives rules that are the same for all.
func Every(tenant events.TenantID, ages Ages) Rules {
	return Rules{Tenant: tenant, Of: func(events.TenantID) Ages { return ages }, Newest: ages}
}

// Pruned is what is gone, or would be.
type Pruned struct{ Threads, Runs, Batches int }

// Prune removes what is old by the rules, and gives what is gone of each tenant. What somebody
// holds stays, and so do batches that can be continued, and their rows. It goes on from thread
// to thread, so that others append meanwhile, and what it removed before an error is gone. dry
// removes nothing.
func Prune(ctx context.Context, log events.Log, rules Rules, dry bool) (map[events.TenantID]Pruned, error) {
	p := &pruning{log: log, rules: rules, dry: dry, gone: map[events.TenantID]Pruned{}}
	for _, step := range []func(context.Context) error{p.ended, p.saved, p.batches} {
		if err := step(ctx); err != nil {
			return p.gone, fmt.Errorf("prune: %w", err)
		}
	}
	return p.gone, nil
}

// Sum adds up what is gone of all tenants.
func Sum(gone map[events.TenantID]Pruned) (sum Pruned) {
	for _, of := range gone {
		sum.Threads += of.Threads
		sum.Runs += of.Runs
		sum.Batches += of.Batches
	}
	return sum
}

// pruning is one under way.
type pruning struct {
	log   events.Log
	rules Rules
	dry   bool
	gone  map[events.TenantID]Pruned
	// counted are the threads that would go, where dry is set.
	counted sync.Map
}

var (
	over       = []events.Status{events.StatusCompleted, events.StatusDegraded, events.StatusFailed, events.StatusCancelled}
	unfinished = []events.Status{events.StatusQueued, events.StatusRunning, events.StatusSuspended, events.StatusAwaitingInput}
)

// ended removes threads whose newest run has ended.
func (p *pruning) ended(ctx context.Context) error {
	return p.threads(ctx, over, latest(p.rules.Newest.Runs, p.rules.Newest.Conversations), p.log.Remove,
		func(run events.RunSummary, talk bool, ages Ages) bool {
			if talk {
				return run.Updated.Before(ages.Conversations)
			}
			return run.Updated.Before(ages.Runs)
		})
}

// saved removes threads whose newest run rests before its end.
func (p *pruning) saved(ctx context.Context) error {
	return p.threads(ctx, unfinished, p.rules.Newest.SavedState, p.log.Erase,
		func(run events.RunSummary, talk bool, ages Ages) bool {
			return run.Updated.Before(ages.SavedState) && (!talk || run.Updated.Before(ages.Conversations))
		})
}

// threads removes the threads, rows of batches aside, whose newest run has one of the statuses,
// began before the time, and is old.
func (p *pruning) threads(
	ctx context.Context, statuses []events.Status, before time.Time, remove func(context.Context, events.ThreadKey) error,
	old func(run events.RunSummary, talk bool, ages Ages) bool,
) error {
	if before.IsZero() {
		return nil
	}
	query := events.RunQuery{Tenant: p.rules.Tenant, Threads: true, Status: statuses, OldestFirst: true, Before: firstID(before), Limit: page}
	return p.pages(ctx, query, func(run events.RunSummary) (func(context.Context, events.ThreadKey) error, error) {
		ages := p.rules.Of(run.Tenant)
		gone := old(run, true, ages)
		if gone != old(run, false, ages) {
			talk, err := conversation(ctx, p.log, run)
			if err != nil {
				return nil, unlessKept(err)
			}
			gone = old(run, talk, ages)
		}
		if !gone {
			return nil, nil
		}
		return remove, nil
	})
}

// pages goes over the runs of a query, and removes the threads for which choose gives how.
func (p *pruning) pages(
	ctx context.Context, query events.RunQuery, choose func(events.RunSummary) (func(context.Context, events.ThreadKey) error, error),
) error {
	for {
		runs, err := p.log.Runs(ctx, query)
		if err != nil || len(runs) == 0 {
			return err
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(atOnce)
		removed := make([]int, len(runs))
		for i, run := range runs {
			query.After = run.Run
			group.Go(func() (err error) {
				remove, err := choose(run)
				if err != nil || remove == nil {
					return err
				}
				removed[i], err = p.remove(ctx, run, remove)
				return err
			})
		}
		err = group.Wait()
		for i, n := range removed {
			if n > 0 {
				of := p.gone[runs[i].Tenant]
				of.Threads++
				of.Runs += n
				p.gone[runs[i].Tenant] = of
			}
		}
		if err != nil {
			return err
		}
	}
}

// remove gives how many runs went with their thread; 0 where it stays, because somebody has
// taken it up.
func (p *pruning) remove(ctx context.Context, run events.RunSummary, remove func(context.Context, events.ThreadKey) error) (runs int, err error) {
	key := events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread}
	runs = 1
	if run.FirstSeq > 1 { // others may come before it
		totals, err := p.log.Totals(ctx, events.RunQuery{Tenant: key.Tenant, Thread: key.Thread})
		if err != nil {
			return 0, err
		}
		runs = totals.Runs
	}
	if p.dry {
		owner, _, err := p.log.Holder(ctx, key)
		if _, twice := p.counted.LoadOrStore(key, true); twice || err != nil || owner != "" {
			return 0, err
		}
		return runs, nil
	}
	if err := remove(ctx, key); err != nil {
		return 0, unlessKept(err)
	}
	return runs, nil
}

// unlessKept leaves out the errors of threads that stay for a reason, damaged ones among them
// of which nobody can tell what they are.
func unlessKept(err error) error {
	for _, kept := range []error{events.ErrHeld, events.ErrNotOver, events.ErrBatchOpen, events.ErrNotFound, events.ErrDamaged} {
		if errors.Is(err, kept) {
			return nil
		}
	}
	return err
}

// conversation reports whether users write messages in the thread of a run: it began with one,
// or its newest run answers one.
func conversation(ctx context.Context, log events.Reader, run events.RunSummary) (bool, error) {
	key := events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread}
	for _, after := range []events.Seq{0, run.FirstSeq - 1} {
		first, err := log.Read(ctx, key, after, 1)
		if err != nil || len(first) == 0 {
			return false, err
		}
		switch event := first[0].Data.(type) {
		case events.UserMessage:
			return true, nil
		case events.WorkflowStarted:
			if event.MessageID != "" || event.Synthetic {
				return true, nil
			}
		}
	}
	return false, nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// firstID is below the ids of all runs that start at a time or later: they begin with the
// milliseconds since 1970 in 48 bits (RFC 9562, UUIDv7).
func firstID(at time.Time) events.RunID {
	ms := fmt.Sprintf("%012x", max(0, at.UnixMilli()))
	return events.RunID(ms[:8] + "-" + ms[8:12])
}
