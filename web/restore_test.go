package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	threads "github.com/convene-run/convene/thread"
	"github.com/convene-run/convene/web"
)

// Proves R62: what placeholders stand for is given to who holds the permission and asks for it,
// and to nobody else by any door.
func TestValuesAreForWhoMay(t *testing.T) {
	log := events.NewMemory()
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: "7b2c5a60-93f0-4d7e-8f43-8c1a0c1f3e55"}
	epoch, err := log.Claim(t.Context(), key, "test", false)
	require.NoError(t, err)
	run := events.RunID("019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b")
	require.NoError(t, log.Append(t.Context(), key, epoch, 0, []events.Envelope{
		{Run: run, Data: events.WorkflowStarted{UserID: "ann", Message: "Ask them about [EMAIL_1]", Team: "trip"}},
		{Run: run, Data: events.ValuesReplaced{Values: []events.ReplacedValue{{Placeholder: "[EMAIL_1]", What: "email", Original: "ann@example.org"}}}},
		{Run: run, Agent: events.FacilitatorID, Data: events.FinalAnswer{Content: "[EMAIL_1] is known, [EMAIL_2] is not."}},
	}))
	thread, export := "/api/v1/threads/"+string(key.Thread), "/api/v1/runs/"+string(run)+"/export"
	plain := []string{thread, thread + "/messages", "/api/v1/runs", "/api/v1/runs/" + string(run), "/api/v1/runs/" + string(run) + "/result", "/api/v1/runs/" + string(run) + "/events", "/api/v1/threads", export, export + "?format=html"}
	asked := []string{thread + "/messages?restore=true", thread + "/values", export + "?restore=true", export + "?format=html&restore=true"}
	for name, grants := range map[string]access.Grants{
		"": append(access.Builtin()[access.RoleViewer], access.ContextRestore), "viewer": access.Builtin()[access.RoleViewer], "user": access.Builtin()[access.RoleUser],
		"operator": access.Builtin()[access.RoleOperator], "auditor": access.Builtin()[access.RoleAuditor],
	} {
		server := serve(t, web.Config{Log: log, As: access.Identity{Tenant: events.LocalTenant, User: "ann", Grants: grants}})
		for _, path := range plain {
			status, _, body := server.get(t, path)
			require.Equal(t, http.StatusOK, status, body)
			require.NotContains(t, body, "ann@example.org", "%s %s", name, path)
		}
		frames := strings.Join(take(t, server.dial(t, key.Thread, 0), 0, 3), "")
		require.Contains(t, frames, "[EMAIL_1] is known")
		require.NotContains(t, frames, "ann@example.org", name)
		for _, path := range asked {
			status, _, body := server.get(t, path)
			if name != "" {
				require.Equal(t, http.StatusForbidden, status, path)
				require.Contains(t, body, "context:restore")
				require.NotContains(t, body, "ann@example.org")
				continue
			}
			require.Equal(t, http.StatusOK, status, body)
			require.Contains(t, body, "ann@example.org", path)
		}
		if name != "" {
			continue
		}
		_, _, body := server.get(t, asked[0])
		var page struct{ Messages []threads.Message }
		require.NoError(t, json.Unmarshal([]byte(body), &page))
		require.Equal(t, []string{"Ask them about [EMAIL_1]", "ann@example.org is known, [EMAIL_2] is not."}, []string{page.Messages[0].Content, page.Messages[1].Content})
		status, _, _ := server.get(t, export+"?restore=perhaps")
		require.Equal(t, http.StatusBadRequest, status)
	}
}
