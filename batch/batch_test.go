package batch_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// TestMain makes the test binary a process that runs a batch where it is asked to:
// what is killed must be one.
func TestMain(m *testing.M) {
	if work := os.Getenv(workEnv); work != "" {
		os.Exit(workAsAsked(work))
	}
	goleak.VerifyTestMain(m)
}

// oneClient resolves every model to the same client.
type oneClient struct {
	client  llm.Client
	limiter llm.Limiter
}

func (m oneClient) Resolve(...string) (llm.Route, error) {
	return llm.Route{{Endpoint: &llm.Endpoint{Name: "sim", Simulated: true, Client: m.client, Limiter: m.limiter}, Model: "sim"}}, nil
}

// solo is a team that answers in one call, for tests of many rows.
func solo(t testing.TB) *team.Team {
	t.Helper()
	return parse(t, `
name: lean
request: "{{request}}"
specialists:
  - id: writer
    description: Writes.
    prompt: Write.
`)
}

func parse(t testing.TB, text string) *team.Team {
	t.Helper()
	parsed, err := team.Parse("team.yaml", []byte(text))
	require.NoError(t, err)
	return parsed
}

func newRunner(t testing.TB, log events.Log, client llm.Client) *runner.Runner {
	t.Helper()
	r, err := newRunnerOf(log, oneClient{client: client})
	require.NoError(t, err)
	return r
}

func newRunnerOf(log events.Log, models runner.Models) (*runner.Runner, error) {
	return runner.New(runner.Config{Log: log, Models: models})
}

func config(t testing.TB, log events.Log) batch.Config {
	t.Helper()
	return batch.Config{Runner: newRunner(t, log, sim.New(sim.Options{})), Team: solo(t), Solo: true}
}

// write makes a file of lines.
func write(t testing.TB, name string, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return path
}

func requests(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"id":"r%d","request":"Plan day %d","tag":%d}`, i, i, i)
	}
	return lines
}

func run(t testing.TB, files batch.Files, config batch.Config) (batch.Report, error) {
	t.Helper()
	job, err := batch.Open(t.Context(), files, config)
	if err != nil {
		return batch.Report{}, err
	}
	return job.Run(t.Context())
}

func outputs(t testing.TB, path string) []batch.Output {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	var all []batch.Output
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 64<<20)
	for scanner.Scan() {
		var out batch.Output
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &out))
		all = append(all, out)
	}
	require.NoError(t, scanner.Err())
	return all
}

// Proves R72.
func TestThousandRowsOnePoisoned(t *testing.T) {
	rows := 1000
	if race.Enabled {
		rows = 200
	}
	lines, poisoned := requests(rows), rows/2-1
	lines[poisoned] = fmt.Sprintf(`{"id":"r%d","tag":%[1]d}`, poisoned)
	in, out := write(t, "in.jsonl", lines...), filepath.Join(t.TempDir(), "out.jsonl")
	report, err := run(t, batch.Files{Input: in, Output: out}, config(t, events.NewMemory()))
	require.NoError(t, err)
	require.Equal(t, []int{rows, rows - 1, 1, 0}, []int{report.Rows, report.Completed, report.Failed, report.Left})
	for i, o := range outputs(t, out) {
		require.Equal(t, i, o.Index, "in the order of the input")
		require.Equal(t, fmt.Sprintf("r%d", i), o.ID)
		require.JSONEq(t, fmt.Sprintf(`{"tag":%d}`, i), string(o.Input), "unknown columns are kept")
		if i == poisoned {
			require.Equal(t, batch.KindInvalidRow, o.Error.Kind)
			require.Contains(t, o.Error.Message, fmt.Sprintf("line %d", poisoned+1))
			continue
		}
		require.Nil(t, o.Error)
		require.NotEmpty(t, o.Answer)
	}
}

// Proves R72: a team file that was changed between two calls of a batch is refused with
// what is different, before anything is started or written; changed back, the batch
// goes on.
func TestChangedTeamFile(t *testing.T) {
	const file = "name: lean\nspecialists:\n  - id: writer\n    description: Writes.\n    prompt: Write.\n"
	path := write(t, "team.yaml", file)
	client, log := &flaky{Client: sim.New(sim.Options{})}, events.NewMemory()
	client.fixed.Store(true)
	call := func(files batch.Files) (batch.Report, error) {
		standard, err := team.Resolve(path)
		require.NoError(t, err)
		return run(t, files, batch.Config{Runner: newRunner(t, log, client), Team: standard, Concurrency: 2})
	}
	lines := requests(4)
	files := batch.Files{Input: write(t, "in.jsonl", lines[:2]...), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	_, err := call(files)
	require.NoError(t, err)
	asked := client.calls.Load()
	before, err := os.ReadFile(files.Output)
	require.NoError(t, err)
	_, journal := onlyBatch(t, log)

	files.Input = write(t, "more.jsonl", lines...)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(file, "prompt: Write.", "prompt: Write well.", 1)), 0o600))
	_, err = call(files)
	var changed *batch.ChangedError
	require.ErrorAs(t, err, &changed)
	require.Equal(t, []string{`team.specialists[0].prompt: "Write." → "Write well."`}, changed.Differences)
	require.ErrorContains(t, err, "nothing was started")
	require.Equal(t, asked, client.calls.Load())
	after, err := os.ReadFile(files.Output)
	require.NoError(t, err)
	require.Equal(t, before, after)
	_, still := onlyBatch(t, log)
	require.Equal(t, journal, still, "nor is it in the log")

	require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
	report, err := call(files)
	require.NoError(t, err)
	require.Equal(t, 4, report.Completed)
}
