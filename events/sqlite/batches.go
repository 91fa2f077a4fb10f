package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"

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
		batch, err := loadBatch(tx.conn, state.no)
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

func loadBatch(c *conn, thread int64) (*batchState, error) {
	batch := &batchState{thread: thread}
	err := c.query(`SELECT summary FROM batches WHERE thread_no = ?`, []any{thread}, func(row []driver.Value) (bool, error) {
		batch.open, batch.stored = true, true
		return false, json.Unmarshal(row[0].([]byte), &batch.summary)
	})
	return batch, err
}

// storeBatch writes the summary of a batch.
func (tx *transaction) storeBatch(batch *batchState) error {
	s := &batch.summary
	body, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("summarize batch=%s: %w", s.Batch, err)
	}
	if batch.stored {
		return tx.conn.exec(`UPDATE batches SET status = ?, search = ?, summary = ? WHERE thread_no = ?`,
			string(s.Status), searchText(s.Searched()), body, batch.thread)
	}
	batch.stored = true
	return tx.conn.exec(`INSERT INTO batches (thread_no, tenant, batch_id, started_ns, status, search, summary)
		VALUES (?, ?, ?, ?, ?, ?, ?)`, batch.thread, string(s.Tenant), string(s.Batch), s.Start.UnixNano(),
		string(s.Status), searchText(s.Searched()), body)
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
	sql, args := list.sql("SELECT summary FROM batches", "started_ns DESC, batch_id DESC", query.Limit)
	return l.batches(ctx, sql, args)
}

// FindBatch implements [events.Log]. Two rows settle it: ids sort, and the one that is
// just the prefix comes first.
func (l *Log) FindBatch(ctx context.Context, tenant events.TenantID, idOrPrefix string) (events.BatchSummary, error) {
	found, err := l.batches(ctx, `SELECT summary FROM batches
		WHERE tenant = ? AND batch_id >= ? AND substr(batch_id, 1, length(?2)) = ?2
		ORDER BY batch_id LIMIT 2`, []any{string(tenant), idOrPrefix})
	if err != nil {
		return events.BatchSummary{}, err
	}
	return events.PickBatch(found, idOrPrefix)
}

func (l *Log) batches(ctx context.Context, query string, args []any) (found []events.BatchSummary, err error) {
	err = l.read(ctx, func(c *conn) error {
		return c.queryOnce(query, args, func(row []driver.Value) (bool, error) {
			var batch events.BatchSummary
			err := json.Unmarshal(row[0].([]byte), &batch)
			found = append(found, batch)
			return true, err
		})
	})
	return found, err
}
