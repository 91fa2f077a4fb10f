package eventstest

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
)

func testReadPages(t *testing.T, f *fixture) {
	w := f.begin()
	const total = 1200 // more than any page
	for len := 1; len < total; len += 100 {
		facts := make([]events.Event, min(100, total-len))
		for i := range facts {
			facts[i] = warning("event")
		}
		w.add(facts...)
	}
	envs := f.all(w.key)
	require.Len(t, envs, total)
	f.contiguous(envs, 1)
	for _, page := range []struct {
		after events.Seq
		limit int
		want  int
	}{{0, 1, 1}, {10, 5, 5}, {total - 3, 10, 3}, {total, 1, 0}, {total + 5, 0, 0}, {total - 700, 600, 600}, {-4, 2, 2}} {
		envs, err := f.Read(f.ctx, w.key, page.after, page.limit)
		require.NoError(t, err)
		require.Len(t, envs, page.want, "%+v", page)
		f.contiguous(envs, max(page.after, 0)+1)
	}
	none, err := f.Read(f.ctx, newKey(), 0, 0)
	require.NoError(t, err)
	require.Empty(t, none, "a thread that does not exist")
}

func testReadEncoded(t *testing.T, f *fixture) {
	w := f.begin()
	w.add(slices.Collect(maps.Values(Samples()))...)
	encoded, err := f.ReadEncoded(f.ctx, w.key, 1, 0)
	require.NoError(t, err)
	envs, err := f.Read(f.ctx, w.key, 1, 0)
	require.NoError(t, err)
	require.Len(t, encoded, len(envs))
	for i, env := range envs {
		body, err := events.Encode(env)
		require.NoError(t, err)
		require.Equal(t, string(body), string(encoded[i].Body))
		require.Equal(t, env.Seq, encoded[i].Seq)
		require.Equal(t, env.Data.Kind(), events.EncodedKind(body))
	}
	page, err := f.ReadEncoded(f.ctx, w.key, 2, 3)
	require.NoError(t, err)
	require.Equal(t, encoded[1:4], page)
}

func testReadKinds(t *testing.T, f *fixture) {
	w := f.begin()
	const rounds = 400 // more than a page
	var want []events.Seq
	for i := range rounds {
		w.add(warning("event %d", i), events.UserMessage{Content: "said"}, events.Warning{Code: "x", Message: `,"type":"user_message"`})
		want = append(want, w.last-1)
	}
	seqs := func(after events.Seq, limit int, kinds ...events.Kind) (seqs []events.Seq) {
		t.Helper()
		envs, err := f.Read(f.ctx, w.key, after, limit, kinds...)
		require.NoError(t, err)
		encoded, err := f.ReadEncoded(f.ctx, w.key, after, limit, kinds...)
		require.NoError(t, err)
		require.Len(t, encoded, len(envs))
		for i, env := range envs {
			require.Contains(t, kinds, env.Data.Kind())
			require.Equal(t, env.Seq, encoded[i].Seq)
			seqs = append(seqs, env.Seq)
		}
		return seqs
	}
	require.Equal(t, want, seqs(0, 0, events.KindUserMessage))
	require.Equal(t, want[:7], seqs(0, 7, events.KindUserMessage))
	require.Equal(t, want[rounds-1:], seqs(want[rounds-2], 7, events.KindUserMessage))
	require.Equal(t, append([]events.Seq{1}, want...), seqs(0, 0, events.KindWorkflowStarted, events.KindUserMessage))
	require.Empty(t, seqs(0, 0, events.KindFinalAnswer))
	require.Empty(t, seqs(w.last, 0, events.KindUserMessage))
	none, err := f.Read(f.ctx, newKey(), 0, 0, events.KindUserMessage)
	require.NoError(t, err)
	require.Empty(t, none, "a thread that does not exist")
}

