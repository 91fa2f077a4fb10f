package sqlite_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

// someRuns fills a store with runs of every end, one of two in a thread, a batch, and a
// thread that its process left behind.
func someRuns(t *testing.T, path string) {
	t.Helper()
	log := open(t, path)
	settings := json.RawMessage(config(t, 3000))
	words := strings.Repeat("Plan three days in Kyoto for two. ", 30)
	for n := range 12 {
		thread := events.ThreadID(fmt.Sprintf("thread-%02d", n))
		epoch, err := log.Claim(t.Context(), key(thread), "tester", false)
		require.NoError(t, err)
		after := events.Seq(0)
		for round := range 1 + n/10 {
			run := events.RunID(fmt.Sprintf("run-%02d-%d", n, round))
			facts := []events.Event{events.WorkflowStarted{Message: fmt.Sprint("request ", n, words), Team: "trip", Config: settings}}
			for i := range 8 {
				facts = append(facts, events.DocumentUpdated{Version: i, Author: "food", Content: fmt.Sprint(i, words[:40*i]), Section: "day", EntryID: 1})
			}
			switch n % 4 {
			case 0:
				facts = append(facts, events.RunSuspended{Reason: "interrupted"})
			case 1: // under way
			default:
				facts = append(facts, events.FinalAnswer{Content: "answer " + words}, events.WorkflowFinished{Status: events.StatusCompleted})
			}
			for _, fact := range facts {
				require.NoError(t, log.Append(t.Context(), key(thread), epoch, after, []events.Envelope{{Run: run, Data: fact}}))
				after++
			}
		}
		require.NoError(t, log.Release(t.Context(), key(thread), epoch))
	}
	appendBatch(t, log, "batch")
	require.NoError(t, log.Close())
	c := startChild(t, "hold", path)
	c.line("held")
	c.kill()
	require.NoError(t, open(t, path).Close(), "leaves no log of SQLite's beside the file")
	require.NoFileExists(t, path+"-wal")
}

// answers are what a store says to everything that a person asks; an error where it says
// that it cannot.
func answers(t *testing.T, path string) map[string]any {
	said := map[string]any{}
	log, err := sqlite.Open(t.Context(), path)
	if errors.Is(err, sqlite.ErrDamaged) {
		log, err = sqlite.OpenReadOnly(t.Context(), path)
	}
	if err != nil {
		return map[string]any{"open": err}
	}
	if err := log.Damage(); err != nil {
		require.NoError(t, log.Close())
		return map[string]any{"open": err} // what else is said stands beside this
	}
	note := func(question string, answer any, err error) {
		said[question] = answer
		if err != nil {
			said[question] = err
		}
	}
	for name, query := range map[string]events.RunQuery{
		"all": {Limit: 100}, "of a tenant": {Tenant: events.LocalTenant}, "suspended": {Status: []events.Status{events.StatusSuspended}},
		"search": {Search: "request 7"}, "batch": {Batch: "batch"}, "thread": {Tenant: events.LocalTenant, Thread: "thread-11"},
	} {
		runs, err := log.Runs(t.Context(), query)
		note("runs "+name, runs, err)
	}
	batches, err := log.Batches(t.Context(), events.BatchQuery{})
	note("batches", batches, err)
	for n := range 13 {
		thread := events.ThreadID(fmt.Sprintf("thread-%02d", n))
		if n == 12 {
			thread = "batch"
		}
		events, err := log.ReadEncoded(t.Context(), key(thread), 0, 0)
		note("thread "+string(thread), events, err)
		run, err := log.FindRun(t.Context(), "local", fmt.Sprintf("run-%02d-0", n))
		note(fmt.Sprint("run ", n), run, err)
		holder, _, err := log.Holder(t.Context(), key(thread))
		note("holder "+string(thread), holder, err)
	}
	require.NoError(t, log.Close())
	return said
}

// asTheyWere puts what runs were in the place of what is listed of damaged ones; false where it
// has.
func asTheyWere(runs, truth []events.RunSummary) (whole bool) {
	whole = len(runs) == len(truth)
	for i := range min(len(runs), len(truth)) {
		if runs[i].Damaged != nil && runs[i].Run == truth[i].Run {
			runs[i], whole = truth[i], false
		}
	}
	return whole
}

// Proves R74: a flipped bit anywhere in the file never changes what is said: it is as it
// was, or an error.
func TestFlippedBits(t *testing.T) {
	flips := 60
	if os.Getenv("CONVENE_SOAK") != "" {
		flips = 1000
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "convene.db")
	someRuns(t, path)
	truth := answers(t, path)
	for question, answer := range truth {
		if err, failed := answer.(error); failed {
			require.ErrorIs(t, err, events.ErrNotFound, question)
		}
	}
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	told := 0
	for range flips {
		at, bit := random.IntN(len(content)), byte(1)<<random.IntN(8)
		copied := filepath.Join(dir, "flipped", "convene.db")
		require.NoError(t, os.Mkdir(filepath.Dir(copied), 0o700))
		content[at] ^= bit
		require.NoError(t, os.WriteFile(copied, content, 0o600))
		content[at] ^= bit
		whole := true
		for question, answer := range answers(t, copied) {
			err, failed := answer.(error)
			if runs, listed := answer.([]events.RunSummary); listed {
				whole = !asTheyWere(runs, truth[question].([]events.RunSummary)) && whole
			}
			switch {
			case !failed:
				require.Equal(t, truth[question], answer, "byte %d bit %d: %s", at, bit, question)
				continue
			case errors.Is(err, events.ErrNotFound):
				require.Equal(t, fmt.Sprint(truth[question]), fmt.Sprint(err), "byte %d bit %d: %s", at, bit, question)
				continue
			}
			whole = false
			require.True(t, errors.Is(err, events.ErrDamaged) || errors.Is(err, sqlite.ErrDamaged) || question == "open",
				"byte %d bit %d: %s: %v", at, bit, question, err)
		}
		if whole {
			told++
		}
		require.NoError(t, os.RemoveAll(filepath.Dir(copied)))
	}
	t.Logf("%d flips of %d bytes: %d changed nothing or were repaired", flips, len(content), told)
	require.Less(t, told, flips, "some flips hit what counts")
}
