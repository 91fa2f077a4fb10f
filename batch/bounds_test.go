package batch_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/prices"
	"github.com/convene-run/convene/runner"
)

// priced is a runner whose simulated model costs what the server says it does.
func priced(t testing.TB, log events.Log, baseURL string) *runner.Runner {
	t.Helper()
	table, err := prices.Parse([]byte(`{"models": {"sim/*": {"input": 2, "cached_input": 1, "output": 8}}}`))
	require.NoError(t, err)
	client := openai.New(openai.Config{Config: wire.Config{Provider: "sim", BaseURL: baseURL, APIKey: "key"}})
	r, err := runner.New(runner.Config{Log: log, Models: oneClient{client: client}, Prices: table})
	require.NoError(t, err)
	return r
}

// Proves R74: the bound of a batch's cost holds by the server's own count, and is
// used; runs at the bound wrap up, and a higher bound continues with the rest.
func TestMaxCostHoldsAndIsUsed(t *testing.T) {
	model, baseURL := serve(t, sim.Options{
		FirstToken: time.Millisecond, Price: sim.Price{Input: 2, CachedInput: 1, Output: 8},
	})
	log, files := events.NewMemory(), batch.Files{Input: write(t, "in.jsonl", requests(200)...), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	config := batch.Config{Runner: priced(t, log, baseURL), Team: parse(t, leanTeam), Concurrency: 16, MaxCostUSD: 1}
	report, err := run(t, files, config)
	require.NoError(t, err)
	require.Equal(t, batch.StopBudget, report.Stop.Kind)
	require.Greater(t, report.Left, 0)
	spent := model.Report().CostUSD
	t.Logf("spent %.4f by the server's count, %.4f by ours; %+v", spent, *report.CostUSD, report.Causes)
	require.Greater(t, spent, 0.90)
	require.LessOrEqual(t, spent, 1.0)
	require.Equal(t, report.Rows, report.Completed, "no row is started that would be cut short")

	// The same bound again starts nothing; a higher one goes on.
	again, err := run(t, files, config)
	require.NoError(t, err)
	require.Equal(t, report.Rows, again.Rows)
	config.MaxCostUSD = 1.5
	report, err = run(t, files, config)
	require.NoError(t, err)
	require.Greater(t, model.Report().CostUSD, 0.9*1.5)
	require.LessOrEqual(t, model.Report().CostUSD, 1.5)
	require.Greater(t, report.Rows, again.Rows)
}

// At a bound that nobody could foresee runs wrap up, and the rows say so.
func TestRunsWrapUpAtTheBatchsBound(t *testing.T) {
	model, baseURL := serve(t, sim.Options{Price: sim.Price{Input: 2, CachedInput: 1, Output: 8}})
	files := batch.Files{Input: write(t, "in.jsonl", requests(20)...), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	report, err := run(t, files, batch.Config{
		Runner: priced(t, events.NewMemory(), baseURL), Team: parse(t, leanTeam), Concurrency: 16, MaxCostUSD: 0.12,
	})
	require.NoError(t, err)
	require.Equal(t, batch.StopBudget, report.Stop.Kind)
	require.LessOrEqual(t, model.Report().CostUSD, 0.12)
	require.Greater(t, report.Degraded+report.Failed, 0)
	for _, out := range outputs(t, files.Output) {
		if out.Status != events.StatusCompleted {
			require.Equal(t, string(events.LimitSharedCostUSD), out.Error.Kind)
		}
	}
}

// A bound of money is of no use where a model has no price: an error at the start.
func TestUnpricedModelUnderABound(t *testing.T) {
	table, err := prices.Parse([]byte(`{"models": {}}`))
	require.NoError(t, err)
	r, err := runner.New(runner.Config{Log: events.NewMemory(), Models: oneClient{client: sim.New(sim.Options{})}, Prices: table})
	require.NoError(t, err)
	_, err = batch.New(batch.Config{Runner: r, Team: solo(t), MaxCostUSD: 1})
	require.ErrorContains(t, err, "the price of model sim/sim is unknown")
}

// A bound of tokens holds as one of money does.
func TestMaxTokens(t *testing.T) {
	files := batch.Files{Input: write(t, "in.jsonl", requests(200)...), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	c := config(t, events.NewMemory())
	c.MaxTokens = 20_000
	report, err := run(t, files, c)
	require.NoError(t, err)
	require.Equal(t, batch.StopBudget, report.Stop.Kind)
	require.LessOrEqual(t, report.Usage.Total(), c.MaxTokens)
	require.Greater(t, report.Usage.Total(), c.MaxTokens*8/10)
}

// Rows whose outputs are still being written have room in the budget kept for them.
func TestASlowOutputCutsNoRowShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := batch.Config{
			Runner: newRunner(t, events.NewMemory(), sim.New(sim.Options{FirstToken: time.Second})), Team: parse(t, leanTeam),
			Concurrency: 16, MaxTokens: 400_000,
		}
		rows := make([]batch.Row, 60)
		for i := range rows {
			rows[i].Request = fmt.Sprintf("Plan day %d", i)
		}
		b, err := batch.New(c)
		require.NoError(t, err)
		slow := batch.SinkFunc(func(batch.Output) error {
			time.Sleep(300 * time.Millisecond)
			return nil
		})
		report, err := b.Run(t.Context(), asGiven(rows...), slow)
		require.NoError(t, err)
		require.Equal(t, batch.StopBudget, report.Stop.Kind)
		require.Equal(t, report.Rows, report.Completed)
		require.Greater(t, report.Usage.Total(), c.MaxTokens*8/10)
	})
}

