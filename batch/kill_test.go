package batch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
)

// killsEnv sets how many times a batch of 300 rows is killed. Without it there are
// fewer rows and kills, so that the suite stays quick.
const killsEnv = "CONVENE_KILLS"

const leanTeam = `
name: lean
specialists:
  - id: food
    description: Knows how a place eats.
    prompt: You know how a place eats.
  - id: sights
    description: Knows what to see.
    prompt: You know what to see.
`

// Proves R72, R73: killed at random moments and resumed, a batch has every row once,
// pays for no finished call twice, and adds up what it used.
func TestKilledAtRandomMoments(t *testing.T) {
	race.Processes(t)
	kills, rows := 30, 60
	if text := os.Getenv(killsEnv); text != "" {
		var err error
		kills, err = strconv.Atoi(text)
		require.NoError(t, err)
		rows = 300
	}
	for _, unordered := range []bool{false, true} {
		t.Run(fmt.Sprintf("unordered=%t", unordered), func(t *testing.T) { killed(t, rows, kills/2, unordered) })
	}
}

func killed(t *testing.T, rows, kills int, unordered bool) {
	lines := make([]string, rows)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"id":"r%d","request":"Plan journey number %d to Kyoto"}`, i, i)
	}
	model, baseURL := serve(t, sim.Options{FirstToken: 5 * time.Millisecond})
	w := work{
		Dir: t.TempDir(), BaseURL: baseURL, Input: write(t, "in.jsonl", lines...),
		Team: leanTeam, Concurrency: 16, Unordered: unordered,
	}
	lost := 0
	for kill := range kills {
		cmd, _, stderr := w.start(t, "")
		time.Sleep(30*time.Millisecond + time.Duration(rand.IntN(int(3*time.Second)/(kills+1))))
		if kill == 0 { // so that there is a batch, however slow the machine
			require.Eventually(t, func() bool { return model.Report().Requests > 0 }, time.Minute, time.Millisecond)
		}
		require.NoError(t, cmd.Process.Kill())
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() > 0 {
			require.NoError(t, err, "%s", stderr)
		}
		require.Eventually(t, func() bool { return model.Report().InFlight == 0 }, time.Minute, time.Millisecond)
		served, _ := model.counts()
		lost += max(served-calls(t, w), 0)
	}
	if killed := journaled(t, w); killed.Done < rows {
		require.Equal(t, events.StatusRunning, killed.Status, "as the log has it; that nobody holds it tells the rest")
	}
	report := w.finish(t)
	require.Equal(t, []int{rows, 0, 0}, []int{report.Completed, report.Failed + report.Degraded, report.Left})
	require.Equal(t, events.StatusCompleted, journaled(t, w).Status)
	require.Equal(t, rows, journaled(t, w).Completed)

	all, usage, cost := outputs(t, w.output()), events.Usage{}, 0.0
	require.Len(t, all, rows)
	seen := map[string]bool{}
	for i, out := range all {
		require.False(t, seen[out.ID], "row %s is there twice", out.ID)
		seen[out.ID] = true
		require.True(t, unordered || out.Index == i)
		usage, cost = usage.Add(out.Usage), cost+*out.CostUSD
	}
	require.Equal(t, usage, report.Usage)
	require.InDelta(t, cost, *report.CostUSD, 1e-6)
	_, again := model.counts()
	require.LessOrEqual(t, again, lost, "only calls whose reply never reached the log are made again")
	t.Logf("%d calls in the log, %d replies lost with a process, %d made again", calls(t, w), lost, again)

	require.Equal(t, rows, runs(t, w), "no row was started twice")
	before := model.Report().Requests
	require.Equal(t, report.Usage, w.finish(t).Usage)
	require.Equal(t, before, model.Report().Requests, "a finished batch asks nobody")
}

// calls counts the model calls in the log of the work's runs.
func calls(t testing.TB, w work) int {
	total := 0
	eachRun(t, w, func(run events.RunSummary) { total += run.ModelCalls })
	return total
}

func runs(t testing.TB, w work) int {
	total := 0
	eachRun(t, w, func(events.RunSummary) { total++ })
	return total
}

func eachRun(t testing.TB, w work, visit func(events.RunSummary)) {
	t.Helper()
	log, err := sqlite.Open(context.Background(), w.store())
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	query := events.RunQuery{Tenant: events.LocalTenant, Limit: 1000}
	for {
		page, err := log.Runs(t.Context(), query)
		require.NoError(t, err)
		for _, run := range page {
			visit(run)
		}
		if len(page) < query.Limit {
			return
		}
		query.Before = page[len(page)-1].Run
	}
}

// journaled gives the summary of the work's one batch, which nobody holds.
func journaled(t testing.TB, w work) events.BatchSummary {
	t.Helper()
	log, err := sqlite.Open(context.Background(), w.store())
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	summary, _ := onlyBatch(t, log)
	owner, _, err := log.Holder(t.Context(), batchKey(summary))
	require.NoError(t, err)
	require.Empty(t, owner)
	return summary
}

// A last line that was not written whole is written again, from the log.
func TestTornLastLineIsRepaired(t *testing.T) {
	race.Processes(t)
	model, baseURL := serve(t, sim.Options{})
	w := work{Dir: t.TempDir(), BaseURL: baseURL, Input: write(t, "in.jsonl", requests(20)...), Team: leanTeam, Solo: true, Concurrency: 4}
	w.finish(t)
	whole, err := os.ReadFile(w.output())
	require.NoError(t, err)
	asked := model.Report().Requests
	for _, cut := range []int{1, 2, 10, 200, len(whole) / 2, len(whole)} {
		require.NoError(t, os.Truncate(w.output(), int64(len(whole)-cut)))
		report := w.finish(t)
		require.Equal(t, 20, report.Completed)
		repaired, err := os.ReadFile(w.output())
		require.NoError(t, err)
		require.Equal(t, string(whole), string(repaired), "cut %d", cut)
	}
	require.NoError(t, os.Remove(w.output()))
	require.Equal(t, 20, w.finish(t).Completed)
	require.Equal(t, asked, model.Report().Requests, "no row was run again")
}
