package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

func TestOpenMakesPrivateFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b?c#d%20 e", "convene.db")
	log := open(t, path)
	appendOne(t, log, "t")
	files := 0
	require.NoError(t, filepath.Walk(filepath.Join(path, "..", ".."), func(name string, info os.FileInfo, err error) error {
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, name)
		files++
		return nil
	}))
	require.GreaterOrEqual(t, files, 6, "database, -wal, -shm, owners")
	require.NoError(t, log.Close())
	owners, err := os.ReadDir(path + "-owners")
	require.NoError(t, err)
	require.Len(t, owners, 1, "the owner file is gone, the lock for opening stays")

	log = open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	envs, err := log.Read(t.Context(), key("t"), 0, 0)
	require.NoError(t, err)
	require.Len(t, envs, 1)
}

func key(thread events.ThreadID) events.ThreadKey {
	return events.ThreadKey{Tenant: events.LocalTenant, Thread: thread}
}

func appendOne(t *testing.T, log events.Log, thread events.ThreadID) {
	t.Helper()
	epoch, err := log.Claim(t.Context(), key(thread), "tester", false)
	require.NoError(t, err)
	require.NoError(t, log.Append(t.Context(), key(thread), epoch, 0, []events.Envelope{{Run: "r", Data: events.WorkflowStarted{}}}))
}

// What cannot be used is refused with its path and a next step, and left as it
// is to the byte.
func TestOpenRefuses(t *testing.T) {
	good := func(t *testing.T, path string) {
		log := open(t, path)
		for _, thread := range []events.ThreadID{"a", "b", "c"} {
			appendOne(t, log, thread)
		}
		require.NoError(t, log.Close())
	}
	for name, check := range map[string]struct {
		spoil func(t *testing.T, path string)
		want  error
	}{
		"text": {func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte("dear diary, today I was no database"), 0o600))
		}, sqlite.ErrNotOurs},
		"a few bytes": {func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte("SQL"), 0o600))
		}, sqlite.ErrNotOurs},
		"a directory": {func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o700)) }, sqlite.ErrNotOurs},
		"another program's": {func(t *testing.T, path string) {
			execute(t, path, "CREATE TABLE bookmarks (url TEXT)")
		}, sqlite.ErrNotOurs},
		"newer": {func(t *testing.T, path string) {
			good(t, path)
			execute(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)")
		}, sqlite.ErrNewerSchema},
		"cut": {func(t *testing.T, path string) {
			good(t, path)
			require.NoError(t, os.Truncate(path, 4096*3))
		}, sqlite.ErrDamaged},
		"header only": {func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte("SQLite format 3\x00"+strings.Repeat("\xff", 5000)), 0o600))
		}, sqlite.ErrDamaged},
		"overwritten": {func(t *testing.T, path string) {
			good(t, path)
			file, err := os.OpenFile(path, os.O_RDWR, 0)
			require.NoError(t, err)
			_, err = file.WriteAt([]byte(strings.Repeat("garbage!", 1024)), 4096*2)
			require.NoError(t, err)
			require.NoError(t, file.Close())
		}, sqlite.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "convene.db")
			check.spoil(t, path)
			before, _ := os.ReadFile(path)
			_, err := sqlite.Open(t.Context(), path)
			require.ErrorIs(t, err, check.want)
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, "--store")
			after, _ := os.ReadFile(path)
			require.Equal(t, before, after)
		})
	}
	_, err := sqlite.Open(t.Context(), "")
	require.ErrorContains(t, err, "--store")
}

// A fresh store is made in one step, and is what its migrations would have made.
func TestFreshSchema(t *testing.T) {
	paths := []string{filepath.Join(t.TempDir(), "fresh.db"), filepath.Join(t.TempDir(), "migrated.db")}
	require.NoError(t, open(t, paths[0]).Close())
	var schemas [2][]string
	for i, path := range paths {
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		missing, err := sqlite.MigrateInSteps(t.Context(), db)
		require.NoError(t, err)
		require.Equal(t, i == 1, missing, "nothing is left to do for a fresh store")
		schemas[i] = schemaOf(t, db)
		require.NoError(t, db.Close())
	}
	require.Greater(t, len(schemas[1]), 30)
	require.Equal(t, schemas[1], schemas[0])
}

