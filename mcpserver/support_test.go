package mcpserver_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/mcpserver"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/steer"
	"github.com/convene-run/convene/team"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// versions are a protocol with sessions and one without.
var versions = []string{"2025-11-25", "2026-07-28"}

type oneClient struct{ client llm.Client }

func (m oneClient) Resolve(...string) (llm.Route, error) {
	return llm.Route{{Endpoint: &llm.Endpoint{Name: "sim", Client: m.client}, Model: "sim"}}, nil
}

// host is a server on a runner whose agents the simulated model plays. It serves one team.
type host struct {
	log    *events.Memory
	runner *runner.Runner
	server *mcpserver.Server
	url    string
}

// newHost serves the team trip.
func newHost(t *testing.T, options sim.Options) *host {
	t.Helper()
	trip, err := team.Builtin("trip")
	require.NoError(t, err)
	return newHostOf(t, options, trip)
}

func newHostOf(t *testing.T, options sim.Options, served *team.Team, tools ...agent.Tool) *host {
	t.Helper()
	h := &host{log: events.NewMemory()}
	var err error
	h.runner, err = runner.New(runner.Config{Log: h.log, Models: oneClient{sim.New(options)}, Tools: tools})
	require.NoError(t, err)
	h.server, err = mcpserver.New(mcpserver.Config{
		Log: h.log, Kept: h.runner.Kept(), Version: "test",
		Runs:  steer.New(steer.Config{Runner: h.runner, Teams: map[string]*team.Team{served.Name: served}}),
		Teams: []mcpserver.Team{{Name: served.Name, Description: served.Description, Vars: served.Vars()}},
	})
	require.NoError(t, err)
	t.Cleanup(h.shutDown)
	return h
}

func (h *host) runs() *steer.Runs { return steer.New(steer.Config{Runner: h.runner}) }

// served serves over HTTP.
func (h *host) served(t *testing.T) *host {
	t.Helper()
	server := httptest.NewServer(h.server.Handler())
	h.url = server.URL
	t.Cleanup(func() {
		h.shutDown() // as the command does: those who wait are told before the serving ends
		h.server.Close()
		server.Close()
	})
	return h
}

func (h *host) shutDown() {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = h.runner.Shutdown(now)
}

// client connects over HTTP.
func (h *host) client(t *testing.T, version string, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: h.url, DisableStandaloneSSE: true}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// seen is what clients read of a run.
type seen struct {
	Run      events.RunID    `json:"run_id"`
	Thread   events.ThreadID `json:"thread_id"`
	Team     string
	Status   events.Status
	Answer   string
	Document string
	Tasks    int
	Finished int      `json:"finished_tasks"`
	CostUSD  *float64 `json:"cost_usd"`
	LastSeq  events.Seq
	WaitsFor []events.Ask `json:"waits_for"`
}

// call calls a tool that must not fail, and gives its structured result.
func call[T any](t *testing.T, session *mcp.ClientSession, tool string, arguments map[string]any) (T, *mcp.CallToolResult) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(t, err)
	require.False(t, result.IsError, "%s", textOf(result))
	return structured[T](t, result), result
}

func structured[T any](t *testing.T, result *mcp.CallToolResult) (out T) {
	t.Helper()
	body, err := json.Marshal(result.StructuredContent)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(body, &out))
	return out
}

// refused calls a tool that must fail, and gives what it says.
func refused(t *testing.T, session *mcp.ClientSession, tool string, arguments map[string]any) string {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(t, err)
	require.True(t, result.IsError, "%s", textOf(result))
	return textOf(result)
}

// textOf is what a client reads that knows texts alone.
func textOf(result *mcp.CallToolResult) (text string) {
	for _, content := range result.Content {
		text += content.(*mcp.TextContent).Text + "\n"
	}
	return text
}

// progress notes what a client hears of a run.
type progress struct {
	mu    sync.Mutex // guards heard
	heard []mcp.ProgressNotificationParams
	// last is closed once the answer was announced: that may come behind the result.
	last chan struct{}
}

func newProgress() *progress { return &progress{last: make(chan struct{})} }

func (p *progress) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.heard = append(p.heard, *req.Params); req.Params.Message == "the answer is there" {
			close(p.last)
		}
	}}
}

// all gives what was heard up to the answer.
func (p *progress) all() []mcp.ProgressNotificationParams {
	<-p.last
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heard
}

// until follows the log until a run of it has an event of the kind, and gives that.
func (h *host) until(t *testing.T, kind events.Kind) events.Envelope {
	t.Helper()
	for item, err := range h.log.Tail(t.Context(), events.TailFilter{Kinds: []events.Kind{kind}}, "") {
		require.NoError(t, err)
		return item.Envelope
	}
	panic("a tail does not end")
}

// over waits until the run has ended, whoever drives it.
func (h *host) over(t *testing.T, run events.RunID) {
	t.Helper()
	for item, err := range h.log.Tail(t.Context(), events.TailFilter{Kinds: []events.Kind{events.KindWorkflowFinished}}, "") {
		require.NoError(t, err)
		if item.Envelope.Run == run {
			return
		}
	}
}
