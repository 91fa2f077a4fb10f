package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
)

// A batch in the flex tier is asked for, waits where there is no capacity, and costs half:
// by the bill of the server and in the report, by each API that has the tier.
//
// Proves R74.
func TestABatchInTheFlexTier(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	for _, api := range []string{"responses", "chat"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			// The ordinary prices of openai/gpt-5.4.
			model := sim.NewServer(sim.Options{Price: sim.Price{Input: 2.5, CachedInput: 0.25, Output: 15}})
			var asked, refused atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil || !strings.Contains(string(body), `"service_tier":"flex"`) {
					http.Error(w, "the tier is missing", http.StatusNotImplemented)
					return
				}
				if asked.Add(1)%4 == 1 {
					refused.Add(1)
					w.Header().Set("Retry-After-Ms", "5")
					w.WriteHeader(http.StatusTooManyRequests)
					_, _ = io.WriteString(w, `{"error":{"message":"Resource unavailable. Please try again later.","type":"resource_unavailable","code":"resource_unavailable"}}`)
					return
				}
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				model.ServeHTTP(w, r)
			}))
			defer server.Close()

			dir := t.TempDir()
			in := filepath.Join(dir, "in.txt")
			require.NoError(t, os.WriteFile(in, []byte(killRequest+"\n"+killRequest+" in May\n"), 0o600))
			cmd := exec.Command("convene", "batch", in, "--format", "lines", "-o", filepath.Join(dir, "out.jsonl"), "--store", filepath.Join(dir, "s.db"),
				"--base-url", server.URL+"/v1", "--api", api, "--team", "trip", "--model", "openai/gpt-5.4", "--tier", "flex", "--json")
			cmd.Env = append(os.Environ(), "OPENAI_API_KEY=none")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, tail(out))
			var report struct {
				Completed int
				CostUSD   float64 `json:"cost_usd"`
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &report), lines[len(lines)-1])
			require.Equal(t, 2, report.Completed)
			require.Greater(t, refused.Load(), int64(3))

			billed := model.Report()
			ordinary := float64(billed.PaidTokens.InputTokens-billed.PaidTokens.CachedInputTokens)*2.5e-6 +
				float64(billed.PaidTokens.CachedInputTokens)*0.25e-6 + float64(billed.PaidTokens.OutputTokens)*15e-6
			require.InDelta(t, ordinary/2, billed.PaidUSD, 1e-9)
			require.InDelta(t, billed.PaidUSD, report.CostUSD, 1e-6)
		})
	}
}
