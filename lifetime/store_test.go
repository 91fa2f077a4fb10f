package lifetime_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

// store is a log in a file.
type store struct {
	*sqlite.Log
	dir string
}

func newStore(t *testing.T) *store {
	t.Helper()
	dir := t.TempDir()
	log, err := sqlite.Open(t.Context(), filepath.Join(dir, "convene.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	return &store{log, dir}
}

// bytes is all that stands in the files of the store.
func (s *store) bytes(t *testing.T) (all []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "*"))
	require.NoError(t, err)
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.IsDir() {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all = append(all, text...)
	}
	require.NotEmpty(t, all)
	return all
}

// runID gives the id of a run that started then.
func runID(at time.Time) events.RunID {
	id := uuid.Must(uuid.NewV7())
	ms := uint64(at.UnixMilli()) //nolint:gosec // it is after 1970
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	return events.RunID(id.String())
}

// spec is a thread to be written.
type spec struct {
	tenant events.TenantID
	at     time.Time
	// held leaves it in the hands of whoever wrote it.
	held bool
	// files come with the first run, which an event behind its start says.
	files []string
	// data are its events, each a minute after the one before. Messages and what is said of a
	// batch belong to no run.
	data []events.Event
}

func (s spec) write(t *testing.T, log events.Log) (key events.ThreadKey, files []events.ArtifactID) {
	t.Helper()
	key = events.ThreadKey{Tenant: s.tenant, Thread: events.ThreadID(uuid.NewString())}
	epoch, err := log.Claim(t.Context(), key, "tester", false)
	require.NoError(t, err)
	var envs []events.Envelope
	run := runID(s.at)
	add := func(run events.RunID, event events.Event) {
		envs = append(envs, events.Envelope{Time: s.at.Add(time.Duration(len(envs)) * time.Minute), Run: run, Data: event})
	}
	for _, event := range s.data {
		switch event.(type) {
		case events.UserMessage, events.BatchStarted, events.BatchEnded:
			add("", event)
			continue
		}
		add(run, event)
		if _, started := event.(events.WorkflowStarted); !started || files != nil {
			continue
		}
		for i, content := range s.files {
			id, err := log.PutArtifact(t.Context(), key, epoch, []byte(content))
			require.NoError(t, err)
			files = append(files, id)
			add(run, events.ArtifactCreated{
				Artifact: id, Name: fmt.Sprintf("../%d.txt", i), MediaType: "text/plain", SizeBytes: int64(len(content)), Source: events.SourceFile,
			})
		}
	}
	require.NoError(t, log.Append(t.Context(), key, epoch, 0, envs))
	if !s.held {
		require.NoError(t, log.Release(t.Context(), key, epoch))
	}
	return key, files
}

// exists reports whether the log has a thread.
func exists(t *testing.T, log events.Reader, key events.ThreadKey) bool {
	t.Helper()
	tip, err := log.Last(t.Context(), key)
	require.NoError(t, err)
	return tip.Seq > 0
}

// ended ends a run with an answer.
func ended(answer string) []events.Event {
	return []events.Event{events.FinalAnswer{Content: answer}, events.WorkflowFinished{Status: events.StatusCompleted}}
}
