package lifetime_test

import (
	"archive/zip"
	"bytes"
	"database/sql"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/lifetime"
)

// Of a user whose log is damaged there is exported what can be read, with its files, and the
// manifest says what cannot.
func TestExportOfWhatIsDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	began := []events.Event{events.WorkflowStarted{Message: "hello", UserID: "ann", Team: "trip"}}
	damaged, _ := spec{tenant: "acme", at: time.Now(), files: []string{"a file"}, data: began}.write(t, log)
	whole, _ := spec{tenant: "acme", at: time.Now().Add(time.Minute), data: began}.write(t, log)
	lost, _ := spec{tenant: "acme", at: time.Now().Add(2 * time.Minute), data: append(began, ended("done")...)}.write(t, log)
	for n := range 3 {
		epoch, err := log.Claim(t.Context(), damaged, "tester", false)
		require.NoError(t, err)
		require.NoError(t, log.Append(t.Context(), damaged, epoch, events.Seq(n+2), []events.Envelope{{Data: events.Warning{Code: "step"}}}))
		require.NoError(t, log.Release(t.Context(), damaged, epoch))
	}
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.Exec(`UPDATE blocks SET body = x'00' WHERE seq = 4 AND thread_no = (SELECT thread_no FROM threads WHERE thread = ?)
		OR thread_no = (SELECT thread_no FROM threads WHERE thread = ?)`, string(damaged.Thread), string(lost.Thread))
	require.NoError(t, err)
	require.NoError(t, db.Close())

	var archive bytes.Buffer
	manifest, err := lifetime.Export(t.Context(), log, "acme", "ann", true, &archive)
	require.NoError(t, err)
	require.Len(t, manifest.Threads, 3)
	require.Equal(t, []events.ThreadID{damaged.Thread, whole.Thread, lost.Thread},
		[]events.ThreadID{manifest.Threads[0].Thread, manifest.Threads[1].Thread, manifest.Threads[2].Thread})
	const problem = "its content does not match its checksum"
	require.Equal(t, []events.Damage{{Seq: 4, Problem: problem}}, manifest.Threads[0].Damaged)
	require.Equal(t, 4, manifest.Threads[0].Events)
	require.Empty(t, manifest.Threads[1].Damaged)
	require.NotEmpty(t, manifest.Threads[2].Damaged)
	require.Empty(t, manifest.Threads[2].File)
	require.Len(t, manifest.Files, 1)
	unpacked, err := zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
	require.NoError(t, err)
	file, err := unpacked.Open(manifest.Threads[0].File)
	require.NoError(t, err)
	lines, err := io.ReadAll(file)
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(string(lines), "\n"))
}
