package runner_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/sim"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/thread"
)

var errDied = errors.New("the process died here")

// dying is a log whose process dies at its nth append: before the events are
// durable, or right after.
type dying struct {
	events.Log
	at    int
	after bool
	mu    sync.Mutex
	// appends are those so far, logged the model calls in them.
	appends int
	logged  int64
	dead    bool
}

func (d *dying) Append(ctx context.Context, key events.ThreadKey, epoch events.Epoch, after events.Seq, envs []events.Envelope) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return errDied
	}
	d.appends++
	die := d.appends == d.at
	if !die || d.after {
		if err := d.Log.Append(ctx, key, epoch, after, envs); err != nil {
			return err
		}
		for _, env := range envs {
			if env.Data.Kind() == events.KindModelCalled {
				d.logged++
			}
		}
	}
	if die {
		d.dead = true
		return errDied
	}
	return nil
}

// counting counts the calls that a client is asked for.
type counting struct {
	llm.Client
	calls atomic.Int64
}

func (c *counting) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	c.calls.Add(1)
	return c.Client.Stream(ctx, req)
}

// picture is what must be the same however often a run was killed.
func picture(t testing.TB, log events.Log, key events.ThreadKey) (tasks []events.Task, document []string, run *thread.Run) {
	t.Helper()
	envs, err := log.Read(context.Background(), key, 0, 0)
	require.NoError(t, err)
	th := thread.New()
	for _, env := range envs {
		require.NoError(t, th.Apply(env))
	}
	run = th.Current()
	for _, version := range run.Document.Versions() {
		entry, _ := run.Document.Entry(events.EntryID(version.Version))
		document = append(document, fmt.Sprintf("%s/%s %s: %s", entry.Section, entry.Slot, entry.Author, entry.Content))
	}
	slices.Sort(document)
	return run.Board.Tasks(), document, run
}

// Proves R73: a process that dies before or after any append loses nothing,
// doubles nothing and repeats only the calls that were in flight.
func TestResumeAfterDeathAtEveryAppend(t *testing.T) {
	for _, options := range []sim.Options{{}, {EarlyDispatch: true}} {
		t.Run(fmt.Sprintf("early=%v", options.EarlyDispatch), func(t *testing.T) {
			resumeAfterDeathAtEveryAppend(t, options)
		})
	}
}

func resumeAfterDeathAtEveryAppend(t *testing.T, options sim.Options) {
	job := runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")}
	whole := &counting{Client: sim.New(options)}
	log := &dying{Log: events.NewMemory()}
	run, err := newRunner(t, log, whole).Start(t.Context(), job)
	require.NoError(t, err)
	_, err = run.Wait()
	require.NoError(t, err)
	tasks, document, _ := picture(t, log, run.Key())
	require.NotEmpty(t, document)

	for at := 2; at <= log.appends; at++ { // the first is workflow_started: without it there is no run
		for _, after := range []bool{false, true} {
			client := &counting{Client: sim.New(options)}
			log := &dying{Log: events.NewMemory(), at: at, after: after}
			run, err := newRunner(t, log, client).Start(t.Context(), job)
			require.NoError(t, err)
			_, err = run.Wait()
			if !log.dead {
				continue // this run's specialists shared more appends than the first's
			}
			require.ErrorIs(t, err, errDied)
			inFlight := client.calls.Load() - log.logged

			resumed, err := newRunner(t, log.Log, client).Resume(t.Context(), "", string(run.ID()))
			if errors.Is(err, runner.ErrOver) {
				continue // it died after the last append
			}
			require.NoError(t, err)
			result, err := resumed.Wait()
			require.NoError(t, err)
			where := fmt.Sprintf("append %d after=%v", at, after)
			require.Equal(t, events.StatusCompleted, result.Status, "%s: %s", where, result.Reason)
			gotTasks, gotDocument, _ := picture(t, log.Log, run.Key())
			require.Equal(t, tasks, gotTasks, where)
			require.Equal(t, document, gotDocument, where)
			require.LessOrEqual(t, client.calls.Load(), whole.calls.Load()+inFlight, where)
		}
	}
}
