package mcpserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

const request = "Plan three days in Kyoto for two"

// A run from the request to the answer: progress, the answer as text and as a structured
// result, and the same run by its id and in the log.
func TestRunTeam(t *testing.T) {
	h := newHost(t, sim.Options{}).served(t)
	for _, version := range versions {
		p := newProgress()
		session := h.client(t, version, p.options())
		params := &mcp.CallToolParams{Name: "run_team", Arguments: map[string]any{"request": request}}
		params.SetProgressToken("p")
		params.Meta["traceparent"] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		result, err := session.CallTool(t.Context(), params)
		require.NoError(t, err)
		require.False(t, result.IsError, "%s", textOf(result))
		run := structured[seen](t, result)
		require.Equal(t, events.StatusCompleted, run.Status)
		require.Equal(t, "trip", run.Team)
		require.Equal(t, run.Tasks, run.Finished)
		require.Contains(t, textOf(result), run.Answer)
		require.Contains(t, textOf(result), "Run "+string(run.Run)+": completed, 6 of 6 tasks finished, $0.00")
		require.Empty(t, run.Document, "who wants the answer does not pay for the document")
		heard := p.all()
		require.Equal(t, "6 tasks planned", heard[0].Message)
		for i, one := range heard {
			require.Equal(t, "p", one.ProgressToken)
			require.EqualValues(t, i+1, one.Progress)
		}
		require.Greater(t, len(heard), 7)
		require.True(t, slices.ContainsFunc(heard, func(one mcp.ProgressNotificationParams) bool {
			return strings.HasSuffix(one.Message, "has finished, 6 of 6 tasks finished")
		}), "%v", heard)

		again, whole := call[seen](t, session, "get_run", map[string]any{"run_id": run.Run})
		require.Equal(t, run.Answer, again.Answer)
		require.NotEmpty(t, again.Document)
		require.Contains(t, textOf(whole), again.Document)

		summary, err := h.log.FindRun(t.Context(), events.LocalTenant, string(run.Run))
		require.NoError(t, err)
		require.Equal(t, request, summary.Request)
		started, err := h.log.Read(t.Context(), events.ThreadKey{Tenant: events.LocalTenant, Thread: run.Thread}, 0, 1)
		require.NoError(t, err)
		require.Equal(t, params.Meta["traceparent"], started[0].Data.(events.WorkflowStarted).Traceparent)
	}
}

// A run that was only started goes on by itself; its span may come in the header.
func TestStartRun(t *testing.T) {
	h := newHost(t, sim.Options{}).served(t)
	const span = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	h.url = withHeader(t, h.url, "traceparent", span)
	for _, version := range versions {
		session := h.client(t, version, nil)
		run, result := call[seen](t, session, "start_run", map[string]any{"request": request, "team": "trip"})
		require.Contains(t, []events.Status{events.StatusRunning, events.StatusCompleted}, run.Status)
		require.Contains(t, textOf(result), string(run.Run))
		require.NoError(t, session.Close())
		h.over(t, run.Run)
		again, _ := call[seen](t, h.client(t, version, nil), "get_run", map[string]any{"run_id": run.Run})
		require.Equal(t, events.StatusCompleted, again.Status)
		first, err := h.log.Read(t.Context(), events.ThreadKey{Tenant: events.LocalTenant, Thread: run.Thread}, 0, 1)
		require.NoError(t, err)
		require.Equal(t, span, first[0].Data.(events.WorkflowStarted).Traceparent)
	}
}

// withHeader gives an address that adds a header to each request.
func withHeader(t *testing.T, to, name, value string) string {
	target, err := url.Parse(to)
	require.NoError(t, err)
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Set(name, value)
	}})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// The client's cancellation ends the run of run_team for good, whatever the protocol.
