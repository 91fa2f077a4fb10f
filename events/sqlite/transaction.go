package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
)

// transaction is one transaction under way.
type transaction struct {
	*committer
	changed bool
	// rows are the events to insert, three arguments each.
	rows []any
	// loaded are the threads read for this transaction, runs and batches the summaries
	// changed.
	loaded  []*threadState
	runs    []*runState
	batches []*batchState
	grown   []events.ThreadKey
}

// threadState is what appending to a thread takes to know.
type threadState struct {
	key        events.ThreadKey
	no         int64
	epoch      events.Epoch
	owner      events.Owner
	ownerFile  string
	claimed    time.Time
	last       events.Seq
	lastTime   time.Time
	run        *runState
	batch      *batchState
	generation int64
}

// errUnreadable refuses a thread whose last event this build cannot read. It is
// no reason to fail the neighbours.
var errUnreadable = errors.New("cannot continue behind the last event")

// fill applies the requests and writes what they changed.
func (tx *transaction) fill(group []*request) error {
	for _, req := range group {
		var err error
		if req.err, err = req.apply(tx); errors.Is(err, errUnreadable) {
			req.err = err
		} else if err != nil {
			return err
		}
	}
	if err := tx.insertEvents(); err != nil {
		return err
	}
	for _, run := range tx.runs {
		run.changed = false
		if !run.due() {
			continue
		}
		if err := tx.store(run); err != nil {
			return err
		}
	}
	for _, batch := range tx.batches {
		batch.changed = false
		if err := tx.storeBatch(batch); err != nil {
			return err
		}
	}
	return nil
}

// forget drops the threads that other processes may change without notice.
func (tx *transaction) forget() {
	for _, state := range tx.loaded {
		if state.owner == "" || state.ownerFile != tx.owners.token {
			delete(tx.threads, state.key)
		}
	}
}

// thread gives the state of a thread, nil where it does not exist.
func (tx *transaction) thread(key events.ThreadKey) (*threadState, error) {
	if state := tx.threads[key]; state != nil && state.generation == tx.generation {
		return state, nil
	}
	state, err := tx.load(key)
	if err != nil || state == nil {
		delete(tx.threads, key)
		return nil, err
	}
	tx.threads[key] = state
	tx.loaded = append(tx.loaded, state)
	return state, nil
}

func (tx *transaction) load(key events.ThreadKey) (state *threadState, err error) {
	err = tx.conn.query(`SELECT thread_no, epoch, owner, owner_file, claimed_ns FROM threads
		WHERE tenant = ? AND thread = ?`, []any{string(key.Tenant), string(key.Thread)},
		func(row []driver.Value) (bool, error) {
			state = &threadState{
				key: key, no: row[0].(int64), epoch: events.Epoch(row[1].(int64)), owner: events.Owner(row[2].(string)),
				ownerFile: row[3].(string), claimed: time.Unix(0, row[4].(int64)).UTC(), generation: tx.generation,
			}
			return false, nil
		})
	if err != nil || state == nil {
		return nil, err
	}
	err = tx.conn.query(`SELECT body FROM events WHERE thread_no = ? ORDER BY seq DESC LIMIT 1`, []any{state.no},
		func(row []driver.Value) (bool, error) {
			last, err := events.Decode(row[0].([]byte))
			if err != nil {
				return false, fmt.Errorf("%w of thread=%s: %w", errUnreadable, key.Thread, err)
			}
			state.last, state.lastTime = last.Seq, last.Time
			return false, nil
		})
	return state, err
}

// add puts events behind the last of the thread. They are stamped and encoded.
func (tx *transaction) add(state *threadState, envs []events.Envelope, bodies [][]byte) error {
	for i, env := range envs {
		tx.rows = append(tx.rows, state.no, int64(env.Seq), bodies[i])
		state.last, state.lastTime = env.Seq, env.Time
		if err := tx.summarize(state, env); err != nil {
			return err
		}
	}
	tx.changed = true
	tx.grown = append(tx.grown, state.key)
	return nil
}

// maxRows is the number of events that one statement inserts. The sizes below it
// are halves, so that few statements are prepared.
const maxRows = 32

var insertStatements = func() map[int]string {
	statements := map[int]string{}
	for n := maxRows; n > 0; n /= 2 {
		statements[n] = "INSERT INTO events (thread_no, seq, body) VALUES " + strings.Repeat("(?, ?, ?), ", n-1) + "(?, ?, ?)"
	}
	return statements
}()

const eventArgs = 3

func (tx *transaction) insertEvents() error {
	for n := maxRows; len(tx.rows) > 0; {
		for n*eventArgs > len(tx.rows) {
			n /= 2
		}
		if err := tx.conn.exec(insertStatements[n], tx.rows[:n*eventArgs]...); err != nil {
			return err
		}
		tx.rows = tx.rows[n*eventArgs:]
	}
	return nil
}
