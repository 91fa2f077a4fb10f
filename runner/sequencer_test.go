package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/eventstest"
	"github.com/convene-run/convene/thread"
)

// opened gives a sequencer on a thread with a run that has just started.
func opened(t require.TestingT, log events.Log) *sequencer {
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(uuid.NewString())}
	epoch, err := log.Claim(context.Background(), key, "test", false)
	require.NoError(t, err)
	require.NoError(t, log.Append(context.Background(), key, epoch, 0, []events.Envelope{{
		Run: events.RunID(uuid.NewString()), Data: events.WorkflowStarted{Message: "Hello"},
	}}))
	s := &sequencer{clock: newClock(), log: log, key: key, epoch: epoch, fold: thread.NewKept(log).Pin(key)}
	s.run, s.from = s.state().Current().ID, 1
	return s
}

// state is what the sequencer decides on.
func (s *sequencer) state() (th *thread.Thread) {
	err := s.fold.Known(context.Background(), func(known *thread.Thread) error {
		th = known
		return nil
	})
	if err != nil {
		panic(err)
	}
	return th
}

// unsteady is a log that refuses some appends.
type unsteady struct {
	*events.Memory
	mu sync.Mutex
	// conflicts are the appends, counted from 1, that fail as if somebody had posted.
	conflicts map[int]bool
	count     int
}

func (u *unsteady) Append(ctx context.Context, key events.ThreadKey, epoch events.Epoch, after events.Seq, envs []events.Envelope) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count++
	if u.conflicts[u.count] {
		return events.ErrConflict
	}
	return u.Memory.Append(ctx, key, epoch, after, envs)
}

var errNoSpace = errors.New("no space left on the device")

// decide makes n decisions from each of the goroutines, one fact each, and gives the
// errors by fact.
func decide(s *sequencer, goroutines, n int) map[string]error {
	var mu sync.Mutex
	outcome := map[string]error{}
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range n {
				name := fmt.Sprintf("%d/%d", g, i)
				err := s.Do(func(tx *thread.Tx) { tx.Emit("", "", events.Warning{Code: "test", Message: name}) })
				mu.Lock()
				outcome[name] = err
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return outcome
}

// Whatever decisions meet and whoever posts between them: each fact is in the log
// exactly once, those of one caller in order, and the state is the log's fold.
func TestSequencerKeepsEveryFactOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log := &unsteady{Memory: events.NewMemory(), conflicts: map[int]bool{}}
		for range rapid.IntRange(0, 5).Draw(rt, "conflicts") {
			log.conflicts[rapid.IntRange(2, 40).Draw(rt, "conflict")] = true
		}
		goroutines, n := rapid.IntRange(1, 8).Draw(rt, "goroutines"), rapid.IntRange(1, 10).Draw(rt, "decisions")
		posts := rapid.IntRange(0, 5).Draw(rt, "posts")
		s := opened(rt, log)
		run := s.state().Current().ID

		var posting sync.WaitGroup
		posting.Go(func() {
			for range posts {
				if _, err := log.Post(context.Background(), s.key, events.Envelope{Run: run, Data: events.CancelRequested{}}); err != nil {
					panic(err)
				}
				if _, err := s.sync(); err != nil {
					panic(err)
				}
			}
		})
		for name, err := range decide(s, goroutines, n) {
			require.NoError(rt, err, name)
		}
		posting.Wait()
		_, err := s.sync()
		require.NoError(rt, err)

		envs, err := log.Read(context.Background(), s.key, 0, 0)
		require.NoError(rt, err)
		require.Len(rt, envs, 1+goroutines*n+posts)
		next := map[int]int{}
		fold := thread.New()
		for _, env := range envs {
			require.NoError(rt, fold.Apply(env))
			if warning, ok := env.Data.(events.Warning); ok {
				var g, i int
				_, err := fmt.Sscanf(warning.Message, "%d/%d", &g, &i)
				require.NoError(rt, err)
				require.Equal(rt, next[g], i)
				next[g]++
			}
		}
		require.Equal(rt, envs[len(envs)-1].Seq, s.state().Seq)
		require.Equal(rt, fold.Current().RunSummary, s.state().Current().RunSummary)
		require.Equal(rt, posts > 0, s.state().Current().CancelRequested != nil)
	})
}