func testWaitKinds(t *testing.T, f *fixture) {
	w := f.begin()
	require.NoError(t, f.Wait(f.ctx, w.key, 0, events.KindWorkflowStarted), "what is there already")
	woken := make(chan error, 1)
	wait := func(after events.Seq) {
		go func() { woken <- f.Wait(f.ctx, w.key, after, events.KindUserMessage, events.KindCancelRequested) }()
	}
	wait(0)
	f.sleepsOn(woken)
	w.add(warning("something else"))
	f.sleepsOn(woken)
	_, err := f.Post(f.ctx, w.key, events.Envelope{Run: w.run, Data: events.CancelRequested{}})
	require.NoError(t, err)
	require.NoError(t, f.receive(woken))
	require.NoError(t, f.Wait(f.ctx, w.key, 0, events.KindCancelRequested), "behind others")
	w.last++

	wait(w.last)
	w.add(warning("something else"), events.UserMessage{Content: "said"}, warning("more"))
	require.NoError(t, f.receive(woken), "among others")

	w.add(events.WorkflowFinished{Status: events.StatusCompleted})
	wait(w.last)
	f.sleepsOn(woken)
	require.NoError(t, f.Release(f.ctx, w.key, w.epoch))
	require.NoError(t, f.Remove(f.ctx, w.key))
	require.ErrorIs(t, f.receive(woken), events.ErrNotFound)
}

func testWait(t *testing.T, f *fixture) {
	w := f.begin()
	require.NoError(t, f.Wait(f.ctx, w.key, 0), "what is there already")
	woken := make(chan error, 1)
	go func() { woken <- f.Wait(f.ctx, w.key, 2) }()
	f.sleepsOn(woken)
	w.add(warning("not yet"))
	f.sleepsOn(woken)
	w.add(warning("now"))
	require.NoError(t, f.receive(woken))

	unborn := newKey()
	go func() { woken <- f.Wait(f.ctx, unborn, 0) }()
	f.sleepsOn(woken)
	f.claim(unborn).add(warning("born"))
	require.NoError(t, f.receive(woken), "a thread that did not exist")
}

// sleepsOn insists that nothing comes for a moment.
func (f *fixture) sleepsOn(woken <-chan error) {
	f.Helper()
	select {
	case err := <-woken:
		require.Fail(f, "woken too early", "%v", err)
	case <-time.After(30 * time.Millisecond):
	}
}

func (f *fixture) receive(woken <-chan error) error {
	f.Helper()
	select {
	case err := <-woken:
		return err
	case <-f.ctx.Done():
		require.Fail(f, "never woken")
		return nil
	}
}

func testWaitCancelled(t *testing.T, f *fixture) {
	w := f.begin()
	ctx, cancel := context.WithCancel(f.ctx)
	woken := make(chan error, 1)
	go func() { woken <- f.Wait(ctx, w.key, 1) }()
	f.sleepsOn(woken)
	cancel()
	require.ErrorIs(t, f.receive(woken), context.Canceled)
}

func testFollow(t *testing.T, f *fixture) {
	w := f.begin()
	const total = 300
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			var got []events.Envelope
			for env, err := range events.Follow(f.ctx, f.Log, w.key, 0) {
				if !(err == nil) {
					t.Errorf("follow: %v", err)
					return
				}
				if got = append(got, env); len(got) == total {
					break
				}
			}
			f.contiguous(got, 1)
		})
	}
	for w.last < total {
		w.add(warning("event"), warning("event"))
		if w.last >= total-1 {
			break
		}
	}
	w.add(warning("last"))
	wg.Wait()
}

// Who follows a quiet thread costs next to nothing.
func testFollowIdle(t *testing.T, f *fixture) {
	w := f.begin()
	counting := &countingLog{Log: f.Log}
	ctx, cancel := context.WithTimeout(f.ctx, 300*time.Millisecond)
	defer cancel()
	for _, err := range events.Follow(ctx, counting, w.key, 0) {
		if err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
	}
	require.LessOrEqual(t, counting.reads, 5)
}

type countingLog struct {
	events.Log
	reads int
}

func (c *countingLog) Read(ctx context.Context, key events.ThreadKey, after events.Seq, limit int, kinds ...events.Kind) ([]events.Envelope, error) {
	c.reads++
	return c.Log.Read(ctx, key, after, limit, kinds...)
}

