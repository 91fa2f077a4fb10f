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
	// rows are the blocks to insert, six arguments each.
	rows []any
	// loaded are the threads read for this transaction, runs and batches the summaries
	// changed.
	loaded  []*threadState
	runs    []*runState
	batches []*batchState
	grown   []growth
	// pos is the place of the last event added, 0 if none was.
	pos int64
}

// threadState is what appending to a thread takes to know.
type threadState struct {
	key        events.ThreadKey
	no         int64
	epoch      events.Epoch
	owner      events.Owner
	ownerFile  string
	claimed    time.Time
	last       chain
	lastTime   time.Time
	run        *runState
	batch      *batchState
	generation int64
}

// errUnreadable refuses a thread whose last event this build cannot read. It is
// no reason to fail the neighbours, and neither is a damaged one.
var errUnreadable = errors.New("cannot continue behind the last event")

// fill applies the requests and writes what they changed.
func (tx *transaction) fill(group []*request) error {
	for _, req := range group {
		var err error
		if req.err, err = req.apply(tx); errors.Is(err, errUnreadable) || errors.Is(err, events.ErrDamaged) {
			req.err = err
		} else if err != nil {
			return err
		}
	}
	if err := tx.insertBlocks(); err != nil {
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

func (tx *transaction) load(key events.ThreadKey) (*threadState, error) {
	state, err := tx.loadRow(key)
	if err != nil || state == nil {
		return nil, err
	}
	return state, tx.loadLast(state)
}

// loadRow gives the state of a thread but for its last event.
func (tx *transaction) loadRow(key events.ThreadKey) (state *threadState, err error) {
	err = tx.conn.query(`SELECT thread_no, epoch, owner, owner_file, claimed_ns FROM threads
		WHERE tenant = ? AND thread = ?`, []any{string(key.Tenant), string(key.Thread)},
		func(row []driver.Value) (bool, error) {
			state = &threadState{
				key: key, no: row[0].(int64), epoch: events.Epoch(row[1].(int64)), owner: events.Owner(row[2].(string)),
				ownerFile: row[3].(string), claimed: time.Unix(0, row[4].(int64)).UTC(), generation: tx.generation,
			}
			return false, nil
		})
	return state, err
}

// loadLast reads the end of the thread. Nothing is added behind an end that is damaged
// or that a newer build wrote.
func (tx *transaction) loadLast(state *threadState) error {
	state.last.sum = events.FirstChecksum(state.key)
	seq, err := tx.conn.number(`SELECT max(seq) FROM blocks WHERE thread_no = ?`, state.no)
	if err != nil || seq == 0 {
		return err
	}
	at := chain{seq: events.Seq(seq) - 1}
	page, err := readProven(tx.conn, state.key, &at, 2) // one more, so that a lost tail shows
	if errors.Is(err, events.ErrDamaged) {
		return fmt.Errorf("%w of thread=%s: %w", errUnreadable, state.key.Thread, err)
	}
	if err != nil || len(page) == 0 {
		return err
	}
	last, err := events.Decode(page[0].Body)
	if err != nil {
		return fmt.Errorf("%w of thread=%s: %w", errUnreadable, state.key.Thread, err)
	}
	state.last, state.lastTime = at, last.Time
	return nil
}

// add puts events behind the last of the thread. They are stamped, chained and packed.
func (tx *transaction) add(state *threadState, envs []events.Envelope, blocks []block) error {
	if len(envs) == 0 {
		return nil
	}
	for _, env := range envs {
		// A damaged thread refuses before anything has changed.
		if _, err := tx.runOf(state, env); err != nil {
			return err
		}
	}
	for _, b := range blocks {
		if err := tx.addBlock(state, b); err != nil {
			return err
		}
	}
	for _, env := range envs {
		if err := tx.nameArtifacts(state.no, env.Data); err != nil {
			return err
		}
		state.lastTime = env.Time
		if err := tx.summarize(state, env); err != nil {
			return err
		}
	}
	tx.changed = true
	tx.grown = append(tx.grown, growth{state.key, envs, state.ownerFile == tx.owners.token})
	return nil
}

// addBlock puts a block behind all others.
func (tx *transaction) addBlock(state *threadState, b block) (err error) {
	var part any
	if b.part != nil {
		if part, err = tx.keepPart(b.part); err != nil {
			return err
		}
	}
	tx.pos = max(tx.pos, tx.committer.pos) + int64(b.events)
	tx.rows = append(tx.rows, tx.pos, state.no, int64(b.last.seq), b.last.sum[:], b.body, part)
	state.last = b.last
	return nil
}

// maxRows is the number of blocks that one statement inserts. The sizes below it
// are halves, so that few statements are prepared.
const maxRows = 32

var insertStatements = func() map[int]string {
	statements := map[int]string{}
	for n := maxRows; n > 0; n /= 2 {
		statements[n] = "INSERT INTO blocks (pos, thread_no, seq, sum, body, part) VALUES " + strings.Repeat("(?, ?, ?, ?, ?, ?), ", n-1) + "(?, ?, ?, ?, ?, ?)"
	}
	return statements
}()

const blockArgs = 6

func (tx *transaction) insertBlocks() error {
	for n := maxRows; len(tx.rows) > 0; {
		for n*blockArgs > len(tx.rows) {
			n /= 2
		}
		if err := tx.conn.exec(insertStatements[n], tx.rows[:n*blockArgs]...); err != nil {
			return err
		}
		tx.rows = tx.rows[n*blockArgs:]
	}
	return nil
}
