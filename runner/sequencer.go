package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/thread"
)

// maxConflicts bounds how often one batch of decisions is made again because
// others posted to the thread: posts are rare, so many in a row are a defect.
const maxConflicts = 100

// sequencerLog is what a run needs of an [events.Log] once it is under way.
type sequencerLog interface {
	Append(ctx context.Context, key events.ThreadKey, epoch events.Epoch, after events.Seq, envs []events.Envelope) error
	AppendLast(ctx context.Context, key events.ThreadKey, epoch events.Epoch, after events.Seq, envs []events.Envelope) error
	Wait(ctx context.Context, key events.ThreadKey, after events.Seq, kinds ...events.Kind) error
}

// sequencer runs the decisions of one run, one after the other, and commits their
// facts. It is the run's [loop.Journal]. Decisions that come while a commit is
// under way are made together and share the next one.
//
// There is no goroutine: whoever finds nobody at work leads, until its own
// decision is durable, and then passes the lead on.
type sequencer struct {
	log   sequencerLog
	key   events.ThreadKey
	epoch events.Epoch
	clock *clock
	// fold is the state of the thread, which the run has behind the event with seq from.
	fold *thread.Fold
	run  events.RunID
	from events.Seq
	// broke is called when the run cannot continue for want of its log. It must not wait,
	// and may be nil.
	broke func(error)
	// committed is told of facts that are durable. It must not wait, and may be nil.
	committed func([]events.Envelope)
	// unread says that others may have written to the thread: the next leader reads that
	// before it decides.
	unread atomic.Bool

	mu      sync.Mutex // guards queue and leading
	queue   []*decision
	leading bool

	// What follows belongs to the leader: released is set once the thread is given back, with
	// the last event of the run.
	failed   error
	released bool
}

// decision is one call of Do.
type decision struct {
	decide func(*thread.Tx)
	// wake gets true when this decision is to lead, false when it has been made; nil where
	// it leads from the start.
	wake chan bool
	made bool
	err  error
}

// Do implements [loop.Journal].
func (s *sequencer) Do(decide func(*thread.Tx)) error {
	d := &decision{decide: decide}
	s.mu.Lock()
	s.queue = append(s.queue, d)
	if s.leading {
		d.wake = make(chan bool, 1)
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
		use := s.fold.Known
		if s.unread.Swap(false) {
			use = s.fold.Use
		}
		// What was decided is committed even if those who asked are gone: a commit is short.
		err := use(context.Background(), func(th *thread.Thread) error { return s.append(th, batch) })
		if !errors.Is(err, events.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("append to thread %s: too many conflicts", s.key.Thread)
}

// append makes the decisions and commits their facts. Where that fails the fold forgets them.
func (s *sequencer) append(th *thread.Thread, batch []*decision) error {
	if foreign := s.fold.Foreign(); foreign > s.from {
		return fmt.Errorf("thread %s has an event of another driver, seq=%d: %w", s.key.Thread, foreign, events.ErrFenced)
	}
	if current := th.Current(); current == nil || current.ID != s.run {
		return nil // the run is over, and the thread has gone on without it
	}
	after := th.Seq
	facts, err := s.decide(th, batch)
	if err != nil || len(facts) == 0 {
		return err
	}
	add, last := s.log.Append, facts[len(facts)-1].Data.Kind() == events.KindWorkflowFinished
	if last {
		add = s.log.AppendLast
	}
	if err := add(context.Background(), s.key, s.epoch, after, facts); err != nil {
		return fmt.Errorf("append to thread %s after seq=%d: %w", s.key.Thread, after, err)
	}
	s.released = last
	if s.committed != nil {
		s.committed(facts)
	}
	return nil
}

// decide runs the decisions on the state, which takes up their facts.
func (s *sequencer) decide(th *thread.Thread, batch []*decision) ([]events.Envelope, error) {
	var facts []events.Envelope
	for _, d := range batch {
		tx := th.Begin(s.clock.now())
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
	if len(facts) > 0 {
		s.clock.reach(th.Time)
	}
	return facts, nil
}

// sync takes in what others wrote, without a fact of its own, and gives the last seq that
// the state knows.
func (s *sequencer) sync() (events.Seq, error) {
	s.unread.Store(true)
	return s.reached()
}

// reached gives the last seq that the state knows.
func (s *sequencer) reached() (last events.Seq, err error) {
	err = s.Do(func(tx *thread.Tx) { last = tx.Run.Thread().Seq })
	return last, err
}

// mail are the kinds of what others write into the thread of a run: what may be posted,
// and the first that another driver writes who took the thread over.
var mail = append(events.PostedKinds(), events.KindRunResumed)

// await returns once there is mail behind that seq.
func (s *sequencer) await(ctx context.Context, after events.Seq) error {
	return s.log.Wait(ctx, s.key, after, mail...)
}

var _ loop.Journal = (*sequencer)(nil)
