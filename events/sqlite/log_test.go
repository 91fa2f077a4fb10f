package sqlite_test

import (
	"context"
	"path/filepath"
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

func open(t testing.TB, path string) *sqlite.Log {
	t.Helper()
	log, err := sqlite.Open(context.Background(), path)
	require.NoError(t, err)
	return log
}

func BenchmarkLog(b *testing.B) {
	eventstest.Benchmark(b, func(b *testing.B) events.Log { return open(b, filepath.Join(b.TempDir(), "convene.db")) })
}
