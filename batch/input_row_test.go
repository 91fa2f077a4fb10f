package batch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// A row whose run asks a person is parked and has no output; once somebody has answered in
// its thread, the batch, run again, has its result. Other policies answer it, or fail it.
func TestRowsThatAskForInput(t *testing.T) {
	trip, err := team.Builtin("trip")
	require.NoError(t, err)
	ask := llmtest.Calls("", llmtest.Call("ask_user", map[string]any{"question": "Which city?"}))
	script := llmtest.Script(t, llmtest.Agent("", ask, llmtest.Says("Off to Nara."), ask, llmtest.Says("Off to Kyoto."), ask))
	log := events.NewMemory()
	r := newRunner(t, log, script)
	rows := asGiven(batch.Row{Request: "Plan a day"})
	run := func(c batch.Config) (report batch.Report, outputs []batch.Output) {
		c.Runner, c.Team, c.Concurrency = r, trip, 1
		b, err := batch.New(c)
		require.NoError(t, err)
		report, err = b.Run(t.Context(), rows, batch.SinkFunc(func(out batch.Output) error {
			outputs = append(outputs, out)
			return nil
		}))
		require.NoError(t, err)
		return report, outputs
	}

	identity := batch.NewIdentity()
	report, outputs := run(batch.Config{Identity: identity})
	require.Equal(t, 1, report.Suspended)
	require.Empty(t, outputs)
	require.Equal(t, batch.StopInput, report.Stop.Kind)
	require.Contains(t, report.Stop.Message, "1 of the rows left ask a person")
	parked, err := log.Runs(t.Context(), events.RunQuery{Status: []events.Status{events.StatusAwaitingInput}})
	require.NoError(t, err)
	require.Len(t, parked, 1)
	receipt, err := r.Send(t.Context(), runner.Job{Tenant: parked[0].Tenant, Thread: parked[0].Thread, Request: "Nara"})
	require.NoError(t, err)
	require.Equal(t, parked[0].Run, receipt.RunID)
	_, err = receipt.Run.Wait()
	require.NoError(t, err)
	report, outputs = run(batch.Config{Identity: identity, Resumed: true})
	require.Equal(t, 1, report.Completed)
	require.Equal(t, "Off to Nara.", outputs[0].Answer)

	report, outputs = run(batch.Config{Identity: batch.NewIdentity(), OnInput: runner.AnswerOnInput("Kyoto")})
	require.Equal(t, 1, report.Completed)
	require.Equal(t, "Off to Kyoto.", outputs[0].Answer)
	report, outputs = run(batch.Config{Identity: batch.NewIdentity(), OnInput: runner.FailOnInput})
	require.Equal(t, 1, report.Failed)
	require.Contains(t, outputs[0].Error.Message, "nobody is there to answer")
}
