package mcpserver_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
)

// onPipes serves a client on a pair of pipes, as on standard input and output. What it gives
// back ends the client's side without a word, and waits for the server's.
func (h *host) onPipes(t *testing.T, version string, options *mcp.ClientOptions) (*mcp.ClientSession, func() error) {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- h.server.ServeStdio(t.Context(), in, out)
		_ = out.Close()
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	return session, func() error {
		_ = toServer.Close()
		return <-served
	}
}

// connect gives what a server reads and writes, and the client at the other ends.
func connect() (in io.Reader, out io.Writer, client func() *mcp.ClientSession) {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	return in, out, func() *mcp.ClientSession {
		session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(context.Background(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
		if err != nil {
			panic(err)
		}
		return session
	}
}

// A caller hears of a run in which nothing happens, often enough not to give it up; what
// it cancels ends.
func TestHeartbeat(t *testing.T) {
	for _, version := range versions {
		synctest.Test(t, func(t *testing.T) { heartbeats(t, version) })
	}
}

func heartbeats(t *testing.T, version string) {
	h := newHost(t, sim.Options{FirstToken: 50 * time.Second})
	beats := make(chan string, 100)
	session, end := h.onPipes(t, version, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		beats <- req.Params.Message
	}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	params := &mcp.CallToolParams{Name: "run_team", Arguments: map[string]any{"request": request}}
	params.SetProgressToken("p")
	begun := time.Now()
	go func() { _, _ = session.CallTool(ctx, params) }()
	for i := range 3 {
		require.Equal(t, "still at work, 0 model calls so far", <-beats)
		require.Less(t, time.Since(begun), time.Duration(i+1)*20*time.Second)
	}
	require.Equal(t, "6 tasks planned", <-beats)
	cancel()
	require.Equal(t, events.StatusCancelled, h.until(t, events.KindWorkflowFinished).Data.(events.WorkflowFinished).Status)
	require.NoError(t, end())
	_ = session.Close()
}

// A client that is gone has cancelled nothing: its run goes on until it is parked.
func TestClientGone(t *testing.T) {
	for _, version := range versions {
		h := newHost(t, sim.Options{FirstToken: 1 << 40})
		session, end := h.onPipes(t, version, nil)
		given := make(chan error, 1)
		go func() {
			_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "run_team", Arguments: map[string]any{"request": request}})
			given <- err
		}()
		run := h.until(t, events.KindWorkflowStarted).Run
		require.NoError(t, end())
		require.Error(t, <-given)
		summary, err := h.log.FindRun(t.Context(), events.LocalTenant, string(run))
		require.NoError(t, err)
		require.Equal(t, events.StatusRunning, summary.Status)
		h.shutDown()
		require.Equal(t, events.KindRunSuspended, h.until(t, events.KindRunSuspended).Data.Kind())
		_ = session.Close()
	}
}

// Input that is no message ends the connection with an error that says so; what is one and
// makes no sense is answered.
func TestNonsense(t *testing.T) {
	h := newHost(t, sim.Options{})
	err := h.server.ServeStdio(t.Context(), strings.NewReader("Plan a trip\n"), io.Discard)
	require.ErrorContains(t, err, "the connection with the client broke: invalid character 'P'")

	session, end := h.onPipes(t, versions[1], nil)
	require.Contains(t, refused(t, session, "run_team", map[string]any{"request": 5}), "request")
	_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_tool"})
	require.ErrorContains(t, err, `unknown tool "no_such_tool"`)
	_, err = session.ListPrompts(t.Context(), nil)
	var refused *jsonrpc.Error
	require.ErrorAs(t, err, &refused)
	require.EqualValues(t, jsonrpc.CodeMethodNotFound, refused.Code, "what is not declared is not there")
	require.NoError(t, end())
	_ = session.Close()
	require.Empty(t, runsOf(t, h))
}
