package audit

import (
	"context"
	"slices"
	"time"

	"github.com/convene-run/convene/events"
)

// stretch is a thread with the time between its first run and its last event.
type stretch struct {
	thread           events.ThreadID
	owner            string
	started, updated time.Time
}

// listPage is how many summaries are listed at once.
const listPage = 1000

// stretches gives the threads in which something may have been done that is wanted, the one
// with the newest event first.
func (r *reading) stretches(ctx context.Context) ([]stretch, error) {
	found := map[events.ThreadID]*stretch{}
	if err := r.listRuns(ctx, found); err != nil {
		return nil, err
	}
	if err := r.listBatches(ctx, found); err != nil {
		return nil, err
	}
	var wanted []stretch
	for _, s := range found {
		late := r.query.Before != "" && s.started.After(r.before.time)
		if !late && !s.updated.Before(r.query.Since) {
			wanted = append(wanted, *s)
		}
	}
	slices.SortFunc(wanted, func(a, b stretch) int { return b.updated.Compare(a.updated) })
	return wanted, nil
}

func (r *reading) listRuns(ctx context.Context, found map[events.ThreadID]*stretch) error {
	query := events.RunQuery{Tenant: r.query.Tenant, Thread: r.query.Thread, UserID: r.query.Only, Limit: listPage}
	for {
		page, err := r.log.Runs(ctx, query)
		if err != nil {
			return err
		}
		for _, run := range page {
			s := found[run.Thread]
			if s == nil {
				s = &stretch{thread: run.Thread, owner: run.UserID, started: run.Start, updated: updatedOf(run.Updated, run.Damaged)}
				found[run.Thread] = s
			}
			if run.Start.Before(s.started) {
				s.started = run.Start
			}
			if updated := updatedOf(run.Updated, run.Damaged); updated.After(s.updated) {
				s.updated = updated
			}
			query.Before = run.Run
		}
		if len(page) < query.Limit {
			return nil
		}
	}
}

// updatedOf is the time of the newest event of a run or a batch: of one that is damaged there may be
// newer ones than its summary knows of.
func updatedOf(known time.Time, damaged *events.Damage) time.Time {
	if damaged != nil {
		return time.Now()
	}
	return known
}

// listBatches adds the threads of batches, which are nobody's.
func (r *reading) listBatches(ctx context.Context, found map[events.ThreadID]*stretch) error {
	if r.query.Only != "" {
		return nil
	}
	query := events.BatchQuery{Tenant: r.query.Tenant, Limit: listPage}
	for {
		page, err := r.log.Batches(ctx, query)
		if err != nil {
			return err
		}
		for _, batch := range page {
			thread := events.ThreadID(batch.Batch)
			if r.query.Thread == "" || r.query.Thread == thread {
				found[thread] = &stretch{thread: thread, started: batch.Start, updated: updatedOf(batch.Updated, batch.Damaged)}
			}
			query.Before = batch.Batch
		}
		if len(page) < query.Limit {
			return nil
		}
	}
}
