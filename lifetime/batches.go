package lifetime

import (
	"context"
	"errors"

	"github.com/convene-run/convene/events"
)

// named names a batch within all tenants.
type named struct {
	tenant events.TenantID
	batch  events.BatchID
}

// batches removes finished batches that are old, each after its rows, by which it is found.
func (p *pruning) batches(ctx context.Context) error {
	before := p.rules.Newest.Batches
	if before.IsZero() {
		return nil
	}
	known, err := p.listBatches(ctx)
	if err != nil {
		return err
	}
	query := events.RunQuery{Tenant: p.rules.Tenant, OldestFirst: true, Before: firstID(before), Limit: page}
	err = p.pages(ctx, query, func(row events.RunSummary) (func(context.Context, events.ThreadKey) error, error) {
		if row.Batch == nil || !row.Status.Over() || !row.Updated.Before(p.rules.Of(row.Tenant).Batches) {
			return nil, nil
		}
		old, listed := known[named{row.Tenant, row.Batch.Batch}]
		if !listed { // one that the log does not have, or that began since
			_, err := p.log.FindBatch(ctx, row.Tenant, string(row.Batch.Batch))
			if err != nil && !errors.Is(err, events.ErrNotFound) {
				return nil, err
			}
			old = err != nil
		}
		if !old {
			return nil, nil
		}
		return p.log.Remove, nil
	})
	if err != nil {
		return err
	}
	for batch, old := range known {
		if !old {
			continue
		}
		if err := p.batch(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// batch removes the thread of a batch, unless rows of it are still there.
func (p *pruning) batch(ctx context.Context, b named) error {
	left := events.RunQuery{Tenant: b.tenant, Batch: b.batch, Limit: 1}
	if p.dry {
		left.Status = unfinished
	}
	rows, err := p.log.Runs(ctx, left)
	if err != nil || len(rows) > 0 {
		return err
	}
	if !p.dry {
		err := p.log.Remove(ctx, events.ThreadKey{Tenant: b.tenant, Thread: events.ThreadID(b.batch)})
		if err != nil {
			return unlessKept(err)
		}
	}
	of := p.gone[b.tenant]
	of.Batches++
	p.gone[b.tenant] = of
	return nil
}

// listBatches lists the batches, and reports which of them go.
func (p *pruning) listBatches(ctx context.Context) (known map[named]bool, err error) {
	known = map[named]bool{}
	for query := (events.BatchQuery{Tenant: p.rules.Tenant, Limit: page}); ; {
		batches, err := p.log.Batches(ctx, query)
		if err != nil || len(batches) == 0 {
			return known, err
		}
		for _, batch := range batches {
			known[named{batch.Tenant, batch.Batch}] = batch.Finished() && batch.Updated.Before(p.rules.Of(batch.Tenant).Batches)
			query.Before = batch.Batch
		}
	}
}
