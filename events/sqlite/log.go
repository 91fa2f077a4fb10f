package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/convene-run/convene/events"
)

// Log is the durable [events.Log] in one SQLite file. Several processes may have
// the file open.
type Log struct {
	path      string
	committer *committer
	owners    *owners
	hub       *hub
	// readers holds the idle reading connections.
	readers chan *conn
	// readOnly refuses changes, nil where they are taken; temp is the folder of a copy,
	// damage what is wrong with the file: see [OpenReadOnly].
	readOnly error
	temp     string
	damage   error

	// packing hands work to goroutines of the log's own: see [Log.pack].
	packing chan packing

	closing   chan struct{}
	watching  sync.WaitGroup
	closeOnce sync.Once
	closeErr  error

	// mu guards ends.
	mu sync.Mutex
	// ends are the last events of the threads claimed here. They let an append be
	// stamped, encoded and chained outside the one writer.
	ends map[events.ThreadKey]end
}

type end struct {
	chain
	time time.Time
}

var _ events.Log = (*Log)(nil)

// MaxEventBytes bounds one encoded event: far above what any run writes, far
// below what SQLite can hold in a row. A larger one is refused.
const MaxEventBytes = 32 << 20

// OnLocked has told called when appends begin to pause because another process keeps the
// file locked, with the time that they have waited by then. They go on when the lock is
// gone. Set it before the log is used; told must not wait for the log.
func (l *Log) OnLocked(told func(waited time.Duration)) {
	l.committer.mu.Lock()
	defer l.committer.mu.Unlock()
	l.committer.onLocked = told
}

// submit hands a change to the committer and waits until it is durable.
func (l *Log) submit(ctx context.Context, apply func(*transaction) (refusal, failure error)) error {
	return l.send(ctx, &request{apply: apply})
}

// send is submit for a request.
func (l *Log) send(ctx context.Context, req *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.readOnly != nil {
		return l.readOnly
	}
	return l.committer.submit(req)
}

// Claim implements [events.Log].
func (l *Log) Claim(ctx context.Context, key events.ThreadKey, owner events.Owner, takeOver bool) (events.Epoch, error) {
	if err := owner.CheckClaim(key); err != nil {
		return 0, err
	}
	var epoch events.Epoch
	var last end
	err := l.submit(ctx, func(tx *transaction) (refusal, failure error) {
		state, refusal, failure := tx.threadFor(key)
		if refusal != nil || failure != nil {
			return refusal, failure
		}
		if refusal, failure = tx.claimFor(state, owner, takeOver); refusal != nil || failure != nil {
			return refusal, failure
		}
		epoch, last = state.epoch, end{state.last, state.lastTime}
		return nil, nil
	})
	if err != nil {
		return 0, err
	}
	l.setEnd(key, last)
	return epoch, nil
}

// Release implements [events.Log].
func (l *Log) Release(ctx context.Context, key events.ThreadKey, epoch events.Epoch) error {
	err := l.send(ctx, &request{patient: true, apply: func(tx *transaction) (refusal, failure error) {
		state, err := tx.thread(key)
		if err != nil || state == nil || state.epoch != epoch || state.owner == "" {
			return nil, err
		}
		return nil, tx.release(state)
	}})
	if err == nil {
		l.dropEnd(key)
	}
	return err
}

// packing is a call of [encode].
type packing struct {
	envs   []events.Envelope
	last   chain
	packed chan packed
}

type packed struct {
	blocks []block
	err    error
}

// pack is encode on a goroutine of the log's own. Compressing takes a table of 64 KB on the
// stack, and a stack that has grown stays so for as long as its goroutine is busy: with
// thousands of agents that append once in a while that would be most of their memory.
func (l *Log) pack(envs []events.Envelope, last chain) ([]block, error) {
	job := packing{envs, last, make(chan packed, 1)}
	select {
	case l.packing <- job:
		p := <-job.packed
		return p.blocks, p.err
	case <-l.closing:
		return nil, events.ErrClosed
	}
}

// packAll packs what is handed to it until the log is closed.
func (l *Log) packAll() {
	for {
		select {
		case job := <-l.packing:
			blocks, err := encode(job.envs, job.last)
			job.packed <- packed{blocks, err}
		case <-l.closing:
			return
		}
	}
}

