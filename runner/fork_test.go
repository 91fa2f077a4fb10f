package runner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/eventstest"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/runner"
)

// Proves R73 for forks: from any point of a finished run a new one starts with the
// facts up to there, asks only what was not asked, and comes to its end; the other
// run stays as it is.
func TestForkFromAnyPoint(t *testing.T) {
	log := events.NewMemory()
	r := newRunner(t, log, sim.New(sim.Options{}))
	first, err := r.Start(t.Context(), runner.Job{Request: "Plan two days in Kyoto", Team: builtin(t, "trip")})
	require.NoError(t, err)
	result, err := first.Wait()
	require.NoError(t, err)
	before, err := log.Read(t.Context(), first.Key(), 0, 0)
	require.NoError(t, err)

	for at := events.Seq(1); ; at += 7 {
		for _, instruction := range []string{"", "Keep it cheap."} {
			fork, err := r.Fork(t.Context(), "", first.ID(), runner.Change{At: at, Instruction: instruction})
			if at >= events.Seq(len(before)-1) || before[at-1].Data.Kind() == events.KindWorkflowFinished {
				break
			}
			require.NoError(t, err, "at %d", at)
			forked, err := fork.Wait()
			require.NoError(t, err)
			require.Equal(t, events.StatusCompleted, forked.Status, "at %d: %s", at, forked.Reason)
			require.NotEqual(t, first.ID(), fork.ID())
			require.NotEqual(t, first.Key(), fork.Key())
			envs, err := log.Read(t.Context(), fork.Key(), 0, 0)
			require.NoError(t, err)
			requireOrigin(t, envs, before, events.ForkOrigin{Run: first.ID(), Thread: first.Key().Thread, Seq: at, Instruction: instruction})
			told := 0
			for _, env := range envs {
				if m, ok := env.Data.(events.UserMessage); ok && m.Content == "Keep it cheap." {
					told++
				}
			}
			require.Equal(t, instruction != "", told == 1)
		}
		if at > events.Seq(len(before)) {
			break
		}
	}
	after, err := log.Read(t.Context(), first.Key(), 0, 0)
	require.NoError(t, err)
	require.Equal(t, before, after)

	// A fork of a fork tells of the nearer one.
	other, err := r.Fork(t.Context(), "", first.ID(), runner.Change{At: 4, Model: "other"})
	require.NoError(t, err)
	_, err = other.Wait()
	require.NoError(t, err)
	another, err := r.Fork(t.Context(), "", other.ID(), runner.Change{At: 5})
	require.NoError(t, err)
	_, err = another.Wait()
	require.NoError(t, err)
	ours, err := log.Read(t.Context(), other.Key(), 0, 0)
	require.NoError(t, err)
	requireOrigin(t, ours, before, events.ForkOrigin{Run: first.ID(), Thread: first.Key().Thread, Seq: 4, Model: "other"})
	theirs, err := log.Read(t.Context(), another.Key(), 0, 0)
	require.NoError(t, err)
	requireOrigin(t, theirs, ours, events.ForkOrigin{Run: other.ID(), Thread: other.Key().Thread, Seq: 5})

	_, err = r.Fork(t.Context(), "", first.ID(), runner.Change{At: events.Seq(len(before))})
	require.ErrorContains(t, err, "is over: fork it at an earlier event")
	_, err = r.Fork(t.Context(), "", first.ID(), runner.Change{At: 100_000})
	require.ErrorContains(t, err, "cannot be forked at 100000")
	require.Equal(t, events.StatusCompleted, result.Status)
}

