package eventstest

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
)

// Proves R12, R66: what is appended is read back whole, in its place.
func testAppend(t *testing.T, f *fixture) {
	key, run := newKey(), newRun()
	epoch, err := f.Claim(f.ctx, key, "tester", false)
	require.NoError(t, err)
	cost := 0.25
	envs := []events.Envelope{
		{Run: run, Data: events.WorkflowStarted{Message: "Kyoto <&> \u2028 京都 🦊", Config: json.RawMessage(`{"a":[1,"<"]}`)}},
		{Run: run, Agent: "food", Dispatch: "d1", Data: events.ModelCalled{ID: "d1.1", Model: "m", CostUSD: &cost}},
	}
	require.NoError(t, f.Append(f.ctx, key, epoch, 0, envs))
	for i, env := range envs {
		require.Equal(t, key, env.Key(), "the caller's envelopes are filled in")
		require.Equal(t, events.Seq(i+1), env.Seq)
	}
	require.Equal(t, envs, f.all(key))
}

func testAppendAtomic(t *testing.T, f *fixture) {
	w := f.begin()
	require.Error(t, w.try(warning("fine"), nil, warning("fine too")))
	require.Len(t, f.all(w.key), 1)
	w.add(warning("next"))
	require.Len(t, f.all(w.key), 2)
}

func testConflict(t *testing.T, f *fixture) {
	w := f.begin()
	w.add(warning("second"))
	for _, after := range []events.Seq{0, 1, 3, 99, -1} {
		err := f.Append(f.ctx, w.key, w.epoch, after, []events.Envelope{{Run: w.run, Data: warning("astray")}})
		require.ErrorIs(t, err, events.ErrConflict, "after %d", after)
	}
	require.Len(t, f.all(w.key), 2)
}

func testFenced(t *testing.T, f *fixture) {
	w := f.begin()
	for _, epoch := range []events.Epoch{0, w.epoch - 1, w.epoch + 1} {
		err := f.Append(f.ctx, w.key, epoch, w.last, []events.Envelope{{Run: w.run, Data: warning("astray")}})
		require.ErrorIs(t, err, events.ErrFenced, "epoch %d", epoch)
	}
	err := f.Append(f.ctx, newKey(), 1, 0, []events.Envelope{{Run: w.run, Data: warning("astray")}})
	require.ErrorIs(t, err, events.ErrFenced, "a thread that was never claimed")
	require.Len(t, f.all(w.key), 1)
}

func testAppendNothing(t *testing.T, f *fixture) {
	w := f.begin()
	w.add()
	require.Len(t, f.all(w.key), 1)
}

func testTime(t *testing.T, f *fixture) {
	w := f.claim(newKey())
	noon := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	tokyo := time.FixedZone("JST", 9*3600)
	envs := []events.Envelope{
		{Run: w.run, Time: noon.In(tokyo), Data: warning("noon")},
		{Run: w.run, Time: noon.Add(-time.Hour), Data: warning("back")},
		{Run: w.run, Time: noon.Add(time.Nanosecond), Data: warning("on")},
	}
	require.NoError(t, f.Append(f.ctx, w.key, w.epoch, 0, envs))
	more := []events.Envelope{{Run: w.run, Time: noon, Data: warning("back again")}}
	require.NoError(t, f.Append(f.ctx, w.key, w.epoch, 3, more))
	_, err := f.Post(f.ctx, w.key, events.Envelope{Run: w.run, Time: noon, Data: events.CancelRequested{}})
	require.NoError(t, err)
	require.NoError(t, f.Append(f.ctx, w.key, w.epoch, 5, []events.Envelope{{Run: w.run, Data: warning("now")}}))

	got := f.all(w.key)
	require.Len(t, got, 6)
	later := noon.Add(time.Nanosecond)
	for i, want := range []time.Time{noon, noon, later, later, later} {
		require.Equal(t, want, got[i].Time, "event %d", i+1)
	}
	require.WithinDuration(t, time.Now(), got[5].Time, time.Minute, "a zero time is now")
}

// Of two who append behind the same event one is granted.
func testAppendRace(t *testing.T, f *fixture) {
	w := f.begin()
	const writers, rounds = 4, 20
	var granted sync.Map
	var wg sync.WaitGroup
	for n := range writers {
		wg.Go(func() {
			for round := range rounds {
				err := f.Append(f.ctx, w.key, w.epoch, events.Seq(1+round),
					[]events.Envelope{{Run: w.run, Data: warning("writer %d", n)}})
				if err == nil {
					_, twice := granted.LoadOrStore(round, n)
					require.False(t, twice)
				} else {
					require.ErrorIs(t, err, events.ErrConflict)
				}
				require.NoError(t, f.Wait(f.ctx, w.key, events.Seq(1+round)))
			}
		})
	}
	wg.Wait()
	envs := f.all(w.key)
	require.Len(t, envs, 1+rounds)
	f.contiguous(envs, 1)
	for round := range rounds {
		n, ok := granted.Load(round)
		require.True(t, ok)
		require.Equal(t, warning("writer %d", n), envs[1+round].Data)
	}
}

