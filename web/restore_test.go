package web_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
	"github.com/convene-run/convene/web"
)

// Proves R62: what an agent said is restored for who may read it, and for nobody else; neither
// finds in the events what a placeholder stands for.
func TestMessagesAreRestoredForWhoMay(t *testing.T) {
	log := events.NewMemory()
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: "7b2c5a60-93f0-4d7e-8f43-8c1a0c1f3e55"}
	epoch, err := log.Claim(t.Context(), key, "test", false)
	require.NoError(t, err)
	run := events.RunID("019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b")
	require.NoError(t, log.Append(t.Context(), key, epoch, 0, []events.Envelope{
		{Run: run, Data: events.WorkflowStarted{Message: "Ask them about [EMAIL_1]", Team: "trip"}},
		{Run: run, Data: events.ValuesReplaced{Values: []events.ReplacedValue{{Placeholder: "[EMAIL_1]", What: "email", Original: "ann@example.org"}}}},
		{Run: run, Agent: events.FacilitatorID, Data: events.FinalAnswer{Content: "[EMAIL_1] is known, [EMAIL_2] is not."}},
	}))
	for answer, grants := range map[string]access.Grants{
		"ann@example.org is known, [EMAIL_2] is not.": {access.RunsRead, access.OthersRead, access.ContextRestore},
		"[EMAIL_1] is known, [EMAIL_2] is not.":       access.Builtin()[access.RoleViewer],
	} {
		server, err := web.New(web.Config{Log: log, Address: "127.0.0.1:0", As: access.Identity{Tenant: events.LocalTenant, User: "ann", Grants: grants}})
		require.NoError(t, err)
		get := func(path string) string {
			w := httptest.NewRecorder()
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/threads/"+string(key.Thread)+path, nil)
			request.Host = "127.0.0.1:0"
			server.ServeHTTP(w, request)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			return w.Body.String()
		}
		var page struct{ Messages []thread.Message }
		require.NoError(t, json.Unmarshal([]byte(get("/messages")), &page))
		require.Equal(t, []string{"Ask them about [EMAIL_1]", answer}, []string{page.Messages[0].Content, page.Messages[1].Content})
		require.NotContains(t, get("/events"), "ann@example.org")
		server.Close()
	}
}
