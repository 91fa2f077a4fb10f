package steer_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/steer"
	quota "github.com/convene-run/convene/tenants"
)

// fixed are limits by tenant.
type fixed map[events.TenantID]quota.Limits

func (f fixed) Of(tenant events.TenantID) quota.Limits { return f[tenant] }

// A tenant that has what it may have is told so with 429, its figures and when to come again;
// the others begin what they like.
func TestQuotas(t *testing.T) {
	d := newDoors(t, steer.Config{}, sim.Options{FirstToken: 1 << 40}, func(c *runner.Config) {
		c.Tenants = fixed{"acme": {RunsAtOnce: 1}, "initech": {TokensPerDay: 1}}
	})
	begin := func(tenant, path, body string, want int) (string, string) {
		status, header, text := d.call(t, d.token(t, tenant, "ann", access.RoleUser), http.MethodPost, path, body)
		require.Equal(t, want, status, text)
		if want == http.StatusTooManyRequests {
			require.Equal(t, "application/problem+json", header.Get("Content-Type"))
		}
		return header.Get("Retry-After"), text
	}
	const run = `{"request":"Plan a day","solo":true}`
	begin("acme", "/api/v1/runs", run, http.StatusCreated)
	again, text := begin("acme", "/api/v1/runs", run, http.StatusTooManyRequests)
	require.Equal(t, "10", again)
	require.Contains(t, text, "tenant acme has 1 runs under way, and runs_at_once is 1")
	begin("acme", "/api/v1/threads/"+uuid.NewString()+"/messages", `{"content":"Hello"}`, http.StatusTooManyRequests)
	begin("globex", "/api/v1/runs", run, http.StatusCreated)
	begin("globex", "/api/v1/runs", run, http.StatusCreated)

	key := events.ThreadKey{Tenant: "initech", Thread: events.ThreadID(uuid.NewString())}
	epoch, err := d.log.Claim(t.Context(), key, "other", false)
	require.NoError(t, err)
	id := events.RunID(uuid.Must(uuid.NewV7()).String())
	require.NoError(t, d.log.Append(t.Context(), key, epoch, 0, []events.Envelope{
		{Run: id, Data: events.WorkflowStarted{Message: "Plan a day"}},
		{Run: id, Data: events.ModelCalled{Usage: events.Usage{InputTokens: 3}}},
	}))
	again, text = begin("initech", "/api/v1/runs", run, http.StatusTooManyRequests)
	require.Contains(t, text, "tenant initech has used 3 of the 1 tokens that it may use today")
	seconds, err := strconv.Atoi(again)
	require.NoError(t, err)
	require.Positive(t, seconds)
	require.LessOrEqual(t, seconds, 24*60*60)
}
