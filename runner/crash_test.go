package runner_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/eventstest"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/thread"
)

var errDied = errors.New("the process died here")

// dying gives a log in memory whose process dies at its nth append, 0 for never: before
// the events are durable, or right after. What outlives it is the log within.
func dying(at int, after bool) *eventstest.Failpoint {
	if at == 0 {
		return eventstest.NewFailpoint(events.NewMemory(), func(eventstest.Point) error { return nil })
	}
	return eventstest.NewFailpoint(events.NewMemory(), eventstest.FailAt(eventstest.Point{Append: at, After: after}, errDied))
}

// modelCalls counts the calls that a thread tells of.
func modelCalls(t testing.TB, log events.Reader, key events.ThreadKey) int64 {
	t.Helper()
	called, err := log.Read(context.Background(), key, 0, 0, events.KindModelCalled)
	require.NoError(t, err)
	return int64(len(called))
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
	for _, early := range []bool{false, true} {
		for _, cut := range []bool{false, true} {
			t.Run(fmt.Sprintf("early=%v cut=%v", early, cut), func(t *testing.T) {
				resumeAfterDeathAtEveryAppend(t, func() llm.Client {
					options := sim.Options{EarlyDispatch: early}
					if !cut {
						return sim.New(options)
					}
					options.Behaviour = sim.BehaveOnce
					return cutDispatches{sim.New(options)}
				})
			})
		}
	}
}

func resumeAfterDeathAtEveryAppend(t *testing.T, model func() llm.Client) {
	job := runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")}
	whole := &counting{Client: model()}
	log := dying(0, false)
	run, err := newRunner(t, log, whole).Start(t.Context(), job)
	require.NoError(t, err)
	_, err = run.Wait()
	require.NoError(t, err)
	tasks, document, _ := picture(t, log, run.Key())
	require.NotEmpty(t, document)

	from, step := race.Every(10, 2)
	for at := from; at <= log.Appends(); at += step { // the first is workflow_started: without it there is no run
		for _, after := range []bool{false, true} {
			client := &counting{Client: model()}
			log := dying(at, after)
			run, err := newRunner(t, log, client).Start(t.Context(), job)
			require.NoError(t, err)
			_, err = run.Wait()
			if err == nil && log.Appends() < at {
				continue // this run's specialists shared more appends than the first's
			}
			require.ErrorIs(t, err, errDied)
			inFlight := client.calls.Load() - modelCalls(t, log.Log, run.Key())

			resumed, err := newRunner(t, log.Log, client).Resume(t.Context(), "", run.ID(), runner.Terms{})
			if errors.Is(err, events.ErrRunOver) {
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
