package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/eventstest"
	"github.com/convene-run/convene/events/sqlite"
)

// Proves R12, R66, R73 for the SQLite log.
func TestLog(t *testing.T) {
	eventstest.Run(t, func(t *testing.T) events.Log { return open(t, filepath.Join(t.TempDir(), "convene.db")) })
}

// A log knows the threads that it appends to until somebody else commits: its own commits
// are none of another's.
func TestOwnCommitsAreKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log, other := open(t, path), open(t, path)
	defer func() { require.NoError(t, errors.Join(log.Close(), other.Close())) }()
	epoch, err := log.AppendFirst(t.Context(), key("t"), "o", []events.Envelope{{Run: "r", Data: events.WorkflowStarted{}}})
	require.NoError(t, err)
	before := log.Looks()
	for seq := range events.Seq(3) {
		require.NoError(t, log.Append(t.Context(), key("t"), epoch, seq+1, []events.Envelope{{Run: "r", Data: events.Warning{}}}))
	}
	require.Equal(t, before, log.Looks())

	_, err = other.Claim(t.Context(), key("t"), "another", true)
	require.NoError(t, err)
	require.Greater(t, log.Looks(), before)
	require.ErrorIs(t, log.Append(t.Context(), key("t"), epoch, 4, []events.Envelope{{Run: "r", Data: events.Warning{}}}), events.ErrFenced)
}

// Who waits for more of a thread that is claimed here reads nothing, for this process knows its
// end, unless somebody else has posted into it.
func TestWaitKnowsTheEnd(t *testing.T) {
	started := []events.Envelope{{Run: "r", Data: events.WorkflowStarted{}}}
	path := filepath.Join(t.TempDir(), "convene.db")
	synctest.Test(t, func(t *testing.T) {
		log := open(t, path)
		defer func() { require.NoError(t, log.Close()) }()
		_, err := log.AppendFirst(t.Context(), key("t"), "o", started)
		require.NoError(t, err)
		done := make(chan error)
		go func() { done <- log.Wait(t.Context(), key("t"), 1, events.PostedKinds()...) }()
		synctest.Wait()
		require.False(t, log.HasReadEnd())
		_, err = log.Post(t.Context(), key("t"), events.Envelope{Data: events.UserMessage{}})
		require.NoError(t, err)
		require.NoError(t, <-done)
		require.NoError(t, log.Wait(t.Context(), key("t"), 1, events.PostedKinds()...), "it is there already")
	})
	log, other := open(t, path), open(t, path)
	defer func() { require.NoError(t, errors.Join(log.Close(), other.Close())) }()
	for _, name := range []events.ThreadID{"nobody waits", "somebody waits"} {
		_, err := log.AppendFirst(t.Context(), key(name), "o", started)
		require.NoError(t, err)
		if name == "somebody waits" {
			_, stop := log.Watch(key("elsewhere"))
			defer stop()
		}
		_, err = other.Post(t.Context(), key(name), events.Envelope{Data: events.UserMessage{}})
		require.NoError(t, err)
		log.Looks() // they are seen before anybody waits for them
		require.NoError(t, log.Wait(t.Context(), key(name), 1, events.PostedKinds()...))
	}
}

func open(t testing.TB, path string) *sqlite.Log {
	t.Helper()
	log, err := sqlite.Open(context.Background(), path)
	require.NoError(t, err)
	return log
}

func BenchmarkLog(b *testing.B) {
	eventstest.Benchmark(b, func(b *testing.B) events.Log { return open(b, filepath.Join(b.TempDir(), "convene.db")) })
}

// BenchmarkRead reads a thread of 500 events of some 700 bytes, as bytes and decoded.
func BenchmarkRead(b *testing.B) {
	log := open(b, filepath.Join(b.TempDir(), "convene.db"))
	defer func() { require.NoError(b, log.Close()) }()
	epoch, err := log.Claim(b.Context(), key("t"), "bench", false)
	require.NoError(b, err)
	envs := []events.Envelope{{Run: "r", Data: events.WorkflowStarted{}}}
	for range 499 {
		envs = append(envs, events.Envelope{Run: "r", Data: events.Warning{Message: strings.Repeat("nine char", 50)}})
	}
	require.NoError(b, log.Append(b.Context(), key("t"), epoch, 0, envs))
	b.Run("encoded", func(b *testing.B) {
		for b.Loop() {
			_, err := log.ReadEncoded(b.Context(), key("t"), 0, 0)
			require.NoError(b, err)
		}
	})
	b.Run("decoded", func(b *testing.B) {
		for b.Loop() {
			_, err := log.Read(b.Context(), key("t"), 0, 0)
			require.NoError(b, err)
		}
	})
}
