package sqlite_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

// underWay appends a run of ten events that is not over, one by one.
func underWay(t *testing.T, log events.Log, thread events.ThreadID) {
	t.Helper()
	epoch, err := log.Claim(t.Context(), key(thread), "tester", false)
	require.NoError(t, err)
	for n := range 10 {
		env := events.Envelope{Run: events.RunID("run-" + thread), Data: events.Warning{Code: "step"}}
		if n == 0 {
			env.Data = events.WorkflowStarted{Message: "request of " + string(thread), UserID: "ann"}
		}
		require.NoError(t, log.Append(t.Context(), key(thread), epoch, events.Seq(n), []events.Envelope{env}))
	}
	require.NoError(t, log.Release(t.Context(), key(thread), epoch))
}

// flipBlob flips a bit in the file where the one value stands that the query gives.
func flipBlob(t *testing.T, path, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	var blob []byte
	require.NoError(t, db.QueryRow(query).Scan(&blob))
	require.NoError(t, db.Close())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(content, blob)
	require.Positive(t, at)
	content[at+len(blob)/2] ^= 4
	require.NoError(t, os.WriteFile(path, content, 0o600))
}

// One run whose events are damaged keeps nobody from the others: it is listed as of the event
// before, and says so. Whoever asks for it alone is told.
func TestListingsShowWhatIsDamagedBesideTheRest(t *testing.T) {
	event := "SELECT body FROM blocks WHERE seq = 10 AND" + of("a")
	row := "SELECT summary FROM runs WHERE" + of("a")
	var all []string
	for seq := range 10 {
		all = append(all, fmt.Sprintf("SELECT body FROM blocks WHERE seq = %d AND", seq+1)+of("a"))
	}
	for name, check := range map[string]struct {
		flips []string
		last  events.Seq
	}{
		"the last event":                    {[]string{event}, 9},
		"an event within":                   {[]string{"SELECT body FROM blocks WHERE seq = 5 AND" + of("a")}, 4},
		"the last event and the run's row":  {[]string{event, row}, 9},
		"the first event and the run's row": {[]string{"SELECT body FROM blocks WHERE seq = 1 AND" + of("a"), row}, 0},
		"all events and the run's row":      {append([]string{row}, all...), 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "convene.db")
			log := open(t, path)
			underWay(t, log, "a")
			underWay(t, log, "b")
			require.NoError(t, log.Close())
			for _, flip := range check.flips {
				flipBlob(t, path, flip)
			}
			log = open(t, path)
			defer func() { require.NoError(t, log.Close()) }()

			for _, query := range []events.RunQuery{
				{}, {Threads: true}, {UserID: "ann"}, {Search: "request of"}, {Status: []events.Status{events.StatusRunning}},
			} {
				runs, err := log.Runs(t.Context(), query)
				require.NoError(t, err)
				require.Equal(t, events.RunID("run-b"), runs[0].Run)
				require.Nil(t, runs[0].Damaged)
				require.Equal(t, events.Seq(10), runs[0].LastSeq)
				if check.last == 0 && query.UserID+query.Search != "" { // nothing says any more whose it was, or what was asked
					require.Len(t, runs, 1)
					continue
				}
				require.Len(t, runs, 2)
				require.Equal(t, events.RunID("run-a"), runs[1].Run)
				require.Equal(t, key("a").Thread, runs[1].Thread)
				lost := &events.Damage{Seq: check.last + 1, Problem: "its content does not match its checksum"}
				if len(check.flips) > 10 {
					lost.Through = 10
				}
				require.Equal(t, lost, runs[1].Damaged)
				require.Equal(t, check.last, runs[1].LastSeq)
			}
			totals, err := log.Totals(t.Context(), events.RunQuery{})
			require.NoError(t, err)
			require.Equal(t, 2, totals.Runs)

			_, err = log.FindRun(t.Context(), events.LocalTenant, "run-b")
			require.NoError(t, err)
			_, err = log.FindRun(t.Context(), events.LocalTenant, "run-a")
			requireDamaged(t, err, "a", check.last+1)
			found := []sqlite.Damage{}
			_, err = log.Check(t.Context(), func(d sqlite.Damage) { found = append(found, d) })
			require.NoError(t, err)
			require.NotEmpty(t, found)
			require.Equal(t, check.last+1, found[0].Seq)
		})
	}
}

