package runner_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
)

// claims is a log that counts the commits which only claim or release, and the reads of a
// thread, and keeps who claimed the newest with its first events.
type claims struct {
	*events.Memory
	claims, releases, reads int
	first                   events.Owner
}

func (c *claims) AppendFirst(ctx context.Context, key events.ThreadKey, owner events.Owner, envs []events.Envelope) (events.Epoch, error) {
	c.first = owner
	return c.Memory.AppendFirst(ctx, key, owner, envs)
}

func (c *claims) Claim(ctx context.Context, key events.ThreadKey, owner events.Owner, takeOver bool) (events.Epoch, error) {
	c.claims++
	return c.Memory.Claim(ctx, key, owner, takeOver)
}

func (c *claims) Release(ctx context.Context, key events.ThreadKey, epoch events.Epoch) error {
	c.releases++
	return c.Memory.Release(ctx, key, epoch)
}

func (c *claims) Read(ctx context.Context, key events.ThreadKey, after events.Seq, limit int, kinds ...events.Kind) ([]events.Envelope, error) {
	c.reads++
	return c.Memory.Read(ctx, key, after, limit, kinds...)
}

// A run of a thread of its own claims it with its first events and releases it with its last. A
// thread that is said to be new and is not is found out, and goes on.
func TestRunOfANewThread(t *testing.T) {
	log := &claims{Memory: events.NewMemory()}
	r := owned(t, log, llmtest.Script(t, ordinary()...), "driver")
	job := job
	job.Team = pair()
	run, err := r.Start(t.Context(), job)
	require.NoError(t, err)
	require.Equal(t, events.Owner("driver"), log.first)
	_, err = run.Wait()
	require.NoError(t, err)
	require.Equal(t, []int{0, 0, 0}, []int{log.claims, log.releases, log.reads})
	owner, _, err := log.Holder(t.Context(), run.Key())
	require.NoError(t, err)
	require.Empty(t, owner)

	job.Thread, job.Run, job.Fresh = run.Key().Thread, events.RunID(uuid.Must(uuid.NewV7()).String()), true
	other := owned(t, log, llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Again"))), "other") // which knows nothing of the thread
	epoch, err := log.Memory.Claim(t.Context(), run.Key(), "somebody", false)
	require.NoError(t, err)
	_, err = other.Start(t.Context(), job)
	require.ErrorIs(t, err, events.ErrHeld)
	require.NoError(t, log.Memory.Release(t.Context(), run.Key(), epoch))
	again, err := other.Start(t.Context(), job)
	require.NoError(t, err)
	_, err = again.Wait()
	require.NoError(t, err)
	envs, err := log.Memory.Read(t.Context(), run.Key(), 0, 0, events.KindWorkflowStarted)
	require.NoError(t, err)
	require.Len(t, envs, 2)
	require.Equal(t, run.ID(), envs[1].Data.(events.WorkflowStarted).Follows)
	_, err = other.Start(t.Context(), job)
	var refused *runner.InputError
	require.ErrorAs(t, err, &refused, "the log has its run")
}
