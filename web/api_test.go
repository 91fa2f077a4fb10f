package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/web"
)

// Proves R64 (starting and reading), R71: a run is started, listed, found, read,
// cancelled, resumed, forked and exported by the API.
func TestAPI(t *testing.T) {
	log := events.NewMemory()
	runs := newSimRuns(t, log, sim.Options{PerChunk: 5 * time.Millisecond})
	server := serve(t, web.Config{Log: log, Runs: runs, Version: "v1"})

	status, header, body := server.do(t, http.MethodPost, "/api/v1/runs", `{"request":"Plan three days in Kyoto","team":"trip"}`)
	require.Equal(t, http.StatusCreated, status, body)
	var started web.Started
	require.NoError(t, json.Unmarshal([]byte(body), &started))
	path := "/api/v1/runs/" + string(started.Run)
	require.Equal(t, path, header.Get("Location"))

	status, _, body = server.get(t, path)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"status":"running"`)
	require.Contains(t, body, `"held_by":`)

	status, _, body = server.do(t, http.MethodPost, path+"/cancel", `{"reason":"enough"}`)
	require.Equal(t, http.StatusAccepted, status, body)
	require.Eventually(t, func() bool {
		run, err := log.FindRun(t.Context(), events.LocalTenant, string(started.Run))
		return err == nil && run.Status == events.StatusCancelled
	}, time.Minute, 10*time.Millisecond)
	status, header, body = server.do(t, http.MethodPost, path+"/cancel", `{}`)
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, problem(t, header, body), "is over: it is cancelled")
	status, header, body = server.do(t, http.MethodPost, path+"/resume", "")
	require.Equal(t, http.StatusConflict, status)
	problem(t, header, body)

	status, _, body = server.do(t, http.MethodPost, path+"/fork", `{"at":1,"instruction":"cheap"}`)
	require.Equal(t, http.StatusCreated, status, body)
	runs.wait()

	for query, want := range map[string]int{
		"": 2, "?status=cancelled": 1, "?status=completed,cancelled": 2, "?search=KYOTO": 2, "?search=nothing+like+it": 0,
		"?limit=1": 1, "?thread_id=" + string(started.Thread): 1, "?before=" + string(started.Run): 0,
	} {
		status, _, body = server.get(t, "/api/v1/runs"+query)
		require.Equal(t, http.StatusOK, status, body)
		var list struct{ Runs []events.RunSummary }
		require.NoError(t, json.Unmarshal([]byte(body), &list))
		require.Len(t, list.Runs, want, query)
	}
	status, _, body = server.get(t, path+"/events?after=1&limit=2")
	require.Equal(t, http.StatusOK, status)
	var page struct{ Events []events.Envelope }
	require.NoError(t, json.Unmarshal([]byte(body), &page))
	require.Len(t, page.Events, 2)
	require.Equal(t, events.Seq(2), page.Events[0].Seq)
	status, _, body = server.get(t, path+"/result")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"status":"cancelled"`)
	status, _, body = server.get(t, "/api/v1/threads/"+string(started.Thread))
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"active":[]`)
	status, _, body = server.get(t, "/api/v1/server")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"can_start":true`)

	status, _, body = server.get(t, "/api/v1/teams")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"teams":[{"name":"trip","default":true,"specialists":["food"]},{"name":"research","specialists":[]}]}`, body)

	status, _, body = server.get(t, path+"/export")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, strings.Join(encoded(t, log, events.ThreadKey{Tenant: events.LocalTenant, Thread: started.Thread}), "\n")+"\n", body)

	status, _, body = server.get(t, "/api/v1/openapi.json")
	require.Equal(t, http.StatusOK, status)
	for _, operation := range []string{"list-runs", "get-run", "start-run", "cancel-run", "resume-run", "fork-run", "get-run-events", "get-run-result", "get-thread", "list-teams", "export-run", "stream-thread-events"} {
		require.Contains(t, body, `"operationId":"`+operation+`"`)
	}
	status, _, body = server.get(t, "/metrics")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `convene_runs_started_total{tenant="local"} 2`)
	require.Contains(t, body, `convene_http_requests_total{route="GET /healthz"`[:30])
}

// Proves R64, R71: what is wrong in a request is told as problem+json, with words
// that help.
func TestAPIRefusesWithWords(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("a run")
	server := serve(t, web.Config{Log: log, Runs: newSimRuns(t, log, sim.Options{})})
	run, thread := string(s.run), string(s.key.Thread)
	for _, c := range []struct {
		method, path, body string
		status             int
		words              string
	}{
		{"GET", "/api/v1/runs/none", "", 404, "there is no run"},
		{"GET", "/api/v1/runs/none/result", "", 404, "there is no run"},
		{"GET", "/api/v1/runs/none/events", "", 404, "there is no run"},
		{"GET", "/api/v1/runs/none/export", "", 404, "there is no run"},
		{"POST", "/api/v1/runs/none/cancel", "{}", 404, "there is no run"},
		{"POST", "/api/v1/runs/none/resume", "", 404, "there is no run"},
		{"POST", "/api/v1/runs/none/fork", `{"at":1}`, 404, "there is no run"},
		{"GET", "/api/v1/threads/none", "", 404, "there is no thread"},
		{"GET", "/api/v1/threads/none/events", "", 404, "there is no thread"},
		{"GET", "/ws?thread_id=none", "", 404, "there is no thread"},
		{"GET", "/ws", "", 400, "thread_id is missing"},
		{"GET", "/ws?thread_id=" + thread + "&after=x", "", 400, "is not a seq"},
		{"GET", "/ws?thread_id=" + thread + "&after=-1", "", 400, "is not a seq"},
		{"GET", "/ws?thread_id=" + thread + "&after=99", "", 400, "beyond the thread's last event"},
		{"GET", "/api/v1/threads/" + thread + "/events?after=1.5", "", 400, "is not a seq"},
		{"GET", "/api/v1/runs?limit=0", "", 422, "limit"},
		{"GET", "/api/v1/runs?limit=many", "", 422, "limit"},
		{"GET", "/api/v1/runs?limit=501", "", 422, "limit"},
		{"GET", "/api/v1/runs?status=happy", "", 422, "status"},
		{"GET", "/api/v1/runs?search=" + strings.Repeat("x", 201), "", 422, "search"},
		{"GET", "/api/v1/runs/" + run + "/events?after=-1", "", 422, "after"},
		{"GET", "/api/v1/runs/" + run + "/export?format=pdf", "", 400, "html or jsonl"},
		{"POST", "/api/v1/runs", "", 400, "body"},
		{"POST", "/api/v1/runs", "{", 400, "unexpected"},
		{"POST", "/api/v1/runs", "[]", 422, "object"},
		{"POST", "/api/v1/runs", "{}", 422, "request"},
		{"POST", "/api/v1/runs", `{"request":""}`, 422, "request"},
		{"POST", "/api/v1/runs", `{"request":"  "}`, 422, "empty"},
		{"POST", "/api/v1/runs", `{"request":5}`, 422, "string"},
		{"POST", "/api/v1/runs", `{"request":"x","team":"/etc/passwd"}`, 422, "team"},
		{"POST", "/api/v1/runs", `{"request":"x","surprise":1}`, 422, "surprise"},
		{"POST", "/api/v1/runs", `{"request":"x","thread_id":"not-a-uuid"}`, 422, "UUID"},
		// The longest request fits, in its longest form; a longer one is told the bound in
		// characters, as long as it can be read at all.
		{"POST", "/api/v1/runs", `{"request":"` + strings.Repeat(`\ud83d\ude00`, runner.MaxRequestChars) + `","team":"/etc/passwd"}`, 422, "team"},
		{"POST", "/api/v1/runs", `{"request":"` + strings.Repeat("x", 9<<20) + `"}`, 422, "has 9437184 characters; at most 1048576 are allowed"},
		{"POST", "/api/v1/runs", `{"request":"` + strings.Repeat("x", 17<<20) + `"}`, 413, "limit"},
		{"POST", "/api/v1/runs/" + run + "/fork", `{"at":0}`, 422, "at"},
		{"POST", "/api/v1/runs/" + run + "/fork", `{"at":7}`, 422, "cannot be forked at 7"},
		{"DELETE", "/api/v1/runs/" + run, "", 405, "only GET, HEAD"},
		{"GET", "/api/v2/runs", "", 404, "openapi.json"},
	} {
		name := fmt.Sprintf("%s %.90s %.60s", c.method, c.path, c.body)
		status, header, body := server.do(t, c.method, c.path, c.body)
		require.Equal(t, c.status, status, "%s: %.300s", name, body)
		require.Contains(t, problem(t, header, body), c.words, name)
	}
	reader := serve(t, web.Config{Log: log})
	status, header, body := reader.do(t, http.MethodPost, "/api/v1/runs", `{"request":"x"}`)
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, problem(t, header, body), "convene serve")
}

// Proves R71: a damaged or foreign file names the line.
func TestReadFile(t *testing.T) {
	log, run := simulated(t, "trip", sim.Options{})
	bodies := encoded(t, log, events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread})
	whole := strings.Join(bodies, "\n")
	loaded, summary, err := web.ReadFile(t.Context(), strings.NewReader("\n"+whole), "run.jsonl")
	require.NoError(t, err)
	require.Equal(t, run.Run, summary.Run)
	require.Equal(t, bodies, encoded(t, loaded, events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread}), "as it was, times and all")

	replaced := func(line int, text string) string {
		copied := append([]string{}, bodies...)
		copied[line-1] = text
		return strings.Join(copied, "\n")
	}
	for name, c := range map[string]struct{ file, words string }{
		"empty":        {"", "contains no events"},
		"not JSON":     {"hello\n", "run.jsonl:1: "},
		"damaged":      {replaced(9, bodies[8][:40]), "run.jsonl:9: "},
		"line lost":    {replaced(9, ""), "run.jsonl:10: "},
		"line twice":   {replaced(9, bodies[7]), "run.jsonl:9: "},
		"other thread": {replaced(9, strings.Replace(bodies[8], string(run.Thread), "00000000-0000-4000-8000-000000000000", 1)), "run.jsonl:9: "},
		"newer":        {replaced(9, strings.Replace(bodies[8], `{"v":1`, `{"v":99`, 1)), "run.jsonl:9: "},
		"unknown kind": {replaced(9, strings.Replace(bodies[8], `"type":"`, `"type":"x_`, 1)), "run.jsonl:9: "},
		"bytes":        {"\x00\xff\xfe", "run.jsonl:1: "},
		"no run":       {`{"v":1,"tenant_id":"local","thread_id":"t","run_id":"r","seq":1,"time":"2026-01-02T03:04:05Z","type":"cancel_requested","data":{}}`, "but no run"},
		"a batch":      {`{"v":1,"tenant_id":"local","thread_id":"t","run_id":"","seq":1,"time":"2026-01-02T03:04:05Z","type":"batch_started","data":{}}`, "the thread of a batch"},
	} {
		_, _, err := web.ReadFile(t.Context(), strings.NewReader(c.file), "run.jsonl")
		require.ErrorContains(t, err, c.words, name)
	}
}

// What stands in a run cannot end the element of the export that holds it.
func TestExportHoldsHostileText(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start(`</script><script>alert(1)</script><!--<script>`)
	summary, err := log.FindRun(t.Context(), events.LocalTenant, string(s.run))
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, web.WriteHTML(&out, summary, web.Encoded(t.Context(), log, s.key, s.seq), false))
	require.Equal(t, 2, strings.Count(out.String(), "</script>"))
	require.Equal(t, 2, strings.Count(out.String(), "<script"))
	require.NotContains(t, out.String(), "<!--")
}

// A run that was removed is not found, by any address that it had.
func TestRemovedRunIsNotFound(t *testing.T) {
	log := events.NewMemory()
	server := serve(t, web.Config{Log: log})
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: "00000000-0000-4000-8000-000000000001"}
	run := events.RunID("01900000-0000-7000-8000-000000000001")
	epoch, err := log.Claim(t.Context(), key, "tester", false)
	require.NoError(t, err)
	require.NoError(t, log.Append(t.Context(), key, epoch, 0, []events.Envelope{
		{Run: run, Data: events.WorkflowStarted{Message: "a request"}}, {Run: run, Data: events.WorkflowFinished{Status: events.StatusCompleted}},
	}))
	require.NoError(t, log.Release(t.Context(), key, epoch))
	paths := []string{"/api/v1/runs/" + string(run), "/api/v1/runs/" + string(run) + "/events", "/api/v1/threads/" + string(key.Thread)}
	for _, path := range paths {
		status, _, body := server.get(t, path)
		require.Equal(t, http.StatusOK, status, body)
	}
	require.NoError(t, log.Remove(t.Context(), key))
	for _, path := range paths {
		status, header, body := server.get(t, path)
		require.Equal(t, http.StatusNotFound, status, path)
		require.NotEmpty(t, problem(t, header, body))
	}
	_, _, body := server.get(t, "/api/v1/runs")
	require.NotContains(t, body, string(run))
}
