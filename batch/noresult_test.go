package batch_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/team"
)

// Proves R79: a row whose tool calls all came in garbled is not completed, whatever its
// answer claims; a direct answer is.
func TestRowsWhoseToolsBroughtNothing(t *testing.T) {
	trip, err := team.Builtin("trip")
	require.NoError(t, err)
	garbled := llmtest.Calls("", llmtest.Call("create_tasks", `{"tasks": [{"te`))
	client := llmtest.Script(t, llmtest.Agent("", garbled, garbled, llmtest.Says("All done."), llmtest.Says("Hello.")))
	log := events.NewMemory()
	files := batch.Files{Input: write(t, "in.jsonl", `{"id":"a","request":"Plan a day"}`, `{"id":"b","request":"Hello"}`), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	report, err := run(t, files, batch.Config{Runner: newRunner(t, log, client), Team: trip, Concurrency: 1})
	require.NoError(t, err)
	require.Equal(t, 1, report.Degraded)
	rows := outputs(t, files.Output)
	require.Equal(t, events.StatusDegraded, rows[0].Status)
	require.Equal(t, "All done.", rows[0].Answer)
	require.Equal(t, &batch.OutputError{Kind: batch.KindNoResult, Message: "no tool call succeeded, of 2"}, rows[0].Error)
	require.Equal(t, events.StatusCompleted, rows[1].Status)
}
