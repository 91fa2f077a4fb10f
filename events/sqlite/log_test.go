package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

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
