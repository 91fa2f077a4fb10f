package mcpserver_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/web"
)

// guarded serves over HTTP whoever has a token of the file.
func (h *host) guarded(t *testing.T) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "tokens.json")
	tokens, err := access.Open(file, access.Builtin())
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler, _, err = web.Guard(web.Config{Address: server.Listener.Addr().String(), Keeper: tokens}, h.server.Handler())
	require.NoError(t, err)
	server.Start()
	h.url = server.URL
	t.Cleanup(func() {
		h.shutDown()
		h.server.Close()
		server.Close()
	})
	return file
}

// bearer sends a token.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// as connects with a token of somebody's.
func (h *host) as(t *testing.T, file, version, tenant, user string, roles ...string) (session *mcp.ClientSession, token string, id string) {
	t.Helper()
	token, added, err := access.Add(file, access.Builtin(), access.Token{Tenant: events.TenantID(tenant), User: user, Roles: roles})
	require.NoError(t, err)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	transport := &mcp.StreamableClientTransport{Endpoint: h.url, DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: bearer(token)}}
	session, err = client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session, token, added.ID
}

// Proves R60, R62: a caller starts runs as the user of its token, sees what that user may, and
// does what its roles allow; what it may not see is not there.
func TestCallersAreTheirUsers(t *testing.T) {
	h := newHost(t, sim.Options{})
	file := h.guarded(t)
	for _, version := range versions {
		ann, _, _ := h.as(t, file, version, "acme", "ann", access.RoleUser)
		run, _ := call[seen](t, ann, "run_team", map[string]any{"request": request})
		require.Equal(t, events.StatusCompleted, run.Status)
		summary, err := h.log.FindRun(t.Context(), "acme", string(run.Run))
		require.NoError(t, err)
		require.Equal(t, "ann", summary.UserID)
		its := map[string]any{"run_id": run.Run}
		call[seen](t, ann, "get_run", its)

		for _, stranger := range []struct{ tenant, user, role string }{{"acme", "bob", access.RoleUser}, {"globex", "ann", access.RoleUser}, {"globex", "", access.RoleAdmin}} {
			session, _, _ := h.as(t, file, version, stranger.tenant, stranger.user, stranger.role)
			for _, tool := range []string{"get_run", "list_events", "cancel_run"} {
				theirs, none := refused(t, session, tool, its), refused(t, session, tool, map[string]any{"run_id": "none"})
				require.Equal(t, none, strings.Replace(theirs, string(run.Run), "none", 1), tool)
			}
		}
		viewer, _, _ := h.as(t, file, version, "acme", "eve", access.RoleViewer)
		call[seen](t, viewer, "get_run", its)
		require.Contains(t, refused(t, viewer, "cancel_run", its), "the permission runs:cancel is missing")
		require.Contains(t, refused(t, viewer, "cancel_run", map[string]any{"run_id": "none"}), "the permission runs:cancel is missing", "checked before anything is looked up")
		require.Contains(t, refused(t, viewer, "run_team", map[string]any{"request": request}), "the permission runs:start is missing")
		both, _, _ := h.as(t, file, version, "acme", "eve", access.RoleViewer, access.RoleUser)
		require.Contains(t, refused(t, both, "cancel_run", its), "the permission others:act is missing")
		operator, _, _ := h.as(t, file, version, "acme", "olga", access.RoleOperator)
		require.Contains(t, refused(t, operator, "cancel_run", its), "has finished", "she may, and it is over")
	}
	require.Len(t, runsOf(t, h), len(versions))
}

// A session is of whoever opened it, whatever others know of it.
func TestSessionsAreNotShared(t *testing.T) {
	h := newHost(t, sim.Options{})
	file := h.guarded(t)
	ann, annsToken, _ := h.as(t, file, versions[0], "acme", "ann", access.RoleUser)
	_, catsToken, _ := h.as(t, file, versions[0], "globex", "ann", access.RoleUser)
	status := func(token string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		require.NoError(t, err)
		for name, value := range map[string]string{"Mcp-Session-Id": ann.ID(), "Mcp-Protocol-Version": versions[0], "Content-Type": "application/json", "Accept": "application/json, text/event-stream"} {
			request.Header.Set(name, value)
		}
		response, err := (&http.Client{Transport: bearer(token)}).Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	require.Equal(t, http.StatusOK, status(annsToken))
	require.Equal(t, http.StatusForbidden, status(catsToken))
	require.Equal(t, http.StatusUnauthorized, status("cvn_none_none"))
}

// A token that is revoked while its run is waited for brings nothing more of it.
func TestRevokedWhileWaiting(t *testing.T) {
	for _, version := range versions {
		h := newHost(t, sim.Options{FirstToken: 1 << 40})
		file := h.guarded(t)
		session, _, id := h.as(t, file, version, "acme", "ann", access.RoleUser)
		given := h.waiting(t, session)
		run := h.until(t, events.KindWorkflowStarted)
		_, err := access.Revoke(file, id)
		require.NoError(t, err)
		require.NoError(t, h.runs().Cancel(t.Context(), access.Operator("acme"), run.Run, "behind her back"))
		said := <-given
		require.Contains(t, said, "not authorized")
		require.NotContains(t, said, "behind her back")
		require.NotContains(t, said, string(run.Run))
	}
}
