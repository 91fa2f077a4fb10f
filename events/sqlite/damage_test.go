package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

// steps appends a run of ten events at once to a thread of that name.
func steps(t *testing.T, log events.Log, thread events.ThreadID) {
	t.Helper()
	stepsOf(t, log, thread, 10)
}

// separateSteps is steps with an append, and so a row, for each event.
func separateSteps(t *testing.T, log events.Log, thread events.ThreadID) {
	t.Helper()
	stepsOf(t, log, thread, 1)
}

func stepsOf(t *testing.T, log events.Log, thread events.ThreadID, atOnce int) {
	t.Helper()
	epoch, err := log.Claim(t.Context(), key(thread), "tester", false)
	require.NoError(t, err)
	envs := []events.Envelope{{Run: events.RunID("run-" + thread), Data: events.WorkflowStarted{Message: "request of " + string(thread)}}}
	for n := range 8 {
		envs = append(envs, events.Envelope{Run: envs[0].Run, Data: events.Warning{Code: "step", Message: fmt.Sprint(n)}})
	}
	envs = append(envs, events.Envelope{Run: envs[0].Run, Data: events.RunSuspended{Reason: "step"}})
	for n := 0; n < len(envs); n += atOnce {
		require.NoError(t, log.Append(t.Context(), key(thread), epoch, events.Seq(n), envs[n:n+atOnce]))
	}
	require.NoError(t, log.Release(t.Context(), key(thread), epoch))
}

// of is where a row of a thread stands in SQL.
func of(thread string) string {
	return " thread_no = (SELECT thread_no FROM threads WHERE thread = '" + thread + "')"
}

func requireDamaged(t *testing.T, err error, thread events.ThreadID, seq events.Seq) {
	t.Helper()
	var damaged *events.DamagedError
	require.ErrorAs(t, err, &damaged)
	require.Equal(t, key(thread), damaged.Key)
	require.Equal(t, seq, damaged.Seq)
	require.ErrorContains(t, err, fmt.Sprintf("seq=%d of thread=%s", seq, thread))
}

// Proves R74: damage is named by thread and seq, and everything else is served.
func TestDamageIsNamed(t *testing.T) {
	for name, check := range map[string]struct {
		spoil string
		// lost are the first and the last event that cannot be read.
		lost [2]events.Seq
	}{
		"content":               {"UPDATE blocks SET body = CAST(replace(body, 'st', 'at') AS BLOB) WHERE seq = 5 AND", [2]events.Seq{5, 5}},
		"checksum":              {"UPDATE blocks SET sum = zeroblob(16) WHERE seq = 5 AND", [2]events.Seq{}},
		"last checksum":         {"UPDATE blocks SET sum = zeroblob(16) WHERE seq = 10 AND", [2]events.Seq{}},
		"last content":          {"UPDATE blocks SET body = x'00' WHERE seq = 10 AND", [2]events.Seq{10, 10}},
		"content, two in a row": {"UPDATE blocks SET body = CAST(replace(body, 'st', 'at') AS BLOB) WHERE seq IN (5, 6) AND", [2]events.Seq{5, 6}},
		"missing":               {"DELETE FROM blocks WHERE seq = 5 AND", [2]events.Seq{5, 6}}, // nothing proves what follows
		"missing tail":          {"DELETE FROM blocks WHERE seq > 7 AND", [2]events.Seq{8, 10}},
		"all missing":           {"DELETE FROM blocks WHERE", [2]events.Seq{1, 10}},
		"of another thread": {`UPDATE blocks SET (sum, body) = (SELECT sum, body FROM blocks other WHERE seq = 5 AND` + of("b") +
			`) WHERE seq = 5 AND`, [2]events.Seq{5, 6}}, // its checksum is lost too
		"head": {"UPDATE threads SET last_sum = zeroblob(16) WHERE", [2]events.Seq{}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "convene.db")
			log := open(t, path)
			defer func() { require.NoError(t, log.Close()) }()
			separateSteps(t, log, "a")
			separateSteps(t, log, "b")
			truth, err := log.ReadEncoded(t.Context(), key("a"), 0, 0)
			require.NoError(t, err)
			execute(t, path, check.spoil+of("a"))

			for n := range 10 {
				seq := events.Seq(n + 1)
				one, err := log.ReadEncoded(t.Context(), key("a"), seq-1, 1)
				if seq >= check.lost[0] && seq <= check.lost[1] {
					requireDamaged(t, err, "a", seq)
					continue
				}
				require.NoError(t, err, seq)
				require.Equal(t, truth[n:n+1], one)
			}
			all, err := log.ReadEncoded(t.Context(), key("a"), 0, 0)
			if check.lost[0] > 0 {
				requireDamaged(t, err, "a", check.lost[0])
			} else {
				require.NoError(t, err)
				require.Equal(t, truth, all)
			}
			other, err := log.Read(t.Context(), key("b"), 0, 0)
			require.NoError(t, err)
			require.Len(t, other, 10)
			runs, err := log.Runs(t.Context(), events.RunQuery{})
			require.NoError(t, err)
			require.Len(t, runs, 2)
		})
	}
}

