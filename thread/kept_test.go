package thread_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// keepers are two processes that keep the folds of one thread, in a log that both write to.
type keepers struct {
	*rapid.T
	log  *events.Memory
	key  events.ThreadKey
	kept [2]*thread.Kept
	runs int
}

// write appends what a run begins or ends with, by one of them and through its fold. Where it
// is to fail the log does not take it.
func (k *keepers) write(by int, fails error) {
	epoch, err := k.log.Claim(context.Background(), k.key, events.Owner(fmt.Sprint(by)), true)
	require.NoError(k, err)
	err = k.kept[by].Use(context.Background(), k.key, func(th *thread.Thread) error {
		after, facts := th.Seq, []events.Envelope{k.next(th)}
		facts[0].Tenant, facts[0].Thread, facts[0].Seq, facts[0].Time = k.key.Tenant, k.key.Thread, after+1, th.Time
		if err := th.Apply(facts[0]); err != nil || fails != nil {
			return errors.Join(err, fails)
		}
		return k.log.Append(context.Background(), k.key, epoch, after, facts)
	})
	require.ErrorIs(k, err, fails)
	require.NoError(k, k.log.Release(context.Background(), k.key, epoch))
}

// next is an event that can come behind those of the thread.
func (k *keepers) next(th *thread.Thread) events.Envelope {
	current := th.Current()
	switch {
	case current == nil || current.Status.Over():
		k.runs++
		started := events.WorkflowStarted{Message: fmt.Sprint("request ", k.runs), Config: []byte(`{}`)}
		if current != nil {
			started.Follows = current.ID
		}
		return events.Envelope{Run: events.RunID(fmt.Sprint("r", k.runs)), Data: started}
	case current.FinalAnswer == nil:
		return events.Envelope{Run: current.ID, Data: events.FinalAnswer{Content: "answer to " + current.Started.Message}}
	}
	return events.Envelope{Run: current.ID, Data: events.WorkflowFinished{Status: events.StatusCompleted}}
}

// Whoever writes to a thread, posts to it, removes it and begins it anew, and whatever fails
// on the way: a fold that is kept is what the log gives.
func TestKept(t *testing.T) {
	failed := errors.New("no space left on the device")
	rapid.Check(t, func(rt *rapid.T) {
		log := events.NewMemory()
		k := &keepers{
			T: rt, log: log, key: events.ThreadKey{Tenant: events.LocalTenant, Thread: "t"},
			kept: [2]*thread.Kept{thread.NewKept(log), thread.NewKept(log)},
		}
		for i := range rapid.IntRange(1, 40).Draw(rt, "steps") {
			by := rapid.IntRange(0, 1).Draw(rt, "by")
			switch rapid.SampledFrom([]string{"write", "write", "write", "post", "fail", "remove", "forget", "panic"}).Draw(rt, "step") {
			case "write":
				k.write(by, nil)
			case "fail":
				k.write(by, failed)
			case "post":
				_, err := log.Post(context.Background(), k.key, events.Envelope{Data: events.UserMessage{
					MessageID: events.MessageID(fmt.Sprint("m", i)), Content: "hello", Delivery: events.DeliveryQueue,
				}})
				require.True(rt, err == nil || errors.Is(err, events.ErrNotFound))
			case "remove":
				_ = log.Remove(context.Background(), k.key) // refused while a run is under way
			case "forget":
				k.kept[by].Forget(k.key)
			case "panic":
				require.Panics(rt, func() {
					_ = k.kept[by].Use(context.Background(), k.key, func(*thread.Thread) error { panic("a defect") })
				})
			}
			fresh, err := thread.Load(context.Background(), log, k.key, 0)
			require.NoError(rt, err)
			for _, kept := range k.kept {
				if rapid.Bool().Draw(rt, "look") {
					require.NoError(rt, kept.Use(context.Background(), k.key, func(th *thread.Thread) error {
						require.True(rt, reflect.DeepEqual(fresh, th), "seq %d and %d", fresh.Seq, th.Seq)
						return nil
					}))
				}
			}
		}
	})
}

// counted counts the events that are read.
type counted struct {
	*events.Memory
	read int
}

func (c *counted) Read(ctx context.Context, key events.ThreadKey, after events.Seq, limit int, kinds ...events.Kind) ([]events.Envelope, error) {
	envs, err := c.Memory.Read(ctx, key, after, limit, kinds...)
	c.read += len(envs)
	return envs, err
}