func testTail(t *testing.T, f *fixture) {
	const writers, each = 6, 60
	want := writers * (each + 1)
	var wg sync.WaitGroup
	for range writers {
		w := f.begin()
		wg.Go(func() {
			for i := range each {
				if err := w.try(warning("event %d", i)); err != nil {
					t.Errorf("append: %v", err)
				}
				runtime.Gosched()
			}
		})
	}
	seen := map[events.ThreadKey]events.Seq{}
	count, cursor := 0, events.Cursor("")
	for count < want {
		// Restarted after every 37 events, as a reader would that dies.
		for item, err := range f.Tail(f.ctx, events.TailFilter{}, cursor) {
			require.NoError(t, err)
			key := item.Envelope.Key()
			require.Equal(t, seen[key]+1, item.Envelope.Seq, "each event of a thread once and in order")
			seen[key], cursor = item.Envelope.Seq, item.Cursor
			if count++; count%37 == 0 || count == want {
				break
			}
		}
	}
	wg.Wait()
	require.Len(t, seen, writers)
}

func testTailFilter(t *testing.T, f *fixture) {
	w := f.begin()
	other := f.claim(events.ThreadKey{Tenant: "other", Thread: newKey().Thread})
	other.add(events.WorkflowStarted{}, warning("theirs"))
	w.add(warning("ours"), events.FinalAnswer{Content: "ours"}, warning("ours too"))
	filter := events.TailFilter{Tenant: events.LocalTenant, Kinds: []events.Kind{events.KindWarning, events.KindFinalAnswer}}
	require.Equal(t, []events.Event{warning("ours"), events.FinalAnswer{Content: "ours"}, warning("ours too")}, f.tail(filter, 3))
	require.Len(t, f.tail(events.TailFilter{Tenant: "other"}, 2), 2)
	require.Len(t, f.tail(events.TailFilter{}, 6), 6)
}

// A tail of the past ends where the log does; one from a time on has all from then on, the
// copies included that a fork made of older events.
func testTailPast(t *testing.T, f *fixture) {
	for item, err := range f.Tail(f.ctx, events.TailFilter{From: time.Now(), Past: true}, "") {
		require.NoError(t, err)
		require.Nil(t, item.Envelope.Data, "the log is empty")
	}
	yesterday := time.Now().Add(-24 * time.Hour).UTC()
	old := f.begin()
	for range 3 {
		envs := make([]events.Envelope, 400)
		for i := range envs {
			envs[i] = events.Envelope{Run: old.run, Time: yesterday, Data: warning("old")}
		}
		w := f.claim(newKey())
		require.NoError(t, w.Append(f.ctx, w.key, w.epoch, 0, append([]events.Envelope{{Run: w.run, Time: yesterday, Data: events.WorkflowStarted{}}}, envs...)))
	}
	w := f.begin()
	w.add(warning("today"))
	for range 2 { // as forks are
		envs := make([]events.Envelope, 700)
		for i := range envs {
			envs[i] = events.Envelope{Run: w.run, Time: yesterday, Data: warning("copied")}
		}
		w := f.claim(newKey())
		began := events.WorkflowStarted{ForkedFrom: &events.ForkOrigin{Run: "other"}}
		require.NoError(t, w.Append(f.ctx, w.key, w.epoch, 0, append([]events.Envelope{{Run: w.run, Time: yesterday, Data: began}}, envs...)))
	}
	past := func(filter events.TailFilter, cursor events.Cursor) (count int, seen bool, end events.Cursor) {
		filter.Past = true
		for item, err := range f.Tail(f.ctx, filter, cursor) {
			require.NoError(t, err)
			require.Empty(t, end)
			if item.Envelope.Data == nil {
				end = item.Cursor
				continue
			}
			seen = seen || item.Envelope.Data == warning("today")
			count++
		}
		require.NotEmpty(t, end)
		return count, seen, end
	}
	all, seen, end := past(events.TailFilter{}, "")
	require.True(t, seen)
	require.Equal(t, 1+3*401+2+2*701, all)
	some, seen, same := past(events.TailFilter{From: time.Now().Add(-time.Hour)}, "")
	require.True(t, seen)
	require.LessOrEqual(t, some, all)
	t.Logf("%d of %d events", some, all)
	require.Equal(t, end, same)
	_, seen, _ = past(events.TailFilter{From: time.Now().Add(-time.Hour), Kinds: []events.Kind{events.KindFinalAnswer}}, "")
	require.False(t, seen)
	w.add(warning("2"))
	count, _, _ := past(events.TailFilter{From: time.Now()}, end)
	require.Equal(t, 1, count)
}