// A run behind what is damaged in its thread is listed whole where its row is damaged, and as
// damaged where its beginning is.
func TestRunsBehindDamageAreListed(t *testing.T) {
	const spoilRow = "UPDATE runs SET summary = x'7b' WHERE run_id = 'run-2'"
	for spoilt, whole := range map[string]bool{
		"UPDATE blocks SET body = x'00' WHERE seq = 2 AND" + of("a"):  true,
		"UPDATE blocks SET body = x'00' WHERE seq = 11 AND" + of("a"): false,
	} {
		path := filepath.Join(t.TempDir(), "convene.db")
		log := open(t, path)
		underWay(t, log, "a")
		epoch, err := log.Claim(t.Context(), key("a"), "tester", false)
		require.NoError(t, err)
		add := func(after events.Seq, run events.RunID, data ...events.Event) {
			for n, data := range data {
				env := events.Envelope{Run: run, Data: data}
				require.NoError(t, log.Append(t.Context(), key("a"), epoch, after+events.Seq(n), []events.Envelope{env}))
			}
		}
		add(10, "run-a", events.WorkflowFinished{Status: events.StatusCompleted})
		add(11, "run-2", events.WorkflowStarted{Message: "again"}, events.Warning{Code: "step"}, events.WorkflowFinished{Status: events.StatusDegraded})
		require.NoError(t, log.Close())
		if !whole {
			spoilt = strings.Replace(spoilt, "seq = 11", "seq IN (11, 12)", 1)
		}
		execute(t, path, spoilt)
		execute(t, path, spoilRow)
		log = open(t, path)
		runs, err := log.Runs(t.Context(), events.RunQuery{})
		require.NoError(t, err)
		require.NoError(t, log.Close())
		require.Len(t, runs, 2)
		require.Equal(t, events.RunID("run-2"), runs[1].Run)
		if whole {
			require.Nil(t, runs[1].Damaged)
			require.Equal(t, events.StatusDegraded, runs[1].Status)
			require.Equal(t, events.Seq(14), runs[1].LastSeq)
			continue
		}
		require.Equal(t, &events.Damage{Seq: 11, Through: 12, Problem: "its content does not match its checksum"}, runs[1].Damaged)
	}
}

// A large store that cannot be written is listed beside its damaged rows: they are not looked for
// when it is opened, and what they said is told by the events.
func TestReadOnlyStoreIsListedBesideDamagedRows(t *testing.T) {
	for spoil, want := range map[string]struct {
		run     events.RunID
		damaged bool
	}{
		"UPDATE runs SET summary = x'7b' WHERE" + of("a"):                                                                  {"run-a", false},
		"UPDATE runs SET summary = x'7b' WHERE" + of("a") + "; UPDATE blocks SET body = x'00' WHERE seq = 1 AND" + of("a"): {"run-a", true},
		"UPDATE runs SET run_id = 'run-x' WHERE" + of("a"):                                                                 {"run-x", true},
		"UPDATE runs SET thread_no = 99 WHERE" + of("a"):                                                                   {"run-a", true},
	} {
		path := filepath.Join(t.TempDir(), "convene.db")
		log := open(t, path)
		underWay(t, log, "a")
		underWay(t, log, "b")
		appendBatch(t, log, "batch")
		require.NoError(t, log.Close())
		execute(t, path, spoil)
		execute(t, path, "UPDATE batches SET summary = x'7b'")
		execute(t, path, "UPDATE runs SET run_no = 5000 WHERE run_id = 'run-b'") // as of 5,000 runs
		log, err := sqlite.OpenReadOnly(t.Context(), path)
		require.NoError(t, err)
		runs, err := log.Runs(t.Context(), events.RunQuery{Own: true})
		require.NoError(t, err, spoil)
		require.Len(t, runs, 2)
		byID := map[events.RunID]events.RunSummary{}
		for _, run := range runs {
			byID[run.Run] = run
		}
		require.Nil(t, byID["run-b"].Damaged)
		require.Equal(t, want.damaged, byID[want.run].Damaged != nil, spoil)
		require.Equal(t, !want.damaged, byID[want.run].Request == "request of a", spoil)
		totals, err := log.Totals(t.Context(), events.RunQuery{Own: true})
		require.NoError(t, err)
		require.Equal(t, 2, totals.Runs)
		_, err = log.FindRun(t.Context(), events.LocalTenant, string(want.run))
		require.Equal(t, want.damaged, err != nil, spoil)
		_, err = log.Last(t.Context(), key("a"))
		require.NoError(t, err)
		batches, err := log.Batches(t.Context(), events.BatchQuery{})
		require.NoError(t, err)
		require.Len(t, batches, 1)
		require.Nil(t, batches[0].Damaged)
		require.NoError(t, log.Close())
	}
}