// Nothing is added behind an end that is damaged; others go on.
func TestDamagedEndTakesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	separateSteps(t, log, "a")
	execute(t, path, "UPDATE blocks SET body = x'00' WHERE seq = 10 AND"+of("a"))
	_, err := log.Claim(t.Context(), key("a"), "tester", false)
	requireDamaged(t, err, "a", 10)
	_, err = log.Post(t.Context(), key("a"), events.Envelope{Run: "run-a", Data: events.UserMessage{}})
	requireDamaged(t, err, "a", 10)
	separateSteps(t, log, "b")
}

// A tail stops at what is damaged, says what that is, and goes on behind it.
func TestTailNamesDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	separateSteps(t, log, "a")
	separateSteps(t, log, "b")
	execute(t, path, "UPDATE blocks SET body = x'00' WHERE seq = 4 AND"+of("a"))
	execute(t, path, "UPDATE blocks SET sum = x'00' WHERE seq = 4 AND"+of("b"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seqs []events.Seq
	var cursor events.Cursor
	for len(seqs) < 19 {
		for item, err := range log.Tail(ctx, events.TailFilter{}, cursor) {
			cursor = item.Cursor
			if err != nil {
				requireDamaged(t, err, "a", 4)
				require.Len(t, seqs, 3)
				break
			}
			if seqs = append(seqs, item.Envelope.Seq); len(seqs) == 19 {
				break
			}
		}
	}
	require.Equal(t, []events.Seq{1, 2, 3, 5, 6, 7, 8, 9, 10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, seqs)
}

// Listings are made again from the events where a row of theirs is damaged, under the
// eyes of who lists.
func TestDamagedListingIsMadeAgain(t *testing.T) {
	for _, spoil := range []string{
		"UPDATE runs SET summary = CAST(replace(summary, 'request', 'bequest') AS BLOB) WHERE" + of("a"),
		"UPDATE runs SET status = 'failed'",
		"UPDATE runs SET run_id = 'run-x' WHERE" + of("a"),
		"UPDATE runs SET thread_no = 99 WHERE" + of("a"),
		"UPDATE runs SET sum = NULL",
		"UPDATE batches SET summary = x'7b'",
		"UPDATE batches SET batch_id = 'x'",
	} {
		path := filepath.Join(t.TempDir(), "convene.db")
		log := open(t, path)
		steps(t, log, "a")
		steps(t, log, "b")
		appendBatch(t, log, "batch")
		runs, err := log.Runs(t.Context(), events.RunQuery{})
		require.NoError(t, err)
		batches, err := log.Batches(t.Context(), events.BatchQuery{})
		require.NoError(t, err)
		execute(t, path, spoil)
		for range 2 {
			again, err := log.Runs(t.Context(), events.RunQuery{})
			require.NoError(t, err, spoil)
			require.Equal(t, runs, again, spoil)
			same, err := log.Batches(t.Context(), events.BatchQuery{})
			require.NoError(t, err, spoil)
			require.Equal(t, batches, same, spoil)
			require.NoError(t, log.Close())
			log = open(t, path)
		}
		epoch, err := log.Claim(t.Context(), key("a"), "tester", false)
		require.NoError(t, err)
		require.NoError(t, log.Append(t.Context(), key("a"), epoch, 10, []events.Envelope{{Run: "run-a", Data: events.RunSuspended{}}}))
		run, err := log.FindRun(t.Context(), events.LocalTenant, "run-a")
		require.NoError(t, err)
		require.Equal(t, events.StatusSuspended, run.Status)
		require.NoError(t, log.Close())
	}
}

// sums are the checksums of a store.
func sums(t *testing.T, path string) (all string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	for _, query := range []string{
		"SELECT group_concat(thread_no || '/' || seq || '/' || hex(sum), ' ') FROM (SELECT * FROM blocks GROUP BY thread_no HAVING seq = max(seq) ORDER BY thread_no)",
		"SELECT group_concat(last_seq || '/' || hex(last_sum) || '/' || hex(name_sum), ' ') FROM (SELECT * FROM threads ORDER BY thread_no)",
		"SELECT group_concat(hex(sum), ' ') FROM (SELECT * FROM runs ORDER BY run_no)",
		"SELECT group_concat(hex(sum), ' ') FROM (SELECT * FROM batches ORDER BY thread_no)",
	} {
		var list string
		require.NoError(t, db.QueryRow(query).Scan(&list))
		all += list + "\n"
	}
	require.NoError(t, db.Close())
	return all
}

// A store of before gets the checksums that it would have had from the beginning, also
// when the first attempt is broken off.
func TestOlderStoreGetsChecksums(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	for n := range 150 { // more than one transaction
		steps(t, log, events.ThreadID(fmt.Sprintf("t%03d", n)))
	}
	appendBatch(t, log, "batch")
	require.NoError(t, log.Close())
	want := sums(t, path)
	downgrade(t, path, 3)
	require.NoError(t, open(t, path).Close())
	require.Equal(t, want, sums(t, path))
	downgrade(t, path, 6)
	for _, statement := range []string{
		"UPDATE facts SET sum = NULL WHERE pos > 777", "UPDATE threads SET last_sum = NULL, last_seq = 0",
		"UPDATE runs SET sum = NULL WHERE run_no > 20", "UPDATE batches SET sum = NULL",
	} {
		execute(t, path, statement)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := sqlite.Open(ctx, path)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, open(t, path).Close())
	require.Equal(t, want, sums(t, path))
}

// A program of before that has the file open while it is brought up is told, and adds
// nothing that this one would not read.
func TestOlderProgramIsRefused(t *testing.T) {
	for version, into := range map[int]string{
		3: "events (thread_no, seq, body) VALUES (?, ?, ?)",
		6: "facts (thread_no, seq, body, sum) VALUES (?, ?, ?, zeroblob(16))",
	} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "convene.db")
			log := open(t, path)
			steps(t, log, "a")
			require.NoError(t, log.Close())
			downgrade(t, path, version)
			db, err := sql.Open("sqlite", path)
			require.NoError(t, err)
			defer func() { require.NoError(t, db.Close()) }()
			insert, err := db.Prepare("INSERT INTO " + into)
			require.NoError(t, err)
			defer func() { require.NoError(t, insert.Close()) }()
			_, err = insert.Exec(1, 11, []byte("{}"))
			require.NoError(t, err)
			table, _, _ := strings.Cut(into, " ")
			_, err = db.Exec("DELETE FROM " + table + " WHERE seq = 11")
			require.NoError(t, err)
			log = open(t, path)
			defer func() { require.NoError(t, log.Close()) }()
			_, err = insert.Exec(1, 11, []byte("{}"))
			require.ErrorContains(t, err, "a newer version of convene has brought this store up to date")
			if version == 3 {
				_, err = db.Exec("INSERT INTO threads (tenant, thread, epoch, owner, owner_file, claimed_ns) VALUES ('local', 'x', 0, '', '', 0)")
				require.ErrorContains(t, err, "a newer version of convene")
			}
			envs, err := log.Read(t.Context(), key("a"), 0, 0)
			require.NoError(t, err)
			require.Len(t, envs, 10)
		})
	}
}

