package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// maxConflicts bounds how often one batch of decisions is made again because
// others posted to the thread: posts are rare, so many in a row are a defect.
const maxConflicts = 100

// sequencer runs the decisions of one run, one after the other, and commits their
// facts. It is the run's [agent.Journal]. Decisions that come while a commit is
// under way are made together and share the next one.
//
// There is no goroutine: whoever finds nobody at work leads, until its own
// decision is durable, and then passes the lead on.
type sequencer struct {
	log   events.Log
	key   events.ThreadKey
	epoch events.Epoch
	// posted is called when others posted to the thread, broke when the run cannot go
	// on for want of its log. Neither must wait. Each may be nil.
	posted func()
	broke  func(error)

	mu      sync.Mutex // guards queue and leading
	queue   []*decision
	leading bool

	// thread, failed and foreign belong to the leader.
	thread *thread.Thread
	failed error
	// foreign is an event that somebody else put behind what this state knows.
	foreign *events.Envelope
}

// decision is one call of Do.
type decision struct {
	decide func(*thread.Tx)
	// wake gets true when this decision is to lead, false when it has been made.
	wake chan bool
	made bool
	err  error
}

// Do implements [agent.Journal].
func (s *sequencer) Do(decide func(*thread.Tx)) error {
	d := &decision{decide: decide, wake: make(chan bool, 1)}
	s.mu.Lock()
	s.queue = append(s.queue, d)
	if s.leading {
		s.mu.Unlock()
		if lead := <-d.wake; !lead {
			return d.err
		}
		s.mu.Lock()
	}
	s.leading = true
	for !d.made {
		batch := s.queue
		s.queue = nil
		s.mu.Unlock()
		s.make(batch, d)
		s.mu.Lock()
	}
	if len(s.queue) > 0 {
		s.queue[0].wake <- true
	} else {
		s.leading = false
	}
	s.mu.Unlock()
	return d.err
}

// make makes the decisions of a batch, commits their facts and wakes those who
// wait for it.
func (s *sequencer) make(batch []*decision, leader *decision) {
	if s.failed == nil {
		if s.failed = s.commit(batch); s.failed != nil && s.broke != nil {
			s.broke(s.failed)
		}
	}
	for _, d := range batch {
		d.made, d.err = true, s.failed
		if d != leader {
			d.wake <- false
		}
	}
}

func (s *sequencer) commit(batch []*decision) error {
	for range maxConflicts {
		after := s.thread.Seq
		facts, err := s.decide(batch)
		if err != nil {
			return err
		}
		if s.foreign != nil {
			if err := s.catchUp(); err != nil {
				return err
			}
			continue
		}
		if len(facts) == 0 {
			return nil
		}
		// What was decided is committed even if those who asked are gone: the facts are
		// applied already, and a commit is short.
		err = s.log.Append(context.Background(), s.key, s.epoch, after, facts)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, events.ErrConflict):
			return fmt.Errorf("append to thread %s after seq=%d: %w", s.key.Thread, after, err)
		}
		if err := s.reload(); err != nil {
			return err
		}
	}
	return fmt.Errorf("append to thread %s: conflicts without end", s.key.Thread)
}

// decide runs the decisions on the state, which takes up their facts.
func (s *sequencer) decide(batch []*decision) ([]events.Envelope, error) {
	var facts []events.Envelope
	for _, d := range batch {
		tx := s.thread.Begin(time.Now().UTC().Round(0)) // as a log gives it back
		d.decide(tx)
		more, err := tx.Facts()
		if err != nil {
			return nil, fmt.Errorf("decide in thread %s: %w", s.key.Thread, err)
		}
		if facts == nil {
			facts = more
		} else {
			facts = append(facts, more...)
		}
	}
	return facts, nil
}

// catchUp takes in what somebody else wrote. Who writes what cannot be posted holds
// the thread now.
func (s *sequencer) catchUp() error {
	kind := s.foreign.Data.Kind()
	s.foreign = nil
	if !events.Postable(kind) {
		return fmt.Errorf("thread %s has a %s of another driver: %w", s.key.Thread, kind, events.ErrFenced)
	}
	return s.reload()
}

// reload throws the state away and folds the log anew.
func (s *sequencer) reload() error {
	fresh, err := load(context.Background(), s.log, s.key)
	if err != nil {
		return err
	}
	s.thread = fresh
	if s.posted != nil {
		s.posted()
	}
	return nil
}

// sync takes up what others wrote since the last commit, without a fact of its own.
func (s *sequencer) sync() error {
	var seq events.Seq
	if err := s.Do(func(tx *thread.Tx) { seq = tx.Run.Thread().Seq }); err != nil {
		return err
	}
	envs, err := s.log.Read(context.Background(), s.key, seq, 1)
	if err != nil || len(envs) == 0 {
		return err
	}
	return s.Do(func(*thread.Tx) {
		if s.thread.Seq < envs[0].Seq { // else it is our own, committed meanwhile
			s.foreign = &envs[0]
		}
	})
}

// load folds a thread from its log.
func load(ctx context.Context, log events.Log, key events.ThreadKey) (*thread.Thread, error) {
	const page = 1000 // events read at once: few round trips, little memory
	th := thread.New()
	for {
		envs, err := log.Read(ctx, key, th.Seq, page)
		if err != nil {
			return nil, fmt.Errorf("read thread %s: %w", key.Thread, err)
		}
		for _, env := range envs {
			if err := th.Apply(env); err != nil {
				return nil, fmt.Errorf("read thread %s: %w", key.Thread, err)
			}
		}
		if len(envs) < page {
			return th, nil
		}
	}
}

var _ agent.Journal = (*sequencer)(nil)