func TestCancelledRequest(t *testing.T) {
	for _, version := range versions {
		h := newHost(t, sim.Options{FirstToken: 1 << 40}).served(t)
		session := h.client(t, version, nil)
		ctx, cancel := context.WithCancel(t.Context())
		given := make(chan error, 1)
		go func() {
			_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "run_team", Arguments: map[string]any{"request": request}})
			given <- err
		}()
		run := h.until(t, events.KindWorkflowStarted).Run
		cancel()
		require.ErrorIs(t, <-given, context.Canceled)
		require.Equal(t, events.StatusCancelled, h.until(t, events.KindWorkflowFinished).Data.(events.WorkflowFinished).Status, version)
		summary, err := h.log.FindRun(t.Context(), events.LocalTenant, string(run))
		require.NoError(t, err)
		require.Equal(t, events.StatusCancelled, summary.Status)
	}
}

// waiting calls run_team, and gives what it says once it returns.
func (h *host) waiting(t *testing.T, session *mcp.ClientSession) <-chan string {
	given := make(chan string, 1)
	go func() {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "run_team", Arguments: map[string]any{"request": request}})
		switch {
		case err != nil:
			given <- err.Error()
		case !result.IsError:
			given <- "no error: " + textOf(result)
		default:
			given <- textOf(result)
		}
	}()
	return given
}

// cancel_run ends a run, and the caller of run_team is told. Twice is fine.
func TestCancelRun(t *testing.T) {
	h := newHost(t, sim.Options{FirstToken: 1 << 40}).served(t)
	session := h.client(t, versions[1], nil)
	given := h.waiting(t, session)
	run := h.until(t, events.KindWorkflowStarted).Run
	call[seen](t, session, "cancel_run", map[string]any{"run_id": run, "reason": "no longer wanted"})
	require.Regexp(t, `^Run .*cancelled \(no longer wanted\)`, <-given)
	again, _ := call[seen](t, session, "cancel_run", map[string]any{"run_id": run})
	require.Equal(t, events.StatusCancelled, again.Status)
}

// A server that ends parks the run, and whoever waits is told how it goes on.
func TestParked(t *testing.T) {
	for _, version := range versions {
		h := newHost(t, sim.Options{FirstToken: 1 << 40}).served(t)
		session := h.client(t, version, nil)
		given := h.waiting(t, session)
		run := h.until(t, events.KindWorkflowStarted).Run
		h.shutDown()
		require.Regexp(t, "^Run .*convene resume "+string(run), <-given)
		require.Contains(t, refused(t, session, "start_run", map[string]any{"request": request}), "about to end")
	}
}

// Callers choose among the teams that they are offered, and see the runs of these alone.
func TestOthersAreNotThere(t *testing.T) {
	h := newHost(t, sim.Options{}).served(t)
	general, err := team.Builtin("general")
	require.NoError(t, err)
	other, err := h.runner.Run(t.Context(), runner.Job{Request: "A secret", Team: general, Solo: true})
	require.NoError(t, err)
	session := h.client(t, versions[1], nil)
	for _, tool := range []string{"get_run", "list_events", "cancel_run"} {
		for _, id := range []string{string(other.Run), "0", "", "no such run"} {
			require.Contains(t, refused(t, session, tool, map[string]any{"run_id": id}), "of the teams that are served here (trip)", tool)
		}
	}
	require.Contains(t, refused(t, session, "start_run", map[string]any{"request": "x", "team": "general"}), "general")
	require.Contains(t, refused(t, session, "start_run", map[string]any{"request": " "}), "the request is empty")
	require.Contains(t, refused(t, session, "start_run", map[string]any{"request": "x", "model": "other"}), "model")
	require.Len(t, runsOf(t, h), 1)
}

func runsOf(t *testing.T, h *host) []events.RunSummary {
	runs, err := h.log.Runs(t.Context(), events.RunQuery{})
	require.NoError(t, err)
	return runs
}

// listed is a page of list_events.
type listed struct {
	Events []json.RawMessage
	Next   events.Seq `json:"next_after_seq"`
	More   bool
}

