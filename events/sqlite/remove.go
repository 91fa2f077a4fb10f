package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/convene-run/convene/events"
)

// Remove implements [events.Log]. The space is used again by what is appended later; see
// [Log.Compact].
func (l *Log) Remove(ctx context.Context, key events.ThreadKey) error {
	return l.remove(ctx, key, false)
}

// Erase implements [events.Log]. The bytes are wiped by [Log.Compact].
func (l *Log) Erase(ctx context.Context, key events.ThreadKey) error {
	return l.remove(ctx, key, true)
}

func (l *Log) remove(ctx context.Context, key events.ThreadKey, unfinished bool) error {
	var artifacts []int64
	err := l.submit(ctx, func(tx *transaction) (refusal, failure error) {
		// What the neighbours in this commit have for the thread is in the file then.
		if err := tx.insertBlocks(); err != nil {
			return nil, err
		}
		state, err := tx.thread(key)
		if err != nil && !errors.Is(err, errUnreadable) {
			return nil, err
		}
		if err != nil { // a damaged thread can be removed
			if state, err = tx.loadRow(key); err != nil {
				return nil, err
			}
		}
		if state == nil {
			return fmt.Errorf("remove thread=%s: %w", key.Thread, events.ErrNotFound), nil
		}
		if refusal, failure = tx.removable(state, unfinished); refusal != nil || failure != nil {
			return refusal, failure
		}
		if artifacts, err = tx.artifactsOf(state.no); err != nil {
			return nil, err
		}
		return nil, tx.remove(state)
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	delete(l.ends, key)
	l.mu.Unlock()
	// The thread is gone; what cannot be deleted now is by Compact.
	_ = l.dropArtifacts(ctx, artifacts)
	return nil
}

// removable refuses what [events.Writer.Remove] refuses, and Erase where unfinished is set.
func (tx *transaction) removable(state *threadState, unfinished bool) (refusal, failure error) {
	count, err := tx.conn.number(`SELECT count(*) FROM blocks WHERE thread_no = ?`, state.no)
	if err != nil {
		return nil, err
	}
	if count == 0 {
		return fmt.Errorf("remove thread=%s: %w", state.key.Thread, events.ErrNotFound), nil
	}
	if state.owner != "" {
		held, err := tx.owners.alive(state.ownerFile)
		if err != nil {
			return nil, err
		}
		if held {
			return &events.HeldError{Owner: state.owner, Since: state.claimed}, nil
		}
	}
	p, err := storedProjection(tx.conn, state.key, state.no)
	if err != nil {
		return nil, err
	}
	runs := make([]events.RunSummary, len(p.runs))
	for i, run := range p.runs {
		runs[i] = *run
	}
	err = events.Removable(runs, unfinished, p.batch, func(id events.BatchID) (*events.BatchSummary, error) {
		key := events.ThreadKey{Tenant: state.key.Tenant, Thread: events.ThreadID(id)}
		head, err := findHead(tx.conn, key)
		if err != nil || head.no == 0 {
			return nil, err
		}
		of, err := storedProjection(tx.conn, key, head.no)
		return of.batch, err
	})
	if errors.Is(err, events.ErrNotOver) || errors.Is(err, events.ErrBatchOpen) {
		return fmt.Errorf("remove thread=%s: %w", state.key.Thread, err), nil
	}
	return nil, err
}

// storedProjection reads the rows of a thread, or folds them where one is damaged.
func storedProjection(c *conn, key events.ThreadKey, thread int64) (p projection, err error) {
	err = c.query(`SELECT `+runColumns+` FROM runs WHERE thread_no = ?`, []any{thread}, func(row []driver.Value) (bool, error) {
		run, err := readRun(row)
		p.runs = append(p.runs, &run)
		return true, err
	})
	if err == nil {
		err = c.query(`SELECT `+batchColumns+` FROM batches WHERE thread_no = ?`, []any{thread}, func(row []driver.Value) (bool, error) {
			batch, err := readBatch(row)
			p.batch = &batch
			return false, err
		})
	}
	if errors.Is(err, errProjection) {
		return project(c, key)
	}
	return p, err
}

// remove deletes all rows of a thread and what it alone shared; a trigger those of its artifacts. An empty row of no thread behind all events keeps
// their positions from being used again, see the table's comment, and tells other processes
// that a thread has gone.
func (tx *transaction) remove(state *threadState) (err error) {
	parts, err := tx.partsOf(state.no)
	if err != nil {
		return err
	}
	tx.pos, err = tx.conn.insert(`INSERT INTO blocks (thread_no, seq, sum, body) SELECT 0, max(pos) + 1, x'', x'' FROM blocks`)
	if err != nil {
		return err
	}
	for _, statement := range []string{
		`DELETE FROM blocks WHERE thread_no = ?1`,
		`DELETE FROM runs WHERE thread_no = ?1`,
		`DELETE FROM batches WHERE thread_no = ?1`,
		`DELETE FROM threads WHERE thread_no = ?1`,
	} {
		if err := tx.conn.exec(statement, state.no); err != nil {
			return err
		}
	}
	if err := tx.conn.exec(`DELETE FROM blocks WHERE thread_no = 0 AND pos < (SELECT max(pos) FROM blocks)`); err != nil {
		return err
	}
	if err := tx.dropParts(parts); err != nil {
		return err
	}
	delete(tx.threads, state.key)
	tx.changed = true
	tx.grown = append(tx.grown, growth{key: state.key})
	return nil
}
