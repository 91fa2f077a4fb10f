package sqlite

import (
	"database/sql/driver"
	"errors"
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
	// search, storedStatus and storedSeq are those of the row.
	search       string
	storedStatus events.Status
	storedSeq    events.Seq
	// changed is set once the run is on the transaction's list, searched while search is older
	// than the summary.
	changed, searched bool
}

// due reports whether the row must be written now.
func (r *runState) due() bool {
	return r.no == 0 || r.searched || r.summary.Status != events.StatusRunning ||
		r.summary.Status != r.storedStatus || r.summary.LastSeq-r.storedSeq >= storeEvery
}

// loadRun reads a run's row and folds the events that it lags behind. Its no is 0
// where there is none. What a damaged row said is folded from the events.
func loadRun(c *conn, key events.ThreadKey, thread int64, id events.RunID) (*runState, error) {
	run := &runState{thread: thread}
	damaged, search := false, ""
	err := c.query(`SELECT `+runColumns+`, run_no FROM runs WHERE thread_no = ? AND run_id = ?`,
		[]any{thread, string(id)}, func(row []driver.Value) (more bool, err error) {
			run.no = row[len(row)-1].(int64)
			run.summary, err = readRun(row[:len(row)-1])
			search, _ = row[5].(string)
			if damaged = errors.Is(err, errProjection); damaged {
				err = nil
			}
			return false, err
		})
	if err != nil || run.no == 0 {
		return run, err
	}
	if damaged {
		run.searched = true // all of the row is written
		return run, foldRun(c, key, id, &run.summary)
	}
	run.storedStatus, run.storedSeq = run.summary.Status, run.summary.LastSeq
	run.search = search
	return run, catchUp(c, key, &run.summary)
}

// foldRun folds the summary of a run that the thread has.
func foldRun(c *conn, key events.ThreadKey, id events.RunID, summary *events.RunSummary) error {
	p, err := project(c, key)
	if err != nil {
		return err
	}
	if run := p.run(id); run != nil {
		*summary = *run
		return nil
	}
	return fmt.Errorf("%w: thread=%s lacks the events of run=%s", ErrDamaged, key.Thread, id)
}

// catchUp folds the events that the summary of a running run lags behind. Rows of
// other runs do not lag. Where one cannot be read the summary is as of the one before, and the
// error an [*events.DamagedError].
func catchUp(c *conn, key events.ThreadKey, summary *events.RunSummary) error {
	at := chain{seq: summary.LastSeq}
	for summary.Status == events.StatusRunning {
		page, err := readSound(c, key, &at, pageEvents)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, e := range page {
			env, err := decode(key, e)
			if err != nil {
				return err
			}
			if env.Run != summary.Run {
				continue
			}
			if err := summary.Apply(env); err != nil || summary.Status != events.StatusRunning {
				return err
			}
		}
	}
	return nil
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

// runOf finds the state of the event's run; nil where the run has not started. That of a run
// that the event starts has nothing but its id.
// Nearly always it is the run that the thread's last events were of.
func (tx *transaction) runOf(state *threadState, env events.Envelope) (*runState, error) {
	_, starts := env.Data.(events.WorkflowStarted)
	if state.run != nil && state.run.summary.Run == env.Run && (starts || state.run.summary.Status != "") {
		return state.run, nil
	}
	for _, run := range tx.runs {
		if run.thread == state.no && run.summary.Run == env.Run {
			return run, nil
		}
	}
	run := &runState{thread: state.no}
	if state.last.seq > 0 {
		var err error
		if run, err = loadRun(tx.conn, state.key, state.no, env.Run); err != nil {
			return nil, err
		}
	}
	if run.no == 0 {
		if !starts {
			return nil, nil
		}
		run.summary.Run = env.Run
	}
	state.run = run
	return run, nil
}

// store writes the summary of a run. The status is written where it has changed: an index has
// it, which SQLite writes whenever a statement names one of its columns.
func (tx *transaction) store(run *runState) error {
	s := &run.summary
	if run.no == 0 || run.searched {
		run.search = searchText(s.Searched())
	}
	row, err := runRow(run.thread, s, run.search)
	if err != nil {
		return err
	}
	status, search, body, sum := row[4], row[5], row[6], row[7]
	switch {
	case run.no == 0:
		run.no, err = tx.conn.insert("INSERT INTO runs ("+runColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row...)
	case run.searched || s.Status != run.storedStatus:
		err = tx.conn.exec(`UPDATE runs SET status = ?, search = ?, summary = ?, sum = ? WHERE run_no = ?`, status, search, body, sum, run.no)
	default:
		err = tx.conn.exec(`UPDATE runs SET summary = ?, sum = ? WHERE run_no = ?`, body, sum, run.no)
	}
	run.searched, run.storedStatus, run.storedSeq = false, s.Status, s.LastSeq
	return err
}

// searchText is what a search is looked for in. The separator keeps a match from
// reaching over from one text to the next.
func searchText(texts []string) string { return strings.ToLower(strings.Join(texts, "\x1f")) }
