package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
)

// Proves R24, R73: at an endpoint of four places, with 64 rows that want them, ^C and the
// end of the terminal let the calls in flight end and make no other: the process ends
// with them, and its report counts what rows cost that have no output. Under nohup the
// end of the terminal is nothing.
func TestStopWithFullQueues(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	for _, test := range []struct {
		name  string
		nohup bool
		press syscall.Signal
	}{{"^C", false, syscall.SIGINT}, {"hangup", false, syscall.SIGHUP}, {"nohup", true, syscall.SIGINT}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.press == syscall.SIGHUP && signal.Ignored(syscall.SIGHUP) {
				t.Skip("SIGHUP is ignored here, as under nohup")
			}
			const firstToken = 1500 * time.Millisecond
			server := sim.NewServer(sim.Options{FirstToken: firstToken, Faults: sim.Faults{MaxInFlight: 4, RetryAfter: 50 * time.Millisecond}})
			served := httptest.NewServer(server)
			defer served.Close()
			dir := t.TempDir()
			var rows strings.Builder
			for i := range 64 {
				fmt.Fprintf(&rows, "%s, variant %d\n", killRequest, i)
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, "in.txt"), []byte(rows.String()), 0o600))
			args := []string{
				"convene", "batch", filepath.Join(dir, "in.txt"), "--format", "lines", "-o", filepath.Join(dir, "out.jsonl"), "--json",
				"--concurrency", "64", "--store", filepath.Join(dir, "s.db"), "--base-url", served.URL + "/v1", "--team", "trip", "--model", "openai/o3",
			}
			if test.nohup {
				args = append([]string{"nohup"}, args...)
			}
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Env = append(os.Environ(), "OPENAI_API_KEY=none")
			var said bytes.Buffer
			cmd.Stderr = &said
			require.NoError(t, cmd.Start())
			defer func() { _ = cmd.Process.Kill() }()
			require.Eventually(t, func() bool { return server.Report().Served >= 4 && server.Report().InFlight == 4 }, time.Minute, 5*time.Millisecond)
			if test.nohup {
				require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
				before := server.Report().Served
				require.Eventually(t, func() bool { return server.Report().Served >= before+4 }, time.Minute, 5*time.Millisecond, "it works on")
			}
			sent := server.Report()
			require.NoError(t, cmd.Process.Signal(test.press))
			_ = cmd.Wait()
			require.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode(), said.String())
			after := server.Report()
			begun := func(r sim.Report) int { return r.Served + r.Unfinished + r.InFlight }
			// A signal may be late on a loaded machine; a queue that is paid for has 56 more.
			require.LessOrEqual(t, begun(after), begun(sent)+8, "what was on its way when the signal came")
			lines := strings.Split(strings.TrimSpace(said.String()), "\n")
			var report struct {
				Type       string
				ModelCalls int     `json:"model_calls"`
				CostUSD    float64 `json:"cost_usd"`
				Usage      struct {
					Input  int64 `json:"input_tokens"`
					Output int64 `json:"output_tokens"`
				}
			}
			require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &report), said.String())
			require.Equal(t, "report", report.Type)
			require.Equal(t, after.Served, report.ModelCalls)
			require.Equal(t, after.Tokens.Total(), report.Usage.Input+report.Usage.Output)
			require.Positive(t, report.CostUSD)
		})
	}
}
