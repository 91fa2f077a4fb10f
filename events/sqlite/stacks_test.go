package sqlite_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
)

// Who appends keeps a small stack: thousands of agents that do it once in a while wait with
// that stack for the rest of the time.
func TestAppendsLeaveStacksSmall(t *testing.T) {
	race.Skip(t, "stacks are larger under the detector")
	const writers, atMost = 64, 40 << 10
	log := open(t, filepath.Join(t.TempDir(), "convene.db"))
	defer func() { require.NoError(t, log.Close()) }()
	errs, end := make(chan error, writers), make(chan struct{})
	defer close(end)
	before := stacks()
	for i := range writers {
		key := key(events.ThreadID(fmt.Sprint("t", i)))
		epoch, err := log.Claim(t.Context(), key, "owner", false)
		require.NoError(t, err)
		go func() {
			errs <- log.Append(t.Context(), key, epoch, 0, []events.Envelope{{Run: "r", Data: events.WorkflowStarted{Message: strings.Repeat("text ", 100)}}})
			<-end
		}()
	}
	for range writers {
		require.NoError(t, <-errs)
	}
	require.Less(t, int64(stacks()-before)/writers, int64(atMost))
}

// stacks gives the bytes that the stacks of all goroutines take.
func stacks() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.StackInuse
}