// A store that fails ends every decision with its error, leaves nobody waiting, and is
// told of once; what had been acknowledged before is in the log.
func TestSequencerEndsWithItsStore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		at := eventstest.Point{Append: rapid.IntRange(2, 20).Draw(rt, "at")}
		log := eventstest.NewFailpoint(events.NewMemory(), eventstest.FailAt(at, errNoSpace))
		s := opened(rt, log)
		var broke []error
		s.broke = func(err error) { broke = append(broke, err) }
		outcome := decide(s, rapid.IntRange(1, 6).Draw(rt, "goroutines"), 20)
		envs, err := log.Read(context.Background(), s.key, 0, 0)
		require.NoError(rt, err)
		durable := map[string]bool{}
		for _, env := range envs {
			if warning, ok := env.Data.(events.Warning); ok {
				durable[warning.Message] = true
			}
		}
		failed := 0
		for name, err := range outcome {
			require.Equal(rt, durable[name], err == nil, name)
			if err != nil {
				require.ErrorIs(rt, err, errNoSpace)
				failed++
			}
		}
		require.Equal(rt, failed > 0, len(broke) == 1)
		require.LessOrEqual(rt, len(broke), 1)
	})
}

// Conflicts without end are a defect of the log, and an error.
func TestSequencerGivesUpOnEndlessConflicts(t *testing.T) {
	log := &unsteady{Memory: events.NewMemory(), conflicts: map[int]bool{}}
	s := opened(t, log)
	for i := range 2 * maxConflicts {
		log.conflicts[i+2] = true
	}
	done := make(chan error, 1)
	go func() { done <- s.Do(func(tx *thread.Tx) { tx.Emit("", "", events.Warning{}) }) }()
	select {
	case err := <-done:
		require.ErrorContains(t, err, "too many conflicts")
	case <-time.After(time.Minute):
		require.Fail(t, "hangs")
	}
}

// An event of another driver means that the thread was taken over, even where this one
// has nothing to append.
func TestSequencerNoticesAnotherDriver(t *testing.T) {
	log := events.NewMemory()
	s := opened(t, log)
	epoch, err := log.Claim(t.Context(), s.key, "thief", true)
	require.NoError(t, err)
	_, err = s.sync()
	require.NoError(t, err, "a claim alone is not seen")
	require.NoError(t, log.Append(t.Context(), s.key, epoch, 1, []events.Envelope{{Run: s.state().Current().ID, Data: events.RunResumed{Owner: "thief"}}}))
	_, err = s.sync()
	require.ErrorIs(t, err, events.ErrFenced)
	require.ErrorIs(t, s.Do(func(*thread.Tx) {}), events.ErrFenced)
}

// reading counts the events that are read from a log.
type reading struct {
	*events.Memory
	read atomic.Int64
}

func (r *reading) Read(ctx context.Context, key events.ThreadKey, after events.Seq, limit int, kinds ...events.Kind) ([]events.Envelope, error) {
	envs, err := r.Memory.Read(ctx, key, after, limit, kinds...)
	r.read.Add(int64(len(envs)))
	return envs, err
}

// What was posted is read alone, before the next decision, which sees it and is made once.
func TestSequencerTakesPostsInBeforeItDecides(t *testing.T) {
	log := &reading{Memory: events.NewMemory()}
	s := opened(t, log)
	for _, err := range decide(s, 1, 50) {
		require.NoError(t, err)
	}
	_, err := log.Post(t.Context(), s.key, events.Envelope{Run: s.state().Current().ID, Data: events.CancelRequested{Reason: "enough"}})
	require.NoError(t, err)
	log.read.Store(0)
	s.unread.Store(true) // as whoever listens does
	made := 0
	require.NoError(t, s.Do(func(tx *thread.Tx) {
		made++
		require.NotNil(t, tx.Run.CancelRequested)
		tx.Emit("", "", events.Warning{Code: "test"})
	}))
	require.Equal(t, 1, made)
	require.EqualValues(t, 2, log.read.Load(), "it, and the event before it: the thread is not folded again")
}
