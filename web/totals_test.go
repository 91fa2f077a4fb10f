package web_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// Proves R71: totals are of all runs that match, whatever a page of the list holds.
func TestTotalsAPI(t *testing.T) {
	log := events.NewMemory()
	for i, team := range []string{"trip", "trip", "research"} {
		cost := 0.5 * float64(i+1)
		s := newScript(t, log)
		s.add(events.WorkflowStarted{Message: "Request", Team: team},
			events.ModelCalled{ID: "f.1", Model: "m", Attempts: 1, Usage: events.Usage{InputTokens: 90, OutputTokens: 10}, CostUSD: &cost}, events.WorkflowFinished{Status: events.StatusCompleted})
	}
	server := serve(t, web.Config{Log: log})
	require.Equal(t, events.RunTotals{Runs: 3, Tokens: 300, CostUSD: 3}, decode[events.RunTotals](t, server, "/api/v1/runs/totals"))
	require.Equal(t, events.RunTotals{Runs: 1, Tokens: 100, CostUSD: 1}, decode[events.RunTotals](t, server, "/api/v1/runs/totals?team=trip&min_cost=0.75"))
	status, _, body := server.get(t, "/api/v1/runs?limit=1&team=trip&min_cost=0.75")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"cost_usd":1,`)
	status, _, _ = server.get(t, "/api/v1/runs/totals?min_cost=-1")
	require.Equal(t, http.StatusUnprocessableEntity, status)
}