// endAt gives the thread's end if it were at seq; known is false where the thread has no
// such event.
func (l *Log) endAt(ctx context.Context, key events.ThreadKey, seq events.Seq) (e end, known bool, err error) {
	if seq == 0 {
		return end{chain: chain{sum: events.FirstChecksum(key)}}, true, nil
	}
	l.mu.Lock()
	last, ok := l.ends[key]
	l.mu.Unlock()
	if ok && last.seq == seq {
		return last, true, nil
	}
	if seq < 0 {
		return end{}, false, nil
	}
	at := chain{seq: seq - 1}
	var page []events.Encoded
	err = l.read(ctx, func(c *conn) (err error) {
		page, err = readProven(c, key, &at, 1)
		return err
	})
	if err != nil || len(page) == 0 {
		return end{}, false, err
	}
	env, err := events.Decode(page[0].Body)
	return end{at, env.Time}, err == nil, err
}

// setEnd notes the end of a thread claimed here. It never goes back: an older
// append may be answered later than a newer one.
func (l *Log) setEnd(key events.ThreadKey, e end) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old, ok := l.ends[key]; !ok || old.seq < e.seq {
		l.ends[key] = e
	}
}

// dropEnd forgets the end of a thread that was released here.
func (l *Log) dropEnd(key events.ThreadKey) {
	l.hub.forget(key)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.ends, key)
}

// Post implements [events.Log].
func (l *Log) Post(ctx context.Context, key events.ThreadKey, env events.Envelope) (seq events.Seq, err error) {
	if env.Data == nil || !events.Posted(env.Data) {
		return 0, fmt.Errorf("post to thread=%s: %w", key.Thread, events.ErrNotPosted)
	}
	err = l.submit(ctx, func(tx *transaction) (refusal, failure error) {
		state, err := tx.thread(key)
		if err != nil {
			return nil, err
		}
		if state == nil || state.last.seq == 0 {
			return fmt.Errorf("post to thread=%s: %w", key.Thread, events.ErrNotFound), nil
		}
		run, err := tx.runOf(state, env)
		if err != nil {
			return nil, err
		}
		if run != nil && run.summary.Status.Over() {
			return fmt.Errorf("post to thread=%s run=%s: %w", key.Thread, env.Run, events.ErrRunOver), nil
		}
		envs := []events.Envelope{env}
		if err := events.Stamp(envs, key, state.last.seq, state.lastTime, time.Now()); err != nil {
			return err, nil
		}
		blocks, err := encode(envs, state.last)
		if err != nil {
			return err, nil
		}
		seq = envs[0].Seq
		return nil, tx.post(state, envs, blocks)
	})
	if err != nil {
		return 0, err
	}
	return seq, nil
}

// post adds events to a thread, which nobody may hold and so nobody release.
func (tx *transaction) post(state *threadState, envs []events.Envelope, blocks []block) error {
	err := tx.add(state, envs, blocks)
	if err != nil || state.owner != "" {
		return err
	}
	return tx.conn.exec(`UPDATE threads SET last_seq = ?, last_sum = ? WHERE thread_no = ?`,
		int64(state.last.seq), state.last.sum[:], state.no)
}

// Holder implements [events.Log].
func (l *Log) Holder(ctx context.Context, key events.ThreadKey) (owner events.Owner, since time.Time, err error) {
	var ownerFile string
	err = l.read(ctx, func(c *conn) error {
		return c.query(`SELECT owner, owner_file, claimed_ns FROM threads WHERE tenant = ? AND thread = ? AND owner <> ''`,
			[]any{string(key.Tenant), string(key.Thread)}, func(row []driver.Value) (bool, error) {
				owner, ownerFile = events.Owner(row[0].(string)), row[1].(string)
				since = time.Unix(0, row[2].(int64)).UTC()
				return false, nil
			})
	})
	if err != nil || owner == "" {
		return "", time.Time{}, err
	}
	if alive, err := l.owners.alive(ownerFile); err != nil || !alive {
		return "", time.Time{}, err
	}
	return owner, since, nil
}

// Close implements [events.Log].
func (l *Log) Close() error {
	l.closeOnce.Do(func() {
		close(l.closing)
		l.watching.Wait()
		claims, err := l.committer.close()
		errs := []error{err}
		for range cap(l.readers) {
			errs = append(errs, (<-l.readers).close())
		}
		errs = append(errs, l.owners.close(claims))
		if l.readOnly == nil {
			forgetOpened(l.path)
		}
		if l.temp != "" {
			errs = append(errs, os.RemoveAll(l.temp))
		}
		l.closeErr = errors.Join(errs...)
	})
	return l.closeErr
}