// A thread is folded once: whoever asks again reads the newest event. Those that nobody uses
// take a bounded part of the memory.
func TestKeptIsBounded(t *testing.T) {
	memory, key := written(t, 1000)
	log := &counted{Memory: memory}
	kept := thread.NewKept(log)
	look := func(key events.ThreadKey) (read int) {
		log.read = 0
		require.NoError(t, kept.Use(t.Context(), key, func(*thread.Thread) error { return nil }))
		return log.read
	}
	require.Equal(t, 1000, look(key))
	require.Equal(t, 1, look(key))
	pinned := kept.Pin(key)
	large := events.ThreadKey{Tenant: events.LocalTenant, Thread: "large"}
	begin := func(key events.ThreadKey, message string) {
		epoch, err := log.Claim(t.Context(), key, "test", false)
		require.NoError(t, err)
		require.NoError(t, log.Append(t.Context(), key, epoch, 0, []events.Envelope{
			{Run: "r", Data: events.WorkflowStarted{Message: message}}, {Run: "r", Data: events.Warning{Code: "test"}},
		}))
	}
	for i := range 300 {
		other := key
		other.Thread += events.ThreadID(fmt.Sprint(i))
		begin(other, "Hello")
		require.Equal(t, 2, look(other))
	}
	require.Equal(t, 1, look(key), "somebody uses it")
	begin(large, strings.Repeat("x", 129<<20))
	require.Equal(t, 2, look(large))
	require.Equal(t, 2, look(large), "it is too large to be kept")
	newest := key
	newest.Thread += "299"
	require.Equal(t, 1, look(newest), "nor is another one let go for it")
	pinned.Unpin()
	require.Equal(t, 1, look(key))
	for i := range 300 {
		other := key
		other.Thread += events.ThreadID(fmt.Sprint(i))
		look(other)
	}
	require.Equal(t, 1000, look(key), "others were used after it")
}

// What an agent's own process did not write is told apart: somebody else drives the thread.
func TestKeptTellsOtherDrivers(t *testing.T) {
	log, key := written(t, 3)
	fold := thread.NewKept(log).Pin(key)
	defer fold.Unpin()
	foreign := func() (seq events.Seq) {
		require.NoError(t, fold.Use(t.Context(), func(*thread.Thread) error { seq = fold.Foreign(); return nil }))
		return seq
	}
	require.Zero(t, foreign(), "what was there before is nobody's news")
	_, err := log.Post(t.Context(), key, events.Envelope{Run: "r", Data: events.CancelRequested{}})
	require.NoError(t, err)
	require.Zero(t, foreign())
	epoch, err := log.Claim(t.Context(), key, "thief", true)
	require.NoError(t, err)
	require.NoError(t, log.Append(t.Context(), key, epoch, 4, []events.Envelope{{Run: "r", Data: events.RunResumed{Owner: "thief"}}}))
	require.EqualValues(t, 5, foreign())
}

// A post by the process that drives the thread comes before a decision or behind its commit,
// never between them, and the next decision knows it.
func TestKeptPostCrossesNoCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		kept := thread.NewKept(log)
		key := events.ThreadKey{Tenant: events.LocalTenant, Thread: "t"}
		epoch, err := log.Claim(t.Context(), key, "one", false)
		require.NoError(t, err)
		fold := kept.Pin(key)
		defer fold.Unpin()
		require.NoError(t, fold.Use(t.Context(), func(th *thread.Thread) error {
			started := []events.Envelope{{Tenant: key.Tenant, Thread: key.Thread, Run: "r1", Seq: 1, Data: events.WorkflowStarted{Message: "Help"}}}
			if err := th.Apply(started[0]); err != nil {
				return err
			}
			go func() {
				assert.NoError(t, kept.Post(context.Background(), key, func() error {
					_, err := log.Post(context.Background(), key, events.Envelope{Run: "r1", Data: events.CancelRequested{Reason: "enough"}})
					return err
				}))
			}()
			synctest.Wait() // the post could have come before this commit
			return log.Append(t.Context(), key, epoch, 0, started)
		}))
		synctest.Wait()
		require.NoError(t, fold.Known(t.Context(), func(th *thread.Thread) error {
			require.NotNil(t, th.Current().CancelRequested)
			require.EqualValues(t, 2, th.Seq)
			return nil
		}))
		failed := errors.New("no such run")
		require.ErrorIs(t, kept.Post(t.Context(), key, func() error { return failed }), failed)
	})
}
