package steer_test

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/steer"
	"github.com/convene-run/convene/team"
)

// Proves R71: where the store fails a caller is told what happened and which line of the log has
// more, but neither a path of the server's machine nor what SQLite said.
func TestFailuresTellCallersNoPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	d := newDoorsOn(t, log, steer.Config{}, sim.Options{})
	token := d.token(t, "acme", "", access.RoleAdmin)
	solo, err := team.Builtin(team.DefaultName)
	require.NoError(t, err)
	run, err := d.runner.Start(t.Context(), runner.Job{Tenant: "acme", Request: "Plan a day", Team: solo, Solo: true})
	require.NoError(t, err)
	d.settle(t)

	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	_, err = db.Exec("ALTER TABLE runs RENAME TO nuns; ALTER TABLE blocks RENAME TO rocks")
	require.NoError(t, err)
	runs, threads := "/api/v1/runs", "/api/v1/threads/"
	named := runs + "/" + string(run.ID())
	failure := regexp.MustCompile("in the line of failure ([a-z2-7]{10})")
	for _, call := range []struct{ method, path, body string }{
		{http.MethodGet, runs, ""},
		{http.MethodGet, named, ""},
		{http.MethodGet, named + "/result", ""},
		{http.MethodGet, named + "/export", ""},
		{http.MethodGet, named + "/artifacts/x", ""},
		{http.MethodGet, threads + string(run.Key().Thread) + "/events", ""},
		{http.MethodGet, "/api/v1/users/ann/export", ""},
		{http.MethodGet, "/ws?thread_id=" + string(run.Key().Thread), ""},
		{http.MethodPost, named + "/resume", ""},
		{http.MethodPost, named + "/cancel", `{"reason":"enough"}`},
		{http.MethodPost, named + "/fork", `{"at":3,"instruction":"shorter"}`},
		{http.MethodPost, runs, `{"request":"Plan a day","solo":true}`},
		{http.MethodPost, threads + uuid.NewString() + "/messages", `{"content":"Plan a day"}`},
		{http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_run","arguments":{"run_id":"` + string(run.ID()) + `"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`},
		{http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"start_run","arguments":{"request":"Plan a day"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`},
	} {
		status, _, body := d.call(t, token, call.method, call.path, call.body)
		require.Contains(t, []int{http.StatusOK, http.StatusInternalServerError}, status, "%s %s: %s", call.method, call.path, body)
		require.NotContains(t, body, filepath.Dir(path), "%s %s", call.method, call.path)
		require.NotContains(t, body, "no such table", "%s %s", call.method, call.path)
		named := failure.FindStringSubmatch(body)
		require.NotNil(t, named, "%s %s: %s", call.method, call.path, body)
		require.Regexp(t, `(?m)^.*"failure":"`+named[1]+`".*$`, d.lines.String())
	}
	require.Contains(t, d.lines.String(), path)
}