// What can be read of a thread is read around what cannot, however much was lost at once.
func TestReadingAroundDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	epoch, err := log.Claim(t.Context(), key("a"), "tester", false)
	require.NoError(t, err)
	after := events.Seq(0)
	for _, atOnce := range []int{1, 300, 2, 1, 1} {
		envs := make([]events.Envelope, atOnce)
		for i := range envs {
			envs[i] = events.Envelope{Run: "run-a", Data: events.Warning{Code: "step"}}
		}
		require.NoError(t, log.Append(t.Context(), key("a"), epoch, after, envs))
		after += events.Seq(atOnce)
	}
	require.NoError(t, log.Release(t.Context(), key("a"), epoch))
	execute(t, path, "UPDATE blocks SET body = x'00' WHERE seq IN (301, 304) AND"+of("a"))
	const problem = "its content does not match its checksum"
	all := []events.DamagedError{
		{Key: key("a"), Seq: 2, Through: 301, Problem: problem}, {Key: key("a"), Seq: 304, Problem: problem},
	}
	for _, c := range []struct {
		after   events.Seq
		limit   int
		seqs    []events.Seq
		damaged []events.DamagedError
	}{
		{0, 0, []events.Seq{1, 302, 303, 305}, all},
		{0, 1, []events.Seq{1}, nil},
		{0, 2, []events.Seq{1}, all[:1]},
		{100, 203, []events.Seq{302, 303}, []events.DamagedError{{Key: key("a"), Seq: 101, Through: 301, Problem: problem}}},
		{303, 1, nil, all[1:]},
		{305, 0, nil, nil},
	} {
		sound, damaged, err := events.ReadSound(t.Context(), log, key("a"), c.after, c.limit)
		require.NoError(t, err)
		var seqs []events.Seq
		for _, e := range sound {
			seqs = append(seqs, e.Seq)
		}
		require.Equal(t, c.seqs, seqs)
		require.Equal(t, c.damaged, damaged)
	}
}

// A batch whose row and events are damaged is listed as of what can be read.
func TestDamagedBatchIsListed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	for _, batch := range []events.ThreadID{"a", "b"} {
		epoch, err := log.Claim(t.Context(), key(batch), "tester", false)
		require.NoError(t, err)
		require.NoError(t, log.Append(t.Context(), key(batch), epoch, 0, []events.Envelope{{Data: events.BatchStarted{Team: "trip"}}}))
		require.NoError(t, log.Append(t.Context(), key(batch), epoch, 1, []events.Envelope{{Data: events.BatchProgress{Stopping: "the disk is full"}}}))
	}
	require.NoError(t, log.Close())
	flipBlob(t, path, "SELECT summary FROM batches WHERE"+of("a"))
	flipBlob(t, path, "SELECT body FROM blocks WHERE seq = (SELECT max(seq) FROM blocks WHERE"+of("a")+") AND"+of("a"))
	log = open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	batches, err := log.Batches(t.Context(), events.BatchQuery{})
	require.NoError(t, err)
	require.Len(t, batches, 2)
	require.Equal(t, &events.Damage{Seq: 2, Problem: "its content does not match its checksum"}, batches[1].Damaged)
	require.Equal(t, events.Seq(1), batches[1].LastSeq)
	require.Nil(t, batches[0].Damaged)
	_, err = log.FindBatch(t.Context(), events.LocalTenant, "b")
	require.NoError(t, err)
	_, err = log.FindBatch(t.Context(), events.LocalTenant, "a")
	require.ErrorIs(t, err, events.ErrDamaged)
}