// A damaged row loses what was appended at once, and nothing else; a damaged checksum
// nothing, and what is appended behind it is proven too.
func TestDamageOfABlock(t *testing.T) {
	for spoil, lost := range map[string]bool{
		"UPDATE blocks SET body = zeroblob(length(body)) WHERE seq = %d AND": true,
		"UPDATE blocks SET sum = zeroblob(16) WHERE seq = %d AND":            false,
	} {
		for _, at := range []events.Seq{4, 6} {
			path := filepath.Join(t.TempDir(), "convene.db")
			log := open(t, path)
			stepsOf(t, log, "a", 2)
			epoch, err := log.Claim(t.Context(), key("a"), "tester", false)
			require.NoError(t, err)
			truth, err := log.ReadEncoded(t.Context(), key("a"), 0, 0)
			require.NoError(t, err)
			execute(t, path, fmt.Sprintf(spoil, at)+of("a"))
			for n := range 10 {
				one, err := log.ReadEncoded(t.Context(), key("a"), events.Seq(n), 1)
				if seq := events.Seq(n + 1); lost && (seq == at-1 || seq == at) {
					requireDamaged(t, err, "a", seq)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, truth[n:n+1], one)
			}
			require.NoError(t, log.Release(t.Context(), key("a"), epoch))
			require.NoError(t, log.Close())
		}
	}
}

// What is appended behind an event whose checksum is damaged, or that of the one before, is
// chained to what that should be.
func TestAppendBehindADamagedChecksum(t *testing.T) {
	for _, seq := range []int{9, 10} {
		path := filepath.Join(t.TempDir(), "convene.db")
		log := open(t, path)
		separateSteps(t, log, "a")
		execute(t, path, fmt.Sprintf("UPDATE blocks SET sum = zeroblob(16) WHERE seq = %d AND", seq)+of("a"))
		epoch, err := log.Claim(t.Context(), key("a"), "tester", false)
		require.NoError(t, err)
		require.NoError(t, log.Append(t.Context(), key("a"), epoch, 10, []events.Envelope{{Run: "run-a", Data: events.RunResumed{}}}))
		require.NoError(t, log.Release(t.Context(), key("a"), epoch))
		envs, err := log.Read(t.Context(), key("a"), 0, 0)
		require.NoError(t, err)
		require.Len(t, envs, 11)
		require.NoError(t, log.Close())
	}
}