// Too many failures stop new rows; those under way come to their end.
func TestMaxFailures(t *testing.T) {
	lines := requests(1000)
	for i := 0; i < len(lines); i += 20 {
		lines[i] = fmt.Sprintf(`{"id":"r%d"}`, i)
	}
	in := write(t, "in.jsonl", lines...)
	for _, test := range []struct {
		bound string
		most  int
	}{{"3%", 4}, {"10", 11}} {
		c, files := config(t, events.NewMemory()), batch.Files{Input: in, Output: filepath.Join(t.TempDir(), "out.jsonl")}
		var err error
		c.MaxFailures, err = batch.ParseMaxFailures(test.bound)
		require.NoError(t, err)
		require.Equal(t, test.bound, c.MaxFailures.String())
		report, err := run(t, files, c)
		require.NoError(t, err)
		require.Equal(t, batch.StopFailures, report.Stop.Kind)
		require.GreaterOrEqual(t, report.Failed, test.most)
		require.LessOrEqual(t, report.Failed, test.most+c.Concurrency+batch.DefaultConcurrency)
		require.Greater(t, report.Left, 0)
		require.Len(t, outputs(t, files.Output), report.Rows, "rows under way were brought to their end")
		require.Zero(t, report.Suspended)
	}
}

// The batch's time stops it with its runs parked; the same call continues them.
func TestTimeoutParksTheRuns(t *testing.T) {
	const rows = 16
	model, baseURL := serve(t, sim.Options{FirstToken: 20 * time.Millisecond})
	log, files := events.NewMemory(), batch.Files{Input: write(t, "in.jsonl", requests(rows)...), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	c := batch.Config{Runner: priced(t, log, baseURL), Team: parse(t, leanTeam), Concurrency: 8, Timeout: 150 * time.Millisecond}
	report, err := run(t, files, c)
	for ; err == nil && report.Suspended == 0 && report.Left > 0; report, err = run(t, files, c) {
		c.Timeout *= 2 // the machine was busy: no run had begun
	}
	require.NoError(t, err)
	require.Equal(t, batch.StopTimeout, report.Stop.Kind)
	require.Greater(t, report.Suspended, 0)
	require.Equal(t, rows, report.Rows+report.Left)
	c.Timeout = 0
	report, err = run(t, files, c)
	require.NoError(t, err)
	require.Equal(t, rows, report.Completed)
	require.Equal(t, model.Report().Served, report.ModelCalls, "no call was made twice")
}

// What rows cost that have no output yet is in the report, in this call of the batch and
// in the next; it is counted once.
func TestUnfinishedRowsAreCounted(t *testing.T) {
	model, baseURL := serve(t, sim.Options{FirstToken: 20 * time.Millisecond})
	log, files := events.NewMemory(), batch.Files{Input: write(t, "in.jsonl", requests(12)...), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	c := batch.Config{Runner: priced(t, log, baseURL), Team: parse(t, leanTeam), Concurrency: 8}
	for calls := 0; ; calls++ {
		require.Less(t, calls, 50)
		c.Timeout += 100 * time.Millisecond // more each time, so that a slow machine comes to the end too
		report, err := run(t, files, c)
		require.NoError(t, err)
		require.Equal(t, model.Report().Served, report.ModelCalls)
		require.Equal(t, model.Report().Tokens.Total(), report.Usage.Total())
		require.Positive(t, *report.CostUSD)
		if report.Left == 0 {
			require.Positive(t, calls, "it was stopped in between")
			return
		}
	}
}
