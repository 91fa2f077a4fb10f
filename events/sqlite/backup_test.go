package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

// findings checks a store.
func findings(t *testing.T, log *sqlite.Log) (report sqlite.CheckReport, found []sqlite.Damage) {
	t.Helper()
	report, err := log.Check(t.Context(), func(d sqlite.Damage) { found = append(found, d) })
	require.NoError(t, err)
	return report, found
}

// A backup is the store as of one moment, whatever others write meanwhile: it has all
// that was acknowledged before, whole, and is a store like any other.
func TestBackupBesideWriters(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "convene.db")
	log := open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	steps(t, log, "a")
	c := startChild(t, "append", path)
	writing := key(events.ThreadID(c.line("thread")))
	for n := range 8 {
		acknowledged, err := strconv.Atoi(c.line("acknowledged"))
		require.NoError(t, err)
		copied := filepath.Join(dir, fmt.Sprint(n), "copy.db")
		require.NoError(t, os.Mkdir(filepath.Dir(copied), 0o700))
		require.NoError(t, log.Backup(t.Context(), copied))
		entries, err := os.ReadDir(filepath.Dir(copied))
		require.NoError(t, err)
		require.Len(t, entries, 1, "nothing but the backup")
		info, err := os.Stat(copied)
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077)

		backup := open(t, copied)
		report, found := findings(t, backup)
		require.Empty(t, found)
		require.Equal(t, 2, report.Runs)
		envs, err := backup.Read(t.Context(), writing, 0, 0)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(envs), acknowledged)
		_, err = backup.Claim(t.Context(), writing, "heir", false)
		require.NoError(t, err, "whoever drives the original does not hold the copy")
		require.Equal(t, int64(1), backup.IsWAL())
		require.NoError(t, backup.Close())
	}
	c.kill()
	require.ErrorIs(t, log.Backup(t.Context(), path), sqlite.ErrExists)
}

// Compacting gives the space back, keeps everything else, and lets others go on.
func TestCompact(t *testing.T) {
	const removed = 20
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	for n := range removed {
		thread := events.ThreadID(fmt.Sprint("t", n))
		epoch, err := log.Claim(t.Context(), key(thread), "tester", false)
		require.NoError(t, err)
		require.NoError(t, log.Append(t.Context(), key(thread), epoch, 0, []events.Envelope{
			{Run: events.RunID(thread), Data: events.WorkflowStarted{Message: "secret-" + strings.Repeat("x", 50_000)}},
			{Run: events.RunID(thread), Data: events.WorkflowFinished{Status: events.StatusCompleted}},
		}))
		require.NoError(t, log.Release(t.Context(), key(thread), epoch))
	}
	steps(t, log, "stays")
	kept, err := log.ReadEncoded(t.Context(), key("stays"), 0, 0)
	require.NoError(t, err)
	for n := range removed {
		require.NoError(t, log.Remove(t.Context(), key(events.ThreadID(fmt.Sprint("t", n)))))
	}
	before, after, err := log.Compact(t.Context())
	require.NoError(t, err)
	require.Less(t, after, before/4)
	c := startChild(t, "append", path)
	c.line("thread")
	_, _, err = log.Compact(t.Context())
	require.NoError(t, err)
	c.line("acknowledged")
	for range 20 {
		c.line("acknowledged")
	}
	c.kill()
	again, err := log.ReadEncoded(t.Context(), key("stays"), 0, 0)
	require.NoError(t, err)
	require.Equal(t, kept, again)
	_, found := findings(t, log)
	require.Empty(t, found)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(content), "secret-")
}

// What is damaged is listed, each once.
func TestCheckFinds(t *testing.T) {
	for spoil, want := range map[string]sqlite.Damage{
		"UPDATE blocks SET body = x'00' WHERE seq = 5 AND" + of("a"):             {Tenant: "local", Thread: "a", Run: "run-a", Seq: 5, Through: 5, Lost: true, Problem: "content does not match"},
		"UPDATE blocks SET sum = x'00' WHERE seq = 5 AND" + of("a"):              {Tenant: "local", Thread: "a", Run: "run-a", Seq: 5, Through: 5, Problem: "its checksum is damaged"},
		"DELETE FROM blocks WHERE seq > 7 AND" + of("a"):                         {Tenant: "local", Thread: "a", Run: "run-a", Seq: 8, Through: 10, Lost: true, Problem: "missing"},
		"UPDATE runs SET status = 'failed' WHERE" + of("a"):                      {Tenant: "local", Thread: "a", Problem: "rows in listings are damaged"},
		"DELETE FROM runs WHERE" + of("a"):                                       {Tenant: "local", Thread: "a", Problem: "rows in listings are damaged"},
		"UPDATE blocks SET thread_no = 99, seq = 1 WHERE seq = 10 AND" + of("a"): {Problem: "events of no thread", Lost: true},
	} {
		path := filepath.Join(t.TempDir(), "convene.db")
		log := open(t, path)
		separateSteps(t, log, "a")
		steps(t, log, "b")
		_, found := findings(t, log)
		require.Empty(t, found)
		execute(t, path, spoil)
		_, found = findings(t, log)
		require.NotEmpty(t, found, spoil)
		last := found[len(found)-1]
		require.Contains(t, last.Problem, want.Problem, spoil)
		want.Problem = last.Problem
		require.Equal(t, want, last, spoil)
		require.NoError(t, log.Close())
	}
}

// childRead reads a store that it must not change, and prints what it is told.
func childRead(ctx context.Context, path string) error {
	if _, err := sqlite.Open(ctx, path); err == nil {
		return fmt.Errorf("%s could be opened to be written", path)
	}
	log, err := sqlite.OpenReadOnly(ctx, path)
	if err != nil {
		return err
	}
	runs, err := log.Runs(ctx, events.RunQuery{})
	if err != nil {
		return err
	}
	for _, run := range runs {
		key := events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread}
		envs, err := log.Read(ctx, key, 0, 0)
		if err != nil {
			return err
		}
		holder, _, err := log.Holder(ctx, key)
		if err != nil {
			return err
		}
		fmt.Printf("%s %d %q\n", run.Run, len(envs), holder)
	}
	if _, err := log.Claim(ctx, sharedKey, "child", false); err != nil {
		fmt.Println("refused", err)
	}
	return log.Close()
}
