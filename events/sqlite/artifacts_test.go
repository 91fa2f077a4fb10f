package sqlite_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/race"
)

// random gives bytes that nothing compresses or shares.
func random(size int) []byte {
	data := make([]byte, size)
	_, _ = rand.Read(data)
	return data
}

// keep puts bytes into a thread of that name, with a run that is over where it is named.
func keep(t *testing.T, log *sqlite.Log, thread events.ThreadID, data []byte, named bool) events.ArtifactID {
	t.Helper()
	epoch, err := log.Claim(t.Context(), key(thread), "tester", false)
	require.NoError(t, err)
	id, err := log.PutArtifact(t.Context(), key(thread), epoch, data)
	require.NoError(t, err)
	run := events.RunID("run-" + thread)
	envs := []events.Envelope{{Run: run, Data: events.WorkflowStarted{}}}
	if named {
		envs = append(envs, events.Envelope{Run: run, Data: events.ArtifactCreated{Artifact: id, Name: "data"}})
	}
	envs = append(envs, events.Envelope{Run: run, Data: events.WorkflowFinished{Status: events.StatusCompleted}})
	require.NoError(t, log.Append(t.Context(), key(thread), epoch, 0, envs))
	require.NoError(t, log.Release(t.Context(), key(thread), epoch))
	return id
}

func kept(t *testing.T, log *sqlite.Log, thread events.ThreadID, id events.ArtifactID) ([]byte, error) {
	t.Helper()
	reader, err := log.OpenArtifact(t.Context(), key(thread), id)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

// pieces counts what stands in the file.
func pieces(t *testing.T, path string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	require.NoError(t, db.QueryRow("SELECT count(*) FROM artifact_pieces").Scan(&n))
	require.NoError(t, db.Close())
	return n
}

// The same bytes are in the file once, in a backup too, and go with the last thread that
// has them; compacting gives their space back.
func TestArtifactsAreKeptOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "convene.db")
	log := open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	data := random(2_000_000)
	id := keep(t, log, "a", data, true)
	require.Equal(t, id, keep(t, log, "b", data, true))
	require.Equal(t, 8, pieces(t, path))
	report, found := findings(t, log)
	require.Empty(t, found)
	require.Equal(t, 1, report.Artifacts)

	require.NoError(t, log.Backup(t.Context(), filepath.Join(dir, "copy.db")))
	backup := open(t, filepath.Join(dir, "copy.db"))
	got, err := kept(t, backup, "b", id)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got))
	require.NoError(t, backup.Close())

	require.NoError(t, log.Remove(t.Context(), key("a")))
	_, err = kept(t, log, "b", id)
	require.NoError(t, err)
	require.NoError(t, log.Remove(t.Context(), key("b")))
	require.Zero(t, pieces(t, path))
	before, after, err := log.Compact(t.Context())
	require.NoError(t, err)
	require.Greater(t, before-after, int64(len(data)/2))
}

// childPut puts bytes, and in the end is killed before an event names them.
func childPut(ctx context.Context, path string) error {
	log, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	epoch, err := log.Claim(ctx, sharedKey, "child", false)
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		data := bytes.Repeat([]byte(fmt.Sprintf("%08d", n)), 50_000)
		id, err := log.PutArtifact(ctx, sharedKey, epoch, data)
		if err != nil {
			return err
		}
		fmt.Println("put", id)
	}
}