// Appends of many runs may share a commit: those that are fenced or late, take
// none of their neighbours with them.
func testRefusedAlone(t *testing.T, f *fixture) {
	const runs, rounds = 8, 15
	var wg sync.WaitGroup
	for range runs {
		w := f.begin()
		wg.Go(func() {
			for range rounds {
				if err := w.try(warning("fine")); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
		wg.Go(func() {
			astray := []events.Envelope{{Run: w.run, Data: warning("astray")}}
			for range rounds {
				if err := f.Append(f.ctx, w.key, w.epoch-1, 1, astray); !errors.Is(err, events.ErrFenced) {
					t.Errorf("a dead epoch: %v", err)
				}
				if err := f.Append(f.ctx, w.key, w.epoch, 0, astray); !errors.Is(err, events.ErrConflict) {
					t.Errorf("a late append: %v", err)
				}
			}
		})
		t.Cleanup(func() { require.Len(t, f.all(w.key), 1+rounds) })
	}
	wg.Wait()
}

// Proves R73 (its claims).
func testClaim(t *testing.T, f *fixture) {
	key := newKey()
	owner, _, err := f.Holder(f.ctx, key)
	require.NoError(t, err)
	require.Empty(t, owner, "a thread that does not exist has no holder")

	before := time.Now().Add(-time.Second)
	first, err := f.Claim(f.ctx, key, "alice", false)
	require.NoError(t, err)
	_, err = f.Claim(f.ctx, key, "bob", false)
	require.ErrorIs(t, err, events.ErrHeld)
	var held *events.HeldError
	require.True(t, errors.As(err, &held))
	require.Equal(t, events.Owner("alice"), held.Owner)
	require.WithinRange(t, held.Since, before, time.Now().Add(time.Second))
	owner, since, err := f.Holder(f.ctx, key)
	require.NoError(t, err)
	require.Equal(t, held.Owner, owner)
	require.Equal(t, held.Since, since)

	second, err := f.Claim(f.ctx, key, "alice", false)
	require.NoError(t, err, "an owner may claim again")
	require.Greater(t, second, first)
	err = f.Append(f.ctx, key, first, 0, []events.Envelope{{Data: warning("late")}})
	require.ErrorIs(t, err, events.ErrFenced, "its older claim is over then")
	require.NoError(t, f.Append(f.ctx, key, second, 0, []events.Envelope{{Data: warning("on time")}}))
}

func testTakeOver(t *testing.T, f *fixture) {
	w := f.begin()
	epoch, err := f.Claim(f.ctx, w.key, "other", true)
	require.NoError(t, err)
	require.Greater(t, epoch, w.epoch)
	require.ErrorIs(t, w.try(warning("late")), events.ErrFenced)
	require.NoError(t, f.Release(f.ctx, w.key, w.epoch), "releasing a lost claim is no error")
	owner, _, err := f.Holder(f.ctx, w.key)
	require.NoError(t, err)
	require.Equal(t, events.Owner("other"), owner, "and takes nothing from the new owner")
	require.NoError(t, f.Append(f.ctx, w.key, epoch, w.last, []events.Envelope{{Run: w.run, Data: warning("mine")}}))
}

func testRelease(t *testing.T, f *fixture) {
	w := f.begin()
	require.NoError(t, f.Release(f.ctx, w.key, w.epoch))
	require.NoError(t, f.Release(f.ctx, w.key, w.epoch), "twice is fine")
	require.NoError(t, f.Release(f.ctx, newKey(), 1), "a thread that does not exist is fine")
	owner, _, err := f.Holder(f.ctx, w.key)
	require.NoError(t, err)
	require.Empty(t, owner)
	require.ErrorIs(t, w.try(warning("late")), events.ErrFenced)
	epoch, err := f.Claim(f.ctx, w.key, "other", false)
	require.NoError(t, err)
	require.Greater(t, epoch, w.epoch)
	require.NoError(t, f.Append(f.ctx, w.key, epoch, w.last, []events.Envelope{{Run: w.run, Data: warning("mine")}}))
}

func testFirstAndLast(t *testing.T, f *fixture) {
	key, run := newKey(), events.RunID("run-of-"+newKey().Thread)
	start := []events.Envelope{{Run: run, Data: events.WorkflowStarted{Message: "plan", Team: "trip"}}, {Run: run, Data: warning("one")}}
	epoch, err := f.AppendFirst(f.ctx, key, "alice", start)
	require.NoError(t, err)
	require.Equal(t, start, f.all(key))
	owner, _, err := f.Holder(f.ctx, key)
	require.NoError(t, err)
	require.Equal(t, events.Owner("alice"), owner)
	_, err = f.AppendFirst(f.ctx, key, "alice", []events.Envelope{{Run: run, Data: warning("again")}})
	require.ErrorIs(t, err, events.ErrConflict, "it has events")
	require.NoError(t, f.Append(f.ctx, key, epoch, 2, []events.Envelope{{Run: run, Data: warning("two")}}), "and that took nothing from its holder")

	last := []events.Envelope{{Run: run, Data: events.WorkflowFinished{Status: events.StatusCompleted}}}
	require.ErrorIs(t, f.AppendLast(f.ctx, key, epoch, 2, last), events.ErrConflict)
	require.ErrorIs(t, f.AppendLast(f.ctx, key, epoch+1, 3, last), events.ErrFenced)
	require.NoError(t, f.Append(f.ctx, key, epoch, 3, []events.Envelope{{Run: run, Data: warning("three")}}), "what was refused released nothing")
	require.NoError(t, f.AppendLast(f.ctx, key, epoch, 4, last))
	require.Len(t, f.all(key), 5)
	owner, _, err = f.Holder(f.ctx, key)
	require.NoError(t, err)
	require.Empty(t, owner)
	require.ErrorIs(t, f.Append(f.ctx, key, epoch, 5, []events.Envelope{{Run: run, Data: warning("late")}}), events.ErrFenced)
	next, err := f.Claim(f.ctx, key, "bob", false)
	require.NoError(t, err)
	require.Greater(t, next, epoch)
	require.NoError(t, f.AppendLast(f.ctx, key, next, 5, nil), "nothing more, and released")
	owner, _, err = f.Holder(f.ctx, key)
	require.NoError(t, err)
	require.Empty(t, owner)

	empty := newKey()
	_, err = f.Claim(f.ctx, empty, "bob", false)
	require.NoError(t, err)
	_, err = f.AppendFirst(f.ctx, empty, "alice", start)
	require.ErrorIs(t, err, events.ErrHeld)
	require.Empty(t, f.all(empty))
	_, err = f.AppendFirst(f.ctx, empty, "", start)
	require.Error(t, err)
}

func testClaimInput(t *testing.T, f *fixture) {
	for _, key := range []events.ThreadKey{{}, {Tenant: "t"}, {Thread: "t"}} {
		_, err := f.Claim(f.ctx, key, "tester", false)
		require.Error(t, err)
	}
	_, err := f.Claim(f.ctx, newKey(), "", false)
	require.Error(t, err)
}

func testPost(t *testing.T, f *fixture) {
	w := f.begin()
	seq, err := f.Post(f.ctx, w.key, events.Envelope{Run: w.run, Data: events.UserMessage{Content: "and sushi"}})
	require.NoError(t, err)
	require.Equal(t, events.Seq(2), seq)
	require.ErrorIs(t, w.try(warning("unaware")), events.ErrConflict)
	w.last = seq
	w.add(warning("aware"))
	got := f.all(w.key)
	require.Len(t, got, 3)
	require.Equal(t, events.UserMessage{Content: "and sushi"}, got[1].Data)
	require.Equal(t, w.key, got[1].Key())

	require.NoError(t, f.Release(f.ctx, w.key, w.epoch))
	seq, err = f.Post(f.ctx, w.key, events.Envelope{Run: w.run, Data: events.CancelRequested{}})
	require.NoError(t, err, "nobody needs to hold the thread")
	require.Equal(t, events.Seq(4), seq)
}

func testPostToFinishedRun(t *testing.T, f *fixture) {
	w := f.begin()
	w.add(events.WorkflowFinished{Status: events.StatusCompleted})
	for range 2 { // what the log keeps in memory, and what it reads
		_, err := f.Post(f.ctx, w.key, events.Envelope{Run: w.run, Data: events.CancelRequested{}})
		require.ErrorIs(t, err, events.ErrRunOver)
		require.Len(t, f.all(w.key), 2, "workflow_finished is the last")
		require.NoError(t, f.Release(f.ctx, w.key, w.epoch))
	}
}

func testPostKinds(t *testing.T, f *fixture) {
	w := f.begin()
	for kind, fact := range Samples() {
		_, err := f.Post(f.ctx, w.key, events.Envelope{Run: w.run, Data: fact})
		if slices.Contains([]events.Kind{events.KindCancelRequested, events.KindHandoffExitRequested, events.KindPermissionDenied, events.KindAudited}, kind) {
			require.NoError(t, err)
		} else { // the sample of user_message is the engine's
			require.ErrorIs(t, err, events.ErrNotPosted, kind)
		}
	}
	_, err := f.Post(f.ctx, w.key, events.Envelope{Run: w.run})
	require.ErrorIs(t, err, events.ErrNotPosted)
	_, err = f.Post(f.ctx, w.key, events.Envelope{Run: w.run, Data: events.UserMessage{Content: "what a person says"}})
	require.NoError(t, err)
	require.Len(t, f.all(w.key), 6)

	_, err = f.Post(f.ctx, newKey(), events.Envelope{Data: events.CancelRequested{}})
	require.ErrorIs(t, err, events.ErrNotFound)
	empty := f.claim(newKey())
	_, err = f.Post(f.ctx, empty.key, events.Envelope{Data: events.CancelRequested{}})
	require.ErrorIs(t, err, events.ErrNotFound, "a thread without events")
}