// schemaOf is what SQLite keeps of the schema, and goose of versions.
func schemaOf(t *testing.T, db *sql.DB) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT type || ' ' || name || ' ' || tbl_name || coalesce(': ' || sql, '') FROM sqlite_schema
		UNION ALL SELECT 'version ' || version_id || ' ' || is_applied FROM goose_db_version ORDER BY 1`)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		var row string
		require.NoError(t, rows.Scan(&row))
		all = append(all, row)
	}
	require.NoError(t, rows.Err())
	return all
}

func execute(t testing.TB, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.Exec(statement)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

// A commit that finds the disk full fails those who wait for it, and the log goes
// on once there is room.
func TestDiskFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	epoch, err := log.Claim(t.Context(), key("t"), "tester", false)
	require.NoError(t, err)
	log.LimitPages(20)
	big := []events.Envelope{{Run: "r", Data: events.Warning{Message: hex.EncodeToString(random(300_000))}}}
	err = log.Append(t.Context(), key("t"), epoch, 0, big)
	require.ErrorIs(t, err, sqlite.ErrFull)
	require.ErrorContains(t, err, path)
	envs, err := log.Read(t.Context(), key("t"), 0, 0)
	require.NoError(t, err)
	require.Empty(t, envs)
	log.LimitPages(1 << 30)
	require.NoError(t, log.Append(t.Context(), key("t"), epoch, 0, big))
}

// A commit waits for another program's transaction, and says so if that does not
// end.
func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	log.SetLockWait(50 * time.Millisecond)
	db, err := sql.Open("sqlite", path+"?_txlock=immediate")
	require.NoError(t, err)
	tx, err := db.Begin()
	require.NoError(t, err)
	_, err = log.Claim(t.Context(), key("t"), "tester", false)
	require.ErrorIs(t, err, sqlite.ErrLocked)
	require.ErrorContains(t, err, path)
	log.SetLockWait(10 * time.Second)
	time.AfterFunc(50*time.Millisecond, func() { _ = tx.Rollback() })
	appendOne(t, log, "t")
	require.NoError(t, db.Close())
}

// A lock that another program forgot pauses the appends of runs, for as long as it lasts,
// and says so once. What begins meanwhile is refused, reading goes on, and closing ends
// the wait.
func TestForeignLockPauses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	epoch, err := log.Claim(t.Context(), key("t"), "tester", false)
	require.NoError(t, err)
	log.SetLockWait(20 * time.Millisecond)
	paused := make(chan time.Duration, 100)
	log.OnLocked(func(waited time.Duration) { paused <- waited })
	db, err := sql.Open("sqlite", path+"?_txlock=immediate")
	require.NoError(t, err)
	last := events.Seq(0)
	appended := make(chan error, 1)
	for range 2 {
		tx, err := db.Begin()
		require.NoError(t, err)
		go func() {
			appended <- log.Append(t.Context(), key("t"), epoch, last, []events.Envelope{{Run: "r", Data: events.WorkflowStarted{}}})
		}()
		require.Equal(t, 20*time.Millisecond, <-paused)
		for range 3 {
			_, err = log.Claim(t.Context(), key("u"), "tester", false)
			require.ErrorIs(t, err, sqlite.ErrLocked)
		}
		require.Empty(t, paused, "said once")
		require.Empty(t, appended)
		_, err = log.Runs(t.Context(), events.RunQuery{})
		require.NoError(t, err)
		require.NoError(t, open(t, path).Close(), "looking needs no lock")
		require.NoError(t, tx.Rollback())
		require.NoError(t, <-appended)
		last++
	}
	appendOne(t, log, "u")
	tx, err := db.Begin()
	require.NoError(t, err)
	go func() {
		appended <- log.Append(t.Context(), key("t"), epoch, last, []events.Envelope{{Run: "r", Data: events.Warning{}}})
	}()
	<-paused
	require.NoError(t, log.Close())
	require.ErrorIs(t, <-appended, sqlite.ErrLocked)
	require.NoError(t, tx.Rollback())
	require.NoError(t, db.Close())
}

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "convene.db")
	require.NoError(b, open(b, path).Close())
	for b.Loop() {
		require.NoError(b, open(b, path).Close())
	}
}

// Proves R73: what is acknowledged survives a power cut.
func TestSynchronous(t *testing.T) {
	log := open(t, filepath.Join(t.TempDir(), "convene.db"))
	defer func() { require.NoError(t, log.Close()) }()
	require.Equal(t, int64(2), log.WriterPragma("synchronous"), "2 is FULL")
}

func TestTooLarge(t *testing.T) {
	log := open(t, filepath.Join(t.TempDir(), "convene.db"))
	defer func() { require.NoError(t, log.Close()) }()
	epoch, err := log.Claim(t.Context(), key("t"), "tester", false)
	require.NoError(t, err)
	huge := []events.Envelope{{Run: "r", Data: events.Warning{Message: strings.Repeat("x", sqlite.MaxEventBytes)}}}
	require.ErrorContains(t, log.Append(t.Context(), key("t"), epoch, 0, huge), "more than")
	require.NoError(t, log.Append(t.Context(), key("t"), epoch, 0, []events.Envelope{{Run: "r", Data: events.Warning{}}}))
}

// Two logs of one process on one file behave like two processes: each sees what
// the other commits, and none takes the other's thread.
func TestTwoLogs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	one, two := open(t, path), open(t, path)
	defer func() { require.NoError(t, two.Close()) }()
	epoch, err := one.Claim(t.Context(), key("t"), "same name", false)
	require.NoError(t, err)
	_, err = two.Claim(t.Context(), key("t"), "same name", false)
	require.ErrorIs(t, err, events.ErrHeld)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := make(chan error, 1)
	go func() { seen <- two.Wait(ctx, key("t"), 0) }()
	require.NoError(t, one.Append(ctx, key("t"), epoch, 0, []events.Envelope{{Run: "r", Data: events.WorkflowStarted{}}}))
	require.NoError(t, <-seen)
	_, err = two.Post(ctx, key("t"), events.Envelope{Run: "r", Data: events.CancelRequested{}})
	require.NoError(t, err)
	err = one.Append(ctx, key("t"), epoch, 1, []events.Envelope{{Run: "r", Data: events.Warning{}}})
	require.ErrorIs(t, err, events.ErrConflict)
	require.NoError(t, one.Close())
	_, err = two.Claim(ctx, key("t"), "same name", false)
	require.NoError(t, err, "a closed log holds nothing")
}

func TestNoGoroutineIsLeft(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	log := open(t, filepath.Join(t.TempDir(), "convene.db"))
	appendOne(t, log, "t")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, log.Wait(ctx, key("t"), 1), context.DeadlineExceeded)
	require.NoError(t, log.Close())
}
