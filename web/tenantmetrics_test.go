package web_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// Proves R64: /metrics tells what is done for each tenant to those who may read it, under as
// many labels as the operator named tenants, however many there are.
func TestMetricsTellOfTenants(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.json")
	tokens, err := access.Open(file, access.Builtin())
	require.NoError(t, err)
	token := func(role string) string {
		token, _, err := access.Add(file, access.Builtin(), access.Token{Tenant: "acme", User: role, Roles: []string{role}})
		require.NoError(t, err)
		return "Bearer " + token
	}
	loads := map[events.TenantID]web.TenantLoad{
		"acme":  {Runs: 2, ModelCalls: 30, Tokens: 4000, CostUSD: 0.5},
		"local": {ModelCalls: 7},
	}
	for i := range 1000 {
		loads[events.TenantID(fmt.Sprint("of-a-claim-", i))] = web.TenantLoad{Runs: 1, Tokens: 2}
	}
	server := serve(t, web.Config{
		Log: events.NewMemory(), Keeper: tokens,
		Loads:       func() map[events.TenantID]web.TenantLoad { return loads },
		TenantNames: func() []events.TenantID { return []events.TenantID{"acme", "idle"} },
	})
	status, _, body := server.get(t, "/metrics", "Authorization", token(access.RoleMonitor))
	require.Equal(t, http.StatusOK, status)
	for _, line := range []string{
		`convene_runs{tenant="acme"} 2`,
		`convene_runs{tenant="local"} 0`,
		`convene_runs{tenant="other"} 1000`,
		`convene_model_calls_total{tenant="acme"} 30`,
		`convene_model_calls_total{tenant="local"} 7`,
		`convene_tokens_total{tenant="acme"} 4000`,
		`convene_tokens_total{tenant="other"} 2000`,
		`convene_cost_usd_total{tenant="acme"} 0.5`,
	} {
		require.Contains(t, body, line+"\n")
	}
	require.Equal(t, 3, strings.Count(body, "convene_runs{"))
	require.NotContains(t, body, "of-a-claim")
	status, _, body = server.get(t, "/metrics", "Authorization", token(access.RoleUser))
	require.Equal(t, http.StatusForbidden, status)
	require.NotContains(t, body, "acme")
}
