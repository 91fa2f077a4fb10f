package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

// A store of before batches were kept keeps its runs when it is opened, and takes
// batches from then on.
func TestOlderStoreIsBroughtUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	appendOne(t, log, "t")
	before, err := log.Runs(t.Context(), events.RunQuery{})
	require.NoError(t, err)
	require.NoError(t, log.Close())
	downgrade(t, path, 1)
	quiet := commitAllTheTime(t, path)
	log = open(t, path)
	quiet()
	after, err := log.Runs(t.Context(), events.RunQuery{})
	require.NoError(t, err)
	require.Equal(t, before, after)
	appendBatch(t, log, "b")
	require.NoError(t, log.Close())
	log = open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	batches, err := log.Batches(t.Context(), events.BatchQuery{})
	require.NoError(t, err)
	require.Len(t, batches, 1)
	rows, err := log.Runs(t.Context(), events.RunQuery{Batch: "b"})
	require.NoError(t, err)
	require.Len(t, rows, 1)
}

// downgrade makes of a store what a build of before would have made.
func downgrade(t *testing.T, path string, version int) {
	t.Helper()
	if version < 7 {
		require.NoError(t, sqlite.UnpackAll(path))
	}
	for i, statements := range [][]string{
		{
			"DROP TRIGGER facts_are_blocks", "DROP VIEW facts", "DROP TABLE parts", "DROP TABLE repacked", "DROP INDEX blocks_by_part",
			"ALTER TABLE blocks DROP COLUMN part", "ALTER TABLE blocks RENAME TO facts",
		},
		{"DROP TRIGGER threads_drop_artifacts", "DROP TABLE artifact_threads", "DROP TABLE artifact_pieces", "DROP TABLE artifacts"},
		{"DROP TABLE bookmarks"},
		{
			"DROP TRIGGER threads_have_checksums", "DROP VIEW events", "ALTER TABLE facts DROP COLUMN sum", "ALTER TABLE facts RENAME TO events", "ALTER TABLE runs DROP COLUMN sum", "ALTER TABLE batches DROP COLUMN sum",
			"ALTER TABLE threads DROP COLUMN last_seq", "ALTER TABLE threads DROP COLUMN last_sum", "ALTER TABLE threads DROP COLUMN name_sum",
		},
		{"DROP INDEX threads_by_owner"},
		{"DROP TABLE batches", "DROP INDEX runs_by_batch", "ALTER TABLE runs DROP COLUMN batch"},
	} {
		if 7-i <= version {
			break
		}
		for _, statement := range statements {
			execute(t, path, statement)
		}
	}
	execute(t, path, fmt.Sprintf("DELETE FROM goose_db_version WHERE version_id > %d", version))
}

// commitAllTheTime is another process of before that has the file open and writes to it,
// until the returned function is called.
func commitAllTheTime(t *testing.T, path string) (stop func()) {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	ended, begun := make(chan struct{}), make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-ended:
				return
			default:
			}
			if tx, err := db.Begin(); err == nil {
				time.Sleep(5 * time.Millisecond)
				_, _ = tx.Exec("UPDATE threads SET owner = ''")
				_ = tx.Commit()
			}
			time.Sleep(5 * time.Millisecond)
			if n == 0 {
				close(begun)
			}
		}
	})
	<-begun
	return func() {
		close(ended)
		writing.Wait()
		require.NoError(t, db.Close())
	}
}

// appendBatch starts a batch and the run of a row of it.
func appendBatch(t *testing.T, log events.Log, id events.ThreadID) {
	t.Helper()
	epoch, err := log.Claim(t.Context(), key(id), "tester", false)
	require.NoError(t, err)
	require.NoError(t, log.Append(t.Context(), key(id), epoch, 0, []events.Envelope{{Data: events.BatchStarted{Team: "trip"}}}))
	row := id + "-row"
	epoch, err = log.Claim(t.Context(), key(row), "tester", false)
	require.NoError(t, err)
	require.NoError(t, log.Append(t.Context(), key(row), epoch, 0, []events.Envelope{{
		Run: "0", Data: events.WorkflowStarted{Batch: &events.BatchRow{Batch: events.BatchID(id), Row: "r"}},
	}}))
}

// A batch whose process is killed is listed with what it had said by then, and nobody
// holds it.
func TestKilledBatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	for range 3 {
		c := startChild(t, "batch", path)
		id := c.line("batch")
		for range 5 {
			c.line("acknowledged")
		}
		c.kill()
		var want events.BatchSummary
		envs, err := log.Read(t.Context(), key(events.ThreadID(id)), 0, 0)
		require.NoError(t, err)
		for _, env := range envs {
			want.Apply(env)
		}
		got, err := log.FindBatch(t.Context(), events.LocalTenant, id)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, events.StatusRunning, got.Status)
		require.GreaterOrEqual(t, got.Done, 4)
		owner, _, err := log.Holder(t.Context(), key(events.ThreadID(id)))
		require.NoError(t, err)
		require.Empty(t, owner)
	}
}

