package steer_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/steer"
)

// audited gives what the audit says to the holder of a token, the oldest first.
func (d *doors) audited(t *testing.T, token, query string, names *strings.Replacer) (lines []string) {
	t.Helper()
	status, _, text := d.call(t, token, http.MethodGet, "/api/v1/audit?limit=1000&"+query, "")
	require.Equal(t, http.StatusOK, status, text)
	var page struct{ Entries []audit.Entry }
	require.NoError(t, json.Unmarshal([]byte(text), &page))
	for _, e := range slices.Backward(page.Entries) {
		line := strings.Join([]string{e.Who(), e.From(), e.Action, e.What, e.Why}, "|")
		lines = append(lines, names.Replace(line))
	}
	return lines
}

// Proves R63: what two users do and are refused, by the API and the page, is told from the log
// with who, from where, what and why, to who may read it and to nobody else. No token is in the
// store.
func TestAudit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	d := newDoorsOn(t, log, steer.Config{}, sim.Options{})
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	ann, bob := d.token(t, "acme", "ann", access.RoleUser), d.token(t, "acme", "bob", access.RoleViewer)
	eve, auditor := d.token(t, "acme", "eve", access.RoleUser), d.token(t, "acme", "aud", access.RoleAuditor)
	cat, admin := d.token(t, "globex", "cat", access.RoleAuditor), d.token(t, "acme", "root", access.RoleAdmin)
	expect := func(want int, token, method, path, body string) string {
		status, _, text := d.call(t, token, method, path, body)
		require.Equal(t, want, status, "%s %s: %s", method, path, text)
		return text
	}

	var started struct {
		Run    string `json:"run_id"`
		Thread string `json:"thread_id"`
	}
	text := expect(http.StatusCreated, ann, http.MethodPost, "/api/v1/runs", `{"request":"SECRET","solo":true}`)
	require.NoError(t, json.Unmarshal([]byte(text), &started))
	d.settle(t)
	run := "/api/v1/runs/" + started.Run
	expect(http.StatusNotFound, eve, http.MethodGet, run, "")
	expect(http.StatusForbidden, bob, http.MethodPost, run+"/cancel", "")
	expect(http.StatusNotFound, eve, http.MethodPost, run+"/fork", `{"at":1}`)
	expect(http.StatusUnauthorized, ann[:len(ann)-1], http.MethodGet, run, "")
	expect(http.StatusNotFound, admin, http.MethodGet, "/api/v1/threads/"+ann, "")
	for token, want := range map[string]int{bob: http.StatusOK, "cvn_wrong": http.StatusUnauthorized} {
		answer, err := patient.PostForm(d.url+"/login", url.Values{"token": {token}})
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, want, answer.StatusCode)
	}
	cancel := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cancel_run","arguments":{"run_id":%q},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, started.Run)
	require.Contains(t, expect(http.StatusOK, bob, http.MethodPost, "/mcp", cancel), "runs:cancel is missing")
	require.NotContains(t, expect(http.StatusOK, ann, http.MethodGet, run+"/export", ""), `"by":{`)
	require.Contains(t, expect(http.StatusOK, auditor, http.MethodGet, run+"/export", ""), `"by":{"user_id":"ann"`)
	require.NotContains(t, expect(http.StatusOK, auditor, http.MethodGet, run+"/events", ""), `"by":{`)
	expect(http.StatusForbidden, eve, http.MethodGet, "/api/v1/audit", "")

	names := []string{started.Run, "RUN", "127.0.0.1", "HERE"}
	for _, token := range []string{ann, bob, eve, auditor, cat, admin} {
		names = append(names, access.TokenID(token), "T")
	}
	short := strings.NewReplacer(names...)
	lines := d.audited(t, auditor, "", short)
	require.Equal(t, []string{
		"ann (token T)|rest HERE|run_started|team general|",
		"convene for ann||run_ended|completed|",
		"eve (token T)|rest HERE|refused|GET /api/v1/runs/{run_id}, RUN|the caller may not know of it",
		"bob (token T)|rest HERE|refused|POST /api/v1/runs/{run_id}/cancel, RUN|the permission runs:cancel is missing",
		"eve (token T)|rest HERE|refused|POST /api/v1/runs/{run_id}/fork, RUN|the caller may not know of it",
		"root (token T)|rest HERE|refused|GET /api/v1/threads/{thread_id}|the caller may not know of it",
		"bob (token T)|page HERE|signed_in||",
		"bob (token T)|mcp HERE|refused|tool cancel_run|the permission runs:cancel is missing",
		"ann (token T)|rest HERE|exported|RUN|",
		"aud (token T)|rest HERE|exported|RUN|",
		"eve (token T)|rest HERE|refused|GET /api/v1/audit|the permission audit:read is missing",
	}, lines)
	require.Equal(t, lines[:2], d.audited(t, auditor, "thread_id="+started.Thread, short))
	require.Equal(t, []string{lines[0], lines[1], lines[8]}, d.audited(t, auditor, "user_id=ann", short))
	require.Empty(t, d.audited(t, cat, "", short), "nothing of another tenant's")

	// What lets nobody in is of no tenant: the operator of the server reads it.
	operator, err := audit.Read(t.Context(), log, audit.Query{})
	require.NoError(t, err)
	var failed []string
	for _, e := range operator.Entries {
		failed = append(failed, short.Replace(fmt.Sprint(e.Who(), "|", e.From(), "|", e.Action, "|", e.What)))
	}
	require.ElementsMatch(t, []string{"somebody|rest HERE|sign_in_failed|token T", "somebody|page HERE|sign_in_failed|"}, failed)

	// The thread behind it is nobody's to see, and no listing has it.
	for _, path := range []string{"/api/v1/threads/audit", "/api/v1/threads/audit/events", "/api/v1/threads/audit/messages", "/ws?thread_id=audit", "/api/v1/batches/audit"} {
		expect(http.StatusNotFound, admin, http.MethodGet, path, "")
	}
	expect(http.StatusUnprocessableEntity, auditor, http.MethodGet, "/api/v1/audit?cursor=x", "")
	require.NotContains(t, expect(http.StatusOK, admin, http.MethodGet, "/api/v1/threads", ""), `"audit"`)

	files, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	var all []byte
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			all = append(all, content...)
		}
	}
	require.Contains(t, string(all), events.AuditSignedIn)
	for _, token := range []string{ann, bob, eve, auditor, cat, admin} {
		require.NotContains(t, string(all), token[len(token)-26:])
	}
}
