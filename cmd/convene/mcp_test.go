package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
)

// mcpCommand is `convene mcp`, with a store of its own.
func mcpCommand(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("convene", append([]string{"mcp", "trip", "--store", "s.db"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "OPENAI_API_KEY=none", "CONVENE_STORE=", "HOME="+dir, "XDG_CONFIG_HOME="+dir)
	return cmd
}

func mcpClient(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	require.NoError(t, err)
	return session
}

// A process on standard input and output: it answers, its run is a run like any other, and it
// ends with its client.
func TestMCPOnStdio(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	dir := t.TempDir()
	cmd := mcpCommand(dir, "--model", "sim")
	session := mcpClient(t, &mcp.CommandTransport{Command: cmd})
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "run_team", Arguments: map[string]any{"request": killRequest}})
	require.NoError(t, err)
	require.False(t, result.IsError)
	require.NoError(t, session.Close())
	require.True(t, cmd.ProcessState.Success(), "%s", cmd.ProcessState)
	run := onlyRun(t, filepath.Join(dir, "s.db"))
	require.Equal(t, events.StatusCompleted, run.Status)
	line := result.Content[len(result.Content)-1].(*mcp.TextContent).Text
	require.Contains(t, line, string(run.Run))
	require.Contains(t, line, "Simulated: no real model wrote this.")
}

// --approve says who decides on calls that wait for a person: nobody is at this door.
func TestMCPApproves(t *testing.T) {
	race.Processes(t)
	for policy, of := range map[string]struct{ said, never string }{"all": {`"type":"tool_started"`, "nobody is there"}, "deny": {"nobody is there to give it", `"type":"tool_started"`}} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "clock.yaml"), []byte(`name: clock
tools: {now: {zone: Asia/Tokyo}}
approve: {now: always}
specialists:
  - {id: one, description: Tells the time., prompt: 'Look up now {}.', tools: [now]}
`), 0o600))
			cmd := mcpCommand(dir, "--model", "sim", "--approve", policy, "clock.yaml")
			session := mcpClient(t, &mcp.CommandTransport{Command: cmd})
			_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "run_team", Arguments: map[string]any{"request": "What time is it?", "team": "clock"}})
			require.NoError(t, err)
			require.NoError(t, session.Close())
			show := exec.Command("convene", "export", "--jsonl", "--store", filepath.Join(dir, "s.db"))
			show.Env = cmd.Env
			output, err := show.CombinedOutput()
			require.NoError(t, err, "%s", output)
			require.Contains(t, string(output), of.said)
			require.NotContains(t, string(output), of.never)
		})
	}
}

// The end of its input parks the run under way; a signal on top does so at once. convene
// resume finishes it.
func TestMCPParks(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	asked, hang := make(chan bool, 100), make(chan bool)
	inner := sim.NewServer(sim.Options{})
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- true:
		default:
		}
		select {
		case <-hang:
			inner.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	defer model.Close()
	dir := t.TempDir()
	cmd := mcpCommand(dir, "--base-url", model.URL+"/v1", "--model", "openai/sim")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	said, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	session := mcpClient(t, &mcp.IOTransport{Reader: out, Writer: in})
	go func() {
		_, _ = session.CallTool(context.Background(), &mcp.CallToolParams{Name: "run_team", Arguments: map[string]any{"request": killRequest}})
	}()
	<-asked
	require.NoError(t, in.Close())
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.Contains(lines.Text(), "parking") {
		continue
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(said)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait(), "%s", rest)
	store := filepath.Join(dir, "s.db")
	run := onlyRun(t, store)
	require.Equal(t, events.StatusSuspended, run.Status)
	close(hang)
	resume := exec.Command("convene", "resume", string(run.Run), "--store", store, "--base-url", model.URL+"/v1")
	resume.Env = cmd.Env
	output, err := resume.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Equal(t, events.StatusCompleted, onlyRun(t, store).Status)
}

// Over HTTP: whoever lacks the token, names another host, comes from a page of others or
// sends too much is refused; whoever has it gets the tools, within what the file of tenants says.
func TestMCPOverHTTP(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte(secretToken+"\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tenants.yaml"), []byte("default: {tokens_per_day: 1}\n"), 0o600))
	cmd := mcpCommand(dir, "--model", "sim", "--addr", "127.0.0.1:0", "--token-file", "token", "--tenants", "tenants.yaml")
	said, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	endpoint := ""
	for lines := bufio.NewScanner(said); endpoint == "" && lines.Scan(); {
		_, endpoint, _ = strings.Cut(lines.Text(), "MCP endpoint: ")
	}
	status := func(host, origin, authorization, body string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(body))
		require.NoError(t, err)
		for name, value := range map[string]string{
			"Origin": origin, "Authorization": authorization, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		} {
			request.Header.Set(name, value)
		}
		if host != "" {
			request.Host = host
		}
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		if response.StatusCode == http.StatusUnauthorized {
			require.Equal(t, "Bearer", response.Header.Get("WWW-Authenticate"))
		}
		return response.StatusCode
	}
	const ping, bearer = `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Bearer " + secretToken
	require.Equal(t, http.StatusOK, status("", "", bearer, ping))
	require.Equal(t, http.StatusUnauthorized, status("", "", "", ping))
	require.Equal(t, http.StatusUnauthorized, status("", "", bearer+"x", ping))
	require.Equal(t, http.StatusForbidden, status("evil.example:80", "", bearer, ping))
	require.Equal(t, http.StatusForbidden, status("", "https://evil.example", bearer, ping))
	require.Equal(t, http.StatusRequestEntityTooLarge, status("", "", bearer, `{"jsonrpc":"2.0","id":1,"method":"`+strings.Repeat("x", 17<<20)+`"}`))

	session := mcpClient(t, &mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: &http.Client{Transport: bearing(bearer)}, DisableStandaloneSSE: true})
	tools, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"cancel_run", "get_run", "list_events", "run_team", "start_run"}, names)
	schema, err := json.Marshal(tools.Tools[3].InputSchema)
	require.NoError(t, err)
	require.Contains(t, string(schema), `"enum":["trip"]`)
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "run_team", Arguments: map[string]any{"request": killRequest}})
	require.NoError(t, err)
	require.True(t, result.IsError)
	require.Contains(t, result.Content[len(result.Content)-1].(*mcp.TextContent).Text, "(tokens_per_day)")
	require.NoError(t, session.Close())
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(said)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait(), "%s", rest)
	require.NotContains(t, string(rest), secretToken)
}

// bearing adds an Authorization to each request.
type bearing string

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", string(b))
	return http.DefaultTransport.RoundTrip(r)
}