// rowsStore gives a store with that many rows of one batch, every thousandth failed,
// beside as many runs of no batch.
func rowsStore(t testing.TB, rows int) *sqlite.Log {
	t.Helper()
	path := filepath.Join(t.TempDir(), "convene.db")
	require.NoError(t, open(t, path).Close())
	for _, batch := range []string{"'b'", "NULL"} {
		execute(t, path, fmt.Sprintf(`WITH RECURSIVE row (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM row WHERE n < %d)
			INSERT INTO runs (thread_no, tenant, run_id, batch, status, search, summary)
			SELECT n, 'local', printf('%%08d%%s', n, coalesce(%s, '')), %[2]s, iif(n %% 1000 = 999, 'failed', 'completed'),
				printf('request %%d', n) || printf('%%.*c', 300, 'x'),
				cast(printf('{"status":"completed","run_id":"%%08d","request":"%%.*c"}', n, 1000, 'x') AS BLOB) FROM row`, rows-1, batch))
	}
	return open(t, path)
}

func rowsQuery(statuses ...events.Status) events.RunQuery {
	return events.RunQuery{Tenant: events.LocalTenant, Batch: "b", Status: statuses, OldestFirst: true}
}

// Proves R71: a page of a batch's rows is found by an index, whatever it is chosen by,
// and comes in order without being sorted.
func TestRowsAreFoundByIndex(t *testing.T) {
	log := rowsStore(t, 3000)
	defer func() { require.NoError(t, log.Close()) }()
	for name, query := range map[string]events.RunQuery{
		"all": rowsQuery(), "one status": rowsQuery(events.StatusFailed), "two": rowsQuery(events.StatusFailed, events.StatusRunning),
		"later page": {Tenant: events.LocalTenant, Batch: "b", OldestFirst: true, After: "00001000"},
		"backwards":  {Tenant: events.LocalTenant, Batch: "b", Before: "00001000"},
	} {
		plan := log.RunsPlan(query)
		require.Contains(t, plan, "USING INDEX runs_by_batch (batch=? AND tenant=?", name)
		require.NotContains(t, plan, "TEMP B-TREE", name)
	}
	for _, query := range []events.RunQuery{{Tenant: events.LocalTenant}, {Tenant: events.LocalTenant, Before: "00001000"}} {
		plan := log.RunsPlan(query)
		require.Contains(t, plan, "USING INDEX runs_by_id")
		require.NotContains(t, plan, "TEMP B-TREE")
	}
	found, err := log.Runs(t.Context(), rowsQuery(events.StatusFailed))
	require.NoError(t, err)
	require.Len(t, found, 3)
	require.Equal(t, events.RunID("00000999"), found[0].Run)
}

// An id is found where it stands, however many come behind it; so are the runs of a
// thread.
func TestIDsAreFoundByIndex(t *testing.T) {
	log := rowsStore(t, 10)
	defer func() { require.NoError(t, log.Close()) }()
	run, batch := log.FindPlans(events.LocalTenant, "0000")
	require.Contains(t, run, "USING INDEX runs_by_id (tenant=? AND run_id>? AND run_id<?)")
	require.Contains(t, batch, "USING INDEX batches_by_id (tenant=? AND batch_id>? AND batch_id<?)")
	ofThread := events.RunQuery{Tenant: events.LocalTenant, Thread: "t", Limit: 1}
	for _, plan := range []string{log.RunsPlan(ofThread), log.TotalsPlan(ofThread)} {
		require.Regexp(t, `SEARCH runs .*\(thread_no=\?`, plan)
	}
	for prefix, end := range map[string]string{"019a": "019b", "a\xff\xff": "b", "\xff": "", "": ""} {
		require.Equal(t, end, sqlite.Behind(prefix))
	}
}

// BenchmarkFind finds the oldest of many runs.
func BenchmarkFind(b *testing.B) {
	log := rowsStore(b, 40_000)
	defer func() { require.NoError(b, log.Close()) }()
	for b.Loop() {
		_, err := log.FindRun(b.Context(), events.LocalTenant, "00000000b")
		require.NoError(b, err)
	}
}

// BenchmarkRows lists pages of a batch of 100,000 rows.
func BenchmarkRows(b *testing.B) {
	log := rowsStore(b, 100_000)
	defer func() { require.NoError(b, log.Close()) }()
	deep := rowsQuery()
	deep.After = "00090000"
	search := rowsQuery()
	search.Search = "request 99999"
	for name, query := range map[string]events.RunQuery{
		"all": rowsQuery(), "failed": rowsQuery(events.StatusFailed), "none": rowsQuery(events.StatusCancelled), "deep": deep, "search": search,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, err := log.Runs(b.Context(), query)
				require.NoError(b, err)
			}
		})
	}
}
