package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
)

// Proves R74: ten budgets of runs and batches, of tokens and of money, at an endpoint
// that cuts streams, refuses and fails: by the count of the server, to which our process
// is another one, no bound is exceeded by more than the calls in flight. What the log
// says is what the server says, and the bound is used.
func TestBudgetsUnderFaults(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	var cut atomic.Int64
	t.Cleanup(func() { require.Greater(t, cut.Load(), int64(20), "streams were cut") })
	for _, test := range []struct {
		faults string
		bound  []string
		amount float64
		rows   int
	}{
		{"cut=10%", []string{"--max-tokens", "16000"}, 16_000, 0},
		{"cut=20%", []string{"--max-tokens", "16000"}, 16_000, 0},
		{"cut=40%", []string{"--max-tokens", "20000"}, 20_000, 0},
		{"503=10%,429=10%,cut=30%,retry-after=10ms", []string{"--max-tokens", "20000"}, 20_000, 0},
		{"cut=40%", []string{"--max-cost", "0.06"}, 0.06, 0},
		{"502=20%,cut=20%", []string{"--max-cost", "0.05"}, 0.05, 0},
		{"cut=20%", []string{"--max-tokens", "90000"}, 90_000, 12},
		{"503=5%,cut=20%", []string{"--max-tokens", "90000"}, 90_000, 12},
		{"cut=40%", []string{"--max-cost", "0.2"}, 0.2, 12},
		{"502=5%,cut=10%", []string{"--max-cost", "0.2"}, 0.2, 12},
	} {
		t.Run(strings.Join(test.bound, "=")+" "+test.faults, func(t *testing.T) {
			t.Parallel()
			faults, err := sim.ParseFaults(test.faults)
			require.NoError(t, err)
			server := sim.NewServer(sim.Options{
				Seed: 5, Faults: faults, FirstToken: 2 * time.Millisecond,
				Price: sim.Price{Input: 2, CachedInput: 0.5, Output: 8}, // of openai/o3
			})
			served := httptest.NewServer(server)
			defer served.Close()
			store := filepath.Join(t.TempDir(), "s.db")
			code := spend(t, store, served.URL+"/v1", test.rows, test.bound...)
			require.Equal(t, exitBudget, code)
			report := server.Report()
			cut.Add(int64(report.Unfinished))
			tokens, cost := spentInLog(t, store)
			require.InEpsilon(t, report.PaidTokens.Total(), tokens, 0.03, "the log has what failed attempts used")
			paid, ours := float64(report.PaidTokens.Total()), float64(tokens)
			if test.bound[0] == "--max-cost" {
				// Ours is more: what of a broken call came from the cache nobody says.
				paid, ours = report.PaidUSD, cost
				require.GreaterOrEqual(t, ours, paid*0.97)
			}
			inFlight := float64(report.MaxInFlight) * paid / float64(report.Served+report.Unfinished)
			t.Logf("%.3f of %.3f paid (%.0f%%), %.3f in our log, %d requests, %d cut", paid, test.amount, paid/test.amount*100, ours, report.Requests, report.Unfinished)
			require.LessOrEqual(t, paid, test.amount+inFlight)
			require.Greater(t, ours, test.amount/2, "the bound is used")
		})
	}
}

// spend has a team work on one request, or on so many rows, and gives the exit code.
func spend(t *testing.T, store, baseURL string, rows int, bound ...string) int {
	t.Helper()
	cmd := exec.Command("convene", "run", killRequest)
	if rows > 0 {
		in := filepath.Join(filepath.Dir(store), "in.txt")
		var lines strings.Builder
		for i := range rows {
			fmt.Fprintf(&lines, "%s, variant %d\n", killRequest, i)
		}
		require.NoError(t, os.WriteFile(in, []byte(lines.String()), 0o600))
		cmd = exec.Command("convene", "batch", in, "--format", "lines", "-o", filepath.Join(filepath.Dir(store), "out.jsonl"), "--concurrency", "4")
	}
	cmd.Args = append(append(cmd.Args, "--store", store, "--base-url", baseURL, "--team", "trip", "--model", "openai/o3"), bound...)
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=none")
	out, err := cmd.CombinedOutput()
	if err != nil {
		require.ErrorAs(t, err, new(*exec.ExitError), tail(out))
	}
	return cmd.ProcessState.ExitCode()
}

// spentInLog sums what the runs of a store have used.
func spentInLog(t *testing.T, store string) (tokens int64, costUSD float64) {
	t.Helper()
	log, err := sqlite.Open(context.Background(), store)
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	runs, err := log.Runs(context.Background(), events.RunQuery{Tenant: events.LocalTenant})
	require.NoError(t, err)
	for _, run := range runs {
		tokens += run.Usage.Total()
		require.NotNil(t, run.CostUSD)
		costUSD += *run.CostUSD
		require.Equal(t, run.Usage.Total(), fold(t, log, run).Usage.Total())
	}
	return tokens, costUSD
}