// A process that is killed while it puts leaves no name, and what it acknowledged is whole;
// compacting collects what no event names, but nothing of a process that lives.
func TestKilledPutLeavesOrphans(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	named := keep(t, log, "a", random(300_000), true)
	c := startChild(t, "put", path)
	first := events.ArtifactID(c.line("put"))
	second := events.ArtifactID(c.line("put"))
	_, _, err := log.Compact(t.Context())
	require.NoError(t, err)
	for _, id := range []events.ArtifactID{first, second} {
		data, err := kept(t, log, sharedKey.Thread, id)
		require.NoError(t, err, "whoever put it lives")
		require.Equal(t, id, events.ArtifactOf(data))
	}
	c.kill()
	require.NoError(t, log.Close())

	log = open(t, path) // takes back the claims of the dead
	defer func() { require.NoError(t, log.Close()) }()
	_, found := findings(t, log)
	require.Empty(t, found)
	envs, err := log.Read(t.Context(), sharedKey, 0, 0)
	require.NoError(t, err)
	require.Empty(t, envs, "nothing names it")
	_, _, err = log.Compact(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, pieces(t, path))
	_, err = kept(t, log, sharedKey.Thread, first)
	require.ErrorIs(t, err, events.ErrNotFound)
	_, err = kept(t, log, "a", named)
	require.NoError(t, err)
}

// What another process puts is read here, and the same bytes from two of them are one.
func TestArtifactsOfProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log, other := open(t, path), open(t, path)
	defer func() { require.NoError(t, log.Close(), other.Close()) }()
	data := random(5_000_000)
	ids := make(chan events.ArtifactID)
	go func() { ids <- keep(t, other, "b", data, true) }()
	mine := keep(t, log, "a", data, true)
	require.Equal(t, mine, <-ids)
	require.Equal(t, 20, pieces(t, path))
	for _, reader := range []*sqlite.Log{log, other} {
		for _, thread := range []events.ThreadID{"a", "b"} {
			got, err := kept(t, reader, thread, mine)
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, got))
		}
	}
}

// Damage in an artifact is found by who reads it and by a check, which name it; the rest of
// it, and the thread, can be read.
func TestDamagedArtifact(t *testing.T) {
	for name, spoil := range map[string]string{
		"content":   "UPDATE artifact_pieces SET data = zeroblob(length(data)) WHERE place = 1",
		"missing":   "DELETE FROM artifact_pieces WHERE place = 1",
		"misplaced": "UPDATE artifact_pieces SET (sum, data) = (SELECT sum, data FROM artifact_pieces WHERE place = 0) WHERE place = 1",
		"cut":       "UPDATE artifact_pieces SET data = CAST(substr(data, 1, 10) AS BLOB) WHERE place = 1",
		"no blob":   "UPDATE artifact_pieces SET sum = x'' WHERE place = 1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "convene.db")
			log := open(t, path)
			defer func() { require.NoError(t, log.Close()) }()
			data := random(600_000)
			id := keep(t, log, "a", data, true)
			execute(t, path, spoil)
			reader, err := log.OpenArtifact(t.Context(), key("a"), id)
			require.NoError(t, err)
			head := make([]byte, 1000)
			_, err = reader.ReadAt(head, 0)
			require.NoError(t, err)
			require.Equal(t, data[:1000], head)
			_, err = reader.ReadAt(head, 256<<10)
			require.ErrorIs(t, err, events.ErrDamaged)
			require.ErrorContains(t, err, string(id))
			_, found := findings(t, log)
			require.Len(t, found, 1)
			require.True(t, found[0].Lost)
			require.Equal(t, events.ThreadID("a"), found[0].Thread)
			envs, err := log.Read(t.Context(), key("a"), 0, 0)
			require.NoError(t, err)
			require.Len(t, envs, 3)
		})
	}
}

// The largest artifact goes in and comes out while a run appends.
func TestLargeArtifact(t *testing.T) {
	race.Skip(t, "100 MB")
	log := open(t, filepath.Join(t.TempDir(), "convene.db"))
	defer func() { require.NoError(t, log.Close()) }()
	appended := make(chan struct{})
	go func() {
		defer close(appended)
		for n := range 20 {
			steps(t, log, events.ThreadID(fmt.Sprint("t", n)))
		}
	}()
	data := random(events.MaxArtifactBytes)
	id := keep(t, log, "a", data, true)
	<-appended
	got, err := kept(t, log, "a", id)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got))
	require.NoError(t, log.Remove(t.Context(), key("a")))
}