// tail gives the first n events, and insists that no more come at once.
func (f *fixture) tail(filter events.TailFilter, n int) (got []events.Event) {
	f.Helper()
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	for item, err := range f.Tail(ctx, filter, "") {
		if err != nil {
			require.ErrorIs(f, err, context.Canceled)
			break
		}
		got = append(got, item.Envelope.Data)
		if len(got) == n {
			time.AfterFunc(50*time.Millisecond, cancel)
		}
	}
	return got
}

func testTailCursor(t *testing.T, f *fixture) {
	w := f.begin()
	w.add(warning("2"), warning("3"), warning("4"))
	var cursors []events.Cursor
	for item, err := range f.Tail(f.ctx, events.TailFilter{}, "") {
		require.NoError(t, err)
		if cursors = append(cursors, item.Cursor); len(cursors) == 4 {
			break
		}
	}
	time.AfterFunc(20*time.Millisecond, func() { _ = w.try(warning("5")) })
	for i, cursor := range cursors {
		for item, err := range f.Tail(f.ctx, events.TailFilter{}, cursor) {
			require.NoError(t, err)
			require.Equal(t, events.Seq(i+2), item.Envelope.Seq)
			break
		}
	}
}

// A follower who is new begins at the end of the log, and goes on where it was.
func testBookmarks(t *testing.T, f *fixture) {
	w := f.begin()
	next := func(name string) events.TailItem {
		cursor, err := f.Bookmark(f.ctx, name)
		require.NoError(t, err)
		for item, err := range f.Tail(f.ctx, events.TailFilter{}, cursor) {
			require.NoError(t, err)
			return item
		}
		return events.TailItem{}
	}
	_, err := f.Bookmark(f.ctx, "a")
	require.NoError(t, err)
	w.add(warning("2"), warning("3"))
	item := next("a")
	require.Equal(t, events.Seq(2), item.Envelope.Seq, "what came before the bookmark was made is left out")
	require.Equal(t, item, next("a"), "it stays until it is moved")
	require.NoError(t, f.SetBookmark(f.ctx, "a", item.Cursor))
	require.NoError(t, f.SetBookmark(f.ctx, "from the beginning", ""))
	require.Equal(t, events.Seq(3), next("a").Envelope.Seq)
	require.Equal(t, events.Seq(1), next("from the beginning").Envelope.Seq)
	_, err = f.Bookmark(f.ctx, "b")
	require.NoError(t, err)
	w.add(warning("4"))
	require.Equal(t, events.Seq(4), next("b").Envelope.Seq)
	require.Equal(t, events.Seq(3), next("a").Envelope.Seq)
}

func testTailForeignCursor(t *testing.T, f *fixture) {
	f.begin()
	for _, cursor := range []events.Cursor{"nonsense", "-3", "99999999"} {
		items := 0
		for _, err := range f.Tail(f.ctx, events.TailFilter{}, cursor) {
			require.ErrorIs(t, err, events.ErrCursor)
			items++
		}
		require.Equal(t, 1, items)
	}
}

func testTailCancelled(t *testing.T, f *fixture) {
	f.begin()
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	var last error
	for _, err := range f.Tail(ctx, events.TailFilter{}, "") {
		last = err
		time.AfterFunc(10*time.Millisecond, cancel)
	}
	require.ErrorIs(t, last, context.Canceled)
}

func testCloseWaiting(t *testing.T, f *fixture) {
	w := f.begin()
	woken := make(chan error, 2)
	go func() { woken <- f.Wait(f.ctx, w.key, 1) }()
	go func() {
		for _, err := range f.Tail(f.ctx, events.TailFilter{}, "") {
			if err != nil {
				woken <- err
			}
		}
	}()
	f.sleepsOn(woken)
	require.NoError(t, f.Close())
	require.ErrorIs(t, f.receive(woken), events.ErrClosed)
	require.ErrorIs(t, f.receive(woken), events.ErrClosed)
	require.NoError(t, f.Close(), "twice is fine")
}
