package batch_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/lifetime"
	"github.com/convene-run/convene/llm"
)

// pruned is a model whose call of one number begins a prune, and whose calls from another on
// wait until it is over: so it is under way between calls, and the batch does not end first.
type pruned struct {
	llm.Client
	begin, wait int
	prune       func()
	over        chan struct{}

	mu    sync.Mutex // guards calls
	calls int
}

func (p *pruned) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	p.mu.Lock()
	p.calls++
	n := p.calls
	p.mu.Unlock()
	if n == p.begin {
		go func() {
			defer close(p.over)
			p.prune()
		}()
	}
	if n >= p.wait {
		<-p.over
	}
	return p.Client.Stream(ctx, req)
}

// seed fills a log with runs that ended long ago, as old as their ids say.
func seed(t *testing.T, log events.Log, runs int, at time.Time) {
	t.Helper()
	var all errgroup.Group
	all.SetLimit(512) // they share commits
	for i := range runs {
		all.Go(func() error {
			id := uuid.Must(uuid.NewV7())
			for b, ms := 5, at.UnixMilli(); b >= 0; b, ms = b-1, ms>>8 {
				id[b] = byte(ms)
			}
			key := events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(id.String())}
			epoch, err := log.Claim(t.Context(), key, "seed", false)
			if err != nil {
				return err
			}
			run := events.RunID(id.String())
			if err := log.Append(t.Context(), key, epoch, 0, []events.Envelope{
				{Run: run, Time: at, Data: events.WorkflowStarted{Message: fmt.Sprint("request ", i)}},
				{Run: run, Time: at, Data: events.WorkflowFinished{Status: events.StatusCompleted}},
			}); err != nil {
				return err
			}
			return log.Release(t.Context(), key, epoch)
		})
	}
	require.NoError(t, all.Wait())
}

// Proves R60: 10,000 old runs are pruned while a batch runs, between its appends. Nothing of the
// batch is lost, the file shrinks, and what was parked meanwhile is continued.
func TestPruneWhileABatchRuns(t *testing.T) {
	old := 10_000
	if race.Enabled {
		old = 200
	}
	path := filepath.Join(t.TempDir(), "convene.db")
	log, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	seed(t, log, old, time.Now().Add(-30*24*time.Hour))
	before, err := os.Stat(path)
	require.NoError(t, err)

	const rows = 40
	in, out := write(t, "in.jsonl", requests(rows)...), filepath.Join(t.TempDir(), "out.jsonl")
	var gone lifetime.Pruned
	var pruning error
	var job *batch.FileBatch
	model := &pruned{Client: sim.New(sim.Options{}), begin: rows / 4, wait: rows * 3 / 4, over: make(chan struct{})}
	model.prune = func() {
		soon := time.Now().Add(time.Hour) // by which the rows that have ended are old as well
		rules := lifetime.Every("", lifetime.Ages{Runs: soon, Conversations: soon, Batches: soon, SavedState: soon})
		gone, pruning = lifetime.Prune(t.Context(), log, rules, false)
		job.Halt()
	}
	c := config(t, log)
	c.Runner, c.Concurrency = newRunner(t, log, model), 4
	job, err = batch.Open(t.Context(), batch.Files{Input: in, Output: out}, c)
	require.NoError(t, err)
	report, err := job.Run(t.Context())
	require.NoError(t, err)
	require.NoError(t, pruning)
	require.Equal(t, lifetime.Pruned{Threads: old, Runs: old}, gone)
	require.Greater(t, report.Completed, model.begin)
	require.Less(t, report.Completed, rows, "it was stopped")
	listed, err := log.Totals(t.Context(), events.RunQuery{Tenant: events.LocalTenant})
	require.NoError(t, err)
	require.GreaterOrEqual(t, listed.Runs, report.Completed)
	require.Equal(t, listed.Runs, listed.Rows, "nothing but the batch is left")

	report, err = run(t, batch.Files{Input: in, Output: out}, config(t, log))
	require.NoError(t, err)
	require.Equal(t, rows, report.Completed)
	for i, o := range outputs(t, out) {
		require.Equal(t, fmt.Sprintf("r%d", i), o.ID)
		require.Equal(t, events.StatusCompleted, o.Status)
	}
	_, err = log.Check(t.Context(), func(d sqlite.Damage) { t.Errorf("%+v", d) })
	require.NoError(t, err)

	_, after, err := log.Compact(t.Context())
	require.NoError(t, err)
	require.Less(t, after, before.Size()/2)
}
