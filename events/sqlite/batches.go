package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/convene-run/convene/events"
)

// batchState is a batch's summary and its row, which never lags: a batch has an event
// in two seconds.
type batchState struct {
	thread int64
	// open is set where the thread is a batch's.
	open    bool
	stored  bool
	summary events.BatchSummary
	// changed is set once the batch is on the transaction's list.
	changed bool
}

// summarizeBatch folds the event into the summary of the thread's batch, if it has one.
func (tx *transaction) summarizeBatch(state *threadState, env events.Envelope) error {
	if state.batch == nil {
		batch, err := loadBatch(tx.conn, state.key, state.no)
		if err != nil {
			return err
		}
		state.batch = batch
	}
	batch := state.batch
	if env.Data.Kind() == events.KindBatchStarted {
		batch.open = true
	}
	if !batch.open {
		return nil
	}
	batch.summary.Apply(env)
	if !batch.changed {
		batch.changed = true
		tx.batches = append(tx.batches, batch)
	}
	return nil
}

// loadBatch reads the batch that a thread is of. What a damaged row said is folded from
// the events.
func loadBatch(c *conn, key events.ThreadKey, thread int64) (*batchState, error) {
	batch := &batchState{thread: thread}
	err := c.query(`SELECT `+batchColumns+` FROM batches WHERE thread_no = ?`, []any{thread}, func(row []driver.Value) (more bool, err error) {
		batch.open, batch.stored = true, true
		batch.summary, err = readBatch(row)
		return false, err
	})
	if !errors.Is(err, errProjection) {
		return batch, err
	}
	p, err := project(c, key)
	if err == nil && p.batch != nil {
		batch.summary = *p.batch
	}
	return batch, err
}

// storeBatch writes the summary of a batch.
func (tx *transaction) storeBatch(batch *batchState) error {
	row, err := batchRow(batch.thread, &batch.summary)
	if err != nil {
		return err
	}
	if batch.stored {
		return tx.conn.exec(`UPDATE batches SET status = ?, search = ?, summary = ?, sum = ? WHERE thread_no = ?`,
			row[4], row[5], row[6], row[7], batch.thread)
	}
	batch.stored = true
	return tx.conn.exec("INSERT INTO batches ("+batchColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row...)
}

// Batches implements [events.Log].
func (l *Log) Batches(ctx context.Context, query events.BatchQuery) (found []events.BatchSummary, err error) {
	list := newListing(query.Tenant, query.Status, query.Search)
	if query.Before != "" {
		before, args := "SELECT started_ns, batch_id FROM batches WHERE batch_id = ?", []any{string(query.Before)}
		if query.Tenant != "" {
			before, args = before+" AND tenant = ?", append(args, string(query.Tenant))
		}
		list.narrow("(started_ns, batch_id) < ("+before+")", args...)
	}
	sql, args := list.sql("SELECT "+batchColumns+" FROM batches", "started_ns DESC, batch_id DESC", query.Limit)
	return l.batches(ctx, sql, args)
}

// FindBatch implements [events.Log].
func (l *Log) FindBatch(ctx context.Context, tenant events.TenantID, idOrPrefix string) (events.BatchSummary, error) {
	sql, args := byPrefix("SELECT "+batchColumns+" FROM batches", "batch_id", tenant, idOrPrefix)
	found, err := l.batches(ctx, sql, args)
	if err != nil {
		return events.BatchSummary{}, err
	}
	batch, err := events.PickBatch(found, idOrPrefix)
	if err == nil && batch.Damaged != nil {
		key := events.ThreadKey{Tenant: batch.Tenant, Thread: events.ThreadID(batch.Batch)}
		return events.BatchSummary{}, storeError("read from", l.path, batch.Damaged.In(key))
	}
	return batch, err
}

func (l *Log) batches(ctx context.Context, query string, args []any) (found []events.BatchSummary, err error) {
	err = l.projected(ctx, func(c *conn) error {
		found = nil
		broken := map[int]brokenRow{}
		err := c.queryOnce(query, args, func(row []driver.Value) (bool, error) {
			batch, err := readBatch(row)
			if errors.Is(err, errProjection) && l.asItIs() {
				broken[len(found)], err = brokenOf("batches", "thread_no", row), nil
			}
			found = append(found, batch)
			return true, err
		})
		for i, row := range broken {
			if err == nil {
				found[i], err = salvageBatch(c, row)
			}
		}
		return err
	})
	return found, err
}
