package steer_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/mcpserver"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/steer"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/web"
)

// doors are those of a server with a file of tokens.
type doors struct {
	log    events.Log
	runner *runner.Runner
	server *web.Server
	url    string
	file   string
	// lines are what is logged of failures.
	lines lines
}

// lines takes what is logged. It is safe for concurrent use.
type lines struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newDoors(t *testing.T, config steer.Config, options sim.Options, change ...func(*runner.Config)) *doors {
	return newDoorsOn(t, events.NewMemory(), config, options, change...)
}

func newDoorsOn(t *testing.T, log events.Log, config steer.Config, options sim.Options, change ...func(*runner.Config)) *doors {
	t.Helper()
	d := &doors{log: log, file: filepath.Join(t.TempDir(), "tokens.json")}
	of := runner.Config{Log: d.log, Models: oneClient{sim.New(options)}}
	for _, c := range change {
		c(&of)
	}
	var err error
	d.runner, err = runner.New(of)
	require.NoError(t, err)
	config.Runner = d.runner
	tokens, err := access.Open(d.file, access.Builtin())
	require.NoError(t, err)
	server, runs := httptest.NewUnstartedServer(nil), steer.New(config)
	recorder := audit.NewRecorder(d.log, func(_ audit.Entry, err error) { require.NoError(t, err) })
	logger := zerolog.New(&d.lines)
	served := web.Config{
		Logger: &logger,
		Log:    d.log, Kept: d.runner.Kept(), Runs: runs, Batches: &steer.Batches{Runner: d.runner}, Users: &steer.Users{Log: d.log},
		Keeper: tokens, Audit: recorder, Address: server.Listener.Addr().String(),
	}
	d.server, err = web.New(served)
	require.NoError(t, err)
	offered := []mcpserver.Team{{Name: team.DefaultName, Description: "Solves anything."}}
	tools, err := mcpserver.New(mcpserver.Config{Logger: slog.New(zerolog.NewSlogHandler(logger)), Audit: recorder, Log: d.log, Kept: d.runner.Kept(), Runs: runs, Teams: offered})
	require.NoError(t, err)
	guarded, _, err := web.Guard(served, tools.Handler())
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/mcp", guarded)
	mux.Handle("/", d.server)
	server.Config.Handler = mux
	server.Start()
	d.url = server.URL
	t.Cleanup(func() {
		d.server.Close()
		server.Close()
		now, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(t, d.runner.Shutdown(now))
		recorder.Close()
	})
	return d
}

// token gives a user a token.
func (d *doors) token(t *testing.T, tenant, user string, roles ...string) string {
	t.Helper()
	token, _, err := access.Add(d.file, access.Builtin(), access.Token{Tenant: events.TenantID(tenant), User: user, Roles: roles})
	require.NoError(t, err)
	return token
}

// patient gives up on an answer that does not end, where none should be a stream.
var patient = &http.Client{Timeout: time.Minute}

// call sends a request with a token.
func (d *doors) call(t require.TestingT, token, method, path, body string) (int, http.Header, string) {
	request, err := http.NewRequestWithContext(context.Background(), method, d.url+path, strings.NewReader(body))
	require.NoError(t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	switch {
	case strings.HasPrefix(path, "/ws"):
		for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="} {
			request.Header.Set(name, value)
		}
	case path == "/mcp":
		var asked struct{ Params struct{ Name string } }
		require.NoError(t, json.Unmarshal([]byte(body), &asked))
		for name, value := range map[string]string{"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": asked.Params.Name} {
			request.Header.Set(name, value)
		}
	}
	response, err := patient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, response.Header, string(text)
}

// settle waits until nothing is driven.
func (d *doors) settle(t *testing.T) {
	t.Helper()
	for _, run := range d.runner.Runs() {
		_, err := run.Wait()
		require.NoError(t, err)
	}
}