// requireOrigin checks what the first event of a fork says of its origin, and that
// the facts up to there are the origin's. An instruction may be told before the
// point that was asked for: it waits for the end of a turn.
func requireOrigin(t *testing.T, fork, origin []events.Envelope, want events.ForkOrigin) {
	t.Helper()
	got := fork[0].Data.(events.WorkflowStarted).ForkedFrom
	require.NotNil(t, got)
	kept := got.Seq
	if want.Instruction != "" {
		require.LessOrEqual(t, kept, want.Seq)
		require.Equal(t, events.KindUserMessage, fork[kept].Data.Kind())
		want.Seq = kept
	}
	require.Equal(t, want, *got)
	for i := events.Seq(1); i < kept; i++ {
		require.Equal(t, origin[i].Data, fork[i].Data)
	}
}

// A run says whose row it works on; its fork is nobody's row.
func TestForkOfABatchsRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		r := newRunner(t, log, sim.New(sim.Options{FirstToken: time.Second}))
		row := &events.BatchRow{Batch: "8a7b6c5d-1234-4abc-8def-0123456789ab", Row: "q-7", Index: 6, Attempt: 1}
		run, err := r.Start(t.Context(), runner.Job{Request: "Plan a day", Team: builtin(t, "trip"), Solo: true, Batch: row})
		require.NoError(t, err)
		require.Same(t, run, r.Driven(run.Key()))
		_, err = run.Wait()
		require.NoError(t, err)
		require.Nil(t, r.Driven(run.Key()))
		fork, err := r.Fork(t.Context(), "", run.ID(), runner.Change{At: 1})
		require.NoError(t, err)
		_, err = fork.Wait()
		require.NoError(t, err)
		rows, err := log.Runs(t.Context(), events.RunQuery{Batch: row.Batch})
		require.NoError(t, err)
		require.Len(t, rows, 1)
		require.Equal(t, run.ID(), rows[0].Run)
		require.Equal(t, row, rows[0].Batch)
	})
}

// What is claimed for something else than a run is not to be had for one, nor twice.
func TestClaimKeepsAThread(t *testing.T) {
	r := newRunner(t, events.NewMemory(), sim.New(sim.Options{}))
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: "8a7b6c5d-1234-4abc-8def-0123456789ab"}
	epoch, err := r.Claim(t.Context(), key)
	require.NoError(t, err)
	_, err = r.Claim(t.Context(), key)
	require.ErrorIs(t, err, events.ErrHeld)
	job := runner.Job{Request: "Plan a day", Team: builtin(t, "trip"), Solo: true, Thread: key.Thread}
	_, err = r.Start(t.Context(), job)
	require.ErrorIs(t, err, events.ErrHeld)
	r.Release(key, epoch)
	run, err := r.Start(t.Context(), job)
	require.NoError(t, err)
	_, err = run.Wait()
	require.NoError(t, err)
}

// claimed is a log that notes the threads claimed in it.
type claimed struct {
	events.Log
	keys []events.ThreadKey
}

func (c *claimed) Claim(ctx context.Context, key events.ThreadKey, owner events.Owner, takeOver bool) (events.Epoch, error) {
	c.keys = append(c.keys, key)
	return c.Log.Claim(ctx, key, owner, takeOver)
}

// A fork whose facts cannot be written holds no thread afterwards.
func TestForkThatCannotBeWritten(t *testing.T) {
	for _, after := range []bool{false, true} {
		memory := events.NewMemory()
		first, err := newRunner(t, memory, sim.New(sim.Options{})).Start(t.Context(), runner.Job{Request: "Plan two days in Kyoto", Team: builtin(t, "trip")})
		require.NoError(t, err)
		_, err = first.Wait()
		require.NoError(t, err)
		log := &claimed{Log: eventstest.NewFailpoint(memory, eventstest.FailAt(eventstest.Point{Append: 1, After: after}, errDied))}
		_, err = newRunner(t, log, sim.New(sim.Options{})).Fork(t.Context(), "", first.ID(), runner.Change{At: 4})
		require.ErrorIs(t, err, errDied)
		require.Len(t, log.keys, 1)
		owner, _, err := memory.Holder(t.Context(), log.keys[0])
		require.NoError(t, err)
		require.Empty(t, owner)
	}
}
