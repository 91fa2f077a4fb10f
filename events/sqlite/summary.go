package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/convene-run/convene/events"
)

// storeEvery is how many events of a running run its row may lag behind. Writing
// the row takes as long as the events of a turn; folding this many when a running
// run is listed takes a fraction of a millisecond. Status, request and answer,
// which rows are chosen by, never lag.
const storeEvery = 16

// runState is a run's summary and its row.
type runState struct {
	thread  int64
	no      int64 // 0: not stored yet
	summary events.RunSummary
	// storedStatus and storedSeq are those of the row.
	storedStatus events.Status
	storedSeq    events.Seq
	// changed is set once the run is on the transaction's list, searched while the row's
	// search text is older than the summary.
	changed, searched bool
}

// due reports whether the row must be written now.
func (r *runState) due() bool {
	return r.no == 0 || r.searched || r.summary.Status != events.StatusRunning ||
		r.summary.Status != r.storedStatus || r.summary.LastSeq-r.storedSeq >= storeEvery
}

// loadRun reads a run's row and folds the events that it lags behind. Its no is 0
// where there is none.
func loadRun(c *conn, thread int64, id events.RunID) (*runState, error) {
	run := &runState{thread: thread}
	err := c.query(`SELECT run_no, summary FROM runs WHERE thread_no = ? AND run_id = ?`,
		[]any{thread, string(id)}, func(row []driver.Value) (bool, error) {
			run.no = row[0].(int64)
			return false, json.Unmarshal(row[1].([]byte), &run.summary)
		})
	if err != nil || run.no == 0 {
		return run, err
	}
	run.storedStatus, run.storedSeq = run.summary.Status, run.summary.LastSeq
	return run, catchUp(c, thread, &run.summary)
}

// catchUp folds the events that the summary of a running run lags behind. Rows of
// other runs do not lag.
func catchUp(c *conn, thread int64, summary *events.RunSummary) error {
	if summary.Status != events.StatusRunning {
		return nil
	}
	return c.query(`SELECT body FROM events WHERE thread_no = ? AND seq > ? ORDER BY seq`,
		[]any{thread, int64(summary.LastSeq)}, func(row []driver.Value) (bool, error) {
			env, err := events.Decode(row[0].([]byte))
			if err != nil {
				return false, err
			}
			if env.Run == summary.Run {
				err = summary.Apply(env)
			}
			return summary.Status == events.StatusRunning, err
		})
}

// summarize folds the event into the summary of its run, or of the thread's batch.
func (tx *transaction) summarize(state *threadState, env events.Envelope) error {
	if env.Run == "" {
		return tx.summarizeBatch(state, env)
	}
	run, err := tx.runOf(state, env)
	if err != nil || run == nil {
		return err
	}
	answer := run.summary.Answer
	if err := run.summary.Apply(env); err != nil {
		return err
	}
	if !run.changed {
		run.changed = true
		tx.runs = append(tx.runs, run)
	}
	if _, started := env.Data.(events.WorkflowStarted); started || answer != run.summary.Answer {
		run.searched = true
	}
	return nil
}

// runOf finds the state of the event's run; nil where the run has not started.
// Nearly always it is the run that the thread's last events were of.
func (tx *transaction) runOf(state *threadState, env events.Envelope) (*runState, error) {
	if state.run != nil && state.run.summary.Run == env.Run {
		return state.run, nil
	}
	for _, run := range tx.runs {
		if run.thread == state.no && run.summary.Run == env.Run {
			return run, nil
		}
	}
	run, err := loadRun(tx.conn, state.no, env.Run)
	if err != nil {
		return nil, err
	}
	if _, started := env.Data.(events.WorkflowStarted); run.no == 0 && !started {
		return nil, nil
	}
	state.run = run
	return run, nil
}

// store writes the summary of a run.
func (tx *transaction) store(run *runState) error {
	s := &run.summary
	body, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("summarize run=%s: %w", s.Run, err)
	}
	switch {
	case run.no == 0:
		var batch any
		if s.Batch != nil {
			batch = string(s.Batch.Batch)
		}
		run.no, err = tx.conn.insert(`INSERT INTO runs (thread_no, tenant, run_id, batch, status, search, summary)
			VALUES (?, ?, ?, ?, ?, ?, ?)`,
			run.thread, string(s.Tenant), string(s.Run), batch, string(s.Status), searchText(s.Searched()), body)
	case run.searched:
		err = tx.conn.exec(`UPDATE runs SET status = ?, search = ?, summary = ? WHERE run_no = ?`,
			string(s.Status), searchText(s.Searched()), body, run.no)
	default:
		err = tx.conn.exec(`UPDATE runs SET status = ?, summary = ? WHERE run_no = ?`, string(s.Status), body, run.no)
	}
	run.searched, run.storedStatus, run.storedSeq = false, s.Status, s.LastSeq
	return err
}

// searchText is what a search is looked for in. The separator keeps a match from
// reaching over from one text to the next.
func searchText(texts []string) string { return strings.ToLower(strings.Join(texts, "\x1f")) }
