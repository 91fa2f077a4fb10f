package lifetime_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"
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
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
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

// seed fills a log with runs that ended long ago.
func seed(t *testing.T, log events.Log, runs int, at time.Time) {
	t.Helper()
	var all errgroup.Group
	all.SetLimit(512) // they share commits
	for i := range runs {
		all.Go(func() error {
			key, run := events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(uuid.NewString())}, runID(at)
			epoch, err := log.Claim(t.Context(), key, "seed", false)
			if err != nil {
				return err
			}
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

// Resolve implements [runner.Models].
func (p *pruned) Resolve(...string) (llm.Route, error) {
	return llm.Route{{Endpoint: &llm.Endpoint{Name: "sim", Simulated: true, Client: p}, Model: "sim"}}, nil
}

// rows is a batch of so many, by a team that answers in one call.
func rows(t *testing.T, log events.Log, model *pruned, files batch.Files) *batch.FileBatch {
	t.Helper()
	r, err := runner.New(runner.Config{Log: log, Models: model})
	require.NoError(t, err)
	lean, err := team.Parse("team.yaml", []byte("name: lean\nrequest: \"{{request}}\"\nspecialists:\n  - id: writer\n    description: Writes.\n    prompt: Write.\n"))
	require.NoError(t, err)
	job, err := batch.Open(t.Context(), files, batch.Config{Runner: r, Team: lean, Solo: true, Concurrency: 4})
	require.NoError(t, err)
	return job
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

	const wanted = 40
	files := batch.Files{Input: filepath.Join(t.TempDir(), "in.jsonl"), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	var input strings.Builder
	for i := range wanted {
		fmt.Fprintf(&input, "{\"id\":\"r%d\",\"request\":\"Plan day %[1]d\"}\n", i)
	}
	require.NoError(t, os.WriteFile(files.Input, []byte(input.String()), 0o600))
	var gone map[events.TenantID]lifetime.Pruned
	var pruning error
	var job *batch.FileBatch
	model := &pruned{Client: sim.New(sim.Options{}), begin: wanted / 4, wait: wanted * 3 / 4, over: make(chan struct{})}
	model.prune = func() {
		soon := time.Now().Add(time.Hour) // by which the rows that have ended are old as well
		rules := lifetime.Every("", lifetime.Ages{Runs: soon, Conversations: soon, Batches: soon, SavedState: soon})
		gone, pruning = lifetime.Prune(t.Context(), log, rules, false)
		job.Halt()
	}
	job = rows(t, log, model, files)
	report, err := job.Run(t.Context())
	require.NoError(t, err)
	require.NoError(t, pruning)
	require.Equal(t, lifetime.Pruned{Threads: old, Runs: old}, lifetime.Sum(gone))
	require.Greater(t, report.Completed, model.begin)
	require.Less(t, report.Completed, wanted, "it was stopped")
	listed, err := log.Totals(t.Context(), events.RunQuery{Tenant: events.LocalTenant})
	require.NoError(t, err)
	require.GreaterOrEqual(t, listed.Runs, report.Completed)
	require.Equal(t, listed.Runs, listed.Rows, "nothing but the batch is left")

	report, err = rows(t, log, &pruned{Client: sim.New(sim.Options{}), wait: math.MaxInt}, files).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, wanted, report.Completed)
	output, err := os.ReadFile(files.Output)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	require.Len(t, lines, wanted)
	for i, line := range lines {
		require.Contains(t, line, fmt.Sprintf(`"id":"r%d"`, i))
		require.Contains(t, line, `"status":"completed"`)
	}
	_, err = log.Check(t.Context(), func(d sqlite.Damage) { t.Errorf("%+v", d) })
	require.NoError(t, err)

	before, after, err := log.Compact(t.Context())
	require.NoError(t, err)
	if !race.Enabled { // a few runs are less than the batch
		require.Less(t, after, before/2)
	}
}