// Pages together are the run, and nothing of the other runs of its thread; they are bounded.
func TestListEvents(t *testing.T) {
	h := newHost(t, sim.Options{}).served(t)
	trip, err := team.Builtin("trip")
	require.NoError(t, err)
	general, err := team.Builtin("general")
	require.NoError(t, err)
	before, err := h.runner.Run(t.Context(), runner.Job{Request: "A secret", Team: general, Solo: true})
	require.NoError(t, err)
	run, err := h.runner.Run(t.Context(), runner.Job{Request: request, Team: trip, Thread: before.Thread})
	require.NoError(t, err)
	_, err = h.runner.Run(t.Context(), runner.Job{Request: strings.Repeat("Another secret. ", 13_000), Team: trip, Solo: true, Thread: before.Thread})
	require.NoError(t, err)
	session := h.client(t, versions[1], nil)
	var types []string
	for after, more := events.Seq(0), true; more; {
		page, _ := call[listed](t, session, "list_events", map[string]any{"run_id": run.Run, "after_seq": after, "limit": 7})
		require.LessOrEqual(t, len(page.Events), 7)
		for _, body := range page.Events {
			var env struct {
				Type string
				Seq  events.Seq
				Run  events.RunID `json:"run_id"`
			}
			require.NoError(t, json.Unmarshal(body, &env))
			require.Equal(t, run.Run, env.Run)
			require.Greater(t, env.Seq, after)
			after, types = env.Seq, append(types, env.Type)
		}
		require.Equal(t, after, page.Next)
		more = page.More
	}
	require.Equal(t, "workflow_started", types[0])
	first, _ := call[listed](t, session, "list_events", map[string]any{"run_id": run.Run, "limit": 1})
	require.Contains(t, string(first.Events[0]), request)
	require.NotContains(t, string(first.Events[0]), `"config"`)
	require.Equal(t, "workflow_finished", types[len(types)-1])
	summary, err := h.log.FindRun(t.Context(), events.LocalTenant, string(run.Run))
	require.NoError(t, err)
	require.Len(t, types, int(summary.LastSeq-summary.FirstSeq+1))

	page, _ := call[listed](t, session, "list_events", map[string]any{"run_id": run.Run, "types": []string{"tasks_created", "final_answer"}})
	require.Len(t, page.Events, 2)
	require.Contains(t, refused(t, session, "list_events", map[string]any{"run_id": run.Run, "types": []string{"tasks"}}), `no type of events "tasks"`)
	require.Contains(t, refused(t, session, "list_events", map[string]any{"run_id": run.Run, "limit": 501}), "from 1 to 500")

	// What alone would fill a page comes without its data.
	newest := runsOf(t, h)[0]
	page, result := call[listed](t, session, "list_events", map[string]any{"run_id": newest.Run, "limit": 500})
	require.Contains(t, string(page.Events[0]), `"data_bytes":`)
	require.NotContains(t, string(page.Events[0]), "Another secret")
	require.Less(t, len(textOf(result)), 300_000)
}

// A page of long events ends before its limit.
func TestPagesAreBounded(t *testing.T) {
	h := newHost(t, sim.Options{FirstToken: 1 << 40}).served(t)
	session := h.client(t, versions[1], nil)
	run, _ := call[seen](t, session, "start_run", map[string]any{"request": request})
	for range 3 {
		_, err := h.runner.Send(t.Context(), runner.Job{
			Thread: run.Thread, Request: strings.Repeat("Hurry up. ", 8_000), Message: &runner.Message{Delivery: events.DeliverySteer},
		})
		require.NoError(t, err)
	}
	arguments := map[string]any{"run_id": run.Run, "types": []string{"user_message"}}
	page, _ := call[listed](t, session, "list_events", arguments)
	require.Len(t, page.Events, 2)
	require.True(t, page.More)
	arguments["after_seq"] = page.Next
	page, _ = call[listed](t, session, "list_events", arguments)
	require.Len(t, page.Events, 1)
	require.False(t, page.More)
}

// An address that clients of older protocols leave sessions at takes no more in the end.
func TestSessionsAreBounded(t *testing.T) {
	h := newHost(t, sim.Options{})
	handler := h.server.Handler()
	defer h.server.Close()
	status := 0
	for range 1001 {
		request := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		status = answer.Code
		if status != http.StatusOK {
			break
		}
	}
	require.Equal(t, http.StatusServiceUnavailable, status)
}
