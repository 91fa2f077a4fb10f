package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/eventstest"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/web"
)

// newBatchScript claims a thread that a batch's events go to.
func newBatchScript(t testing.TB, log events.Log) *script {
	t.Helper()
	s := newScript(t, log)
	s.run = ""
	return s
}

// decode reads an answer that must be 200.
func decode[T any](t testing.TB, s *served, path string) (answer T) {
	t.Helper()
	status, _, body := s.get(t, path)
	require.Equal(t, http.StatusOK, status, body)
	require.NoError(t, json.Unmarshal([]byte(body), &answer))
	return answer
}

type batchList struct {
	Batches []web.BatchView
	More    bool
}

type rowList struct {
	Rows []events.RunSummary
	More bool
}

// Proves R71: a batch that runs, one that was killed and one that ended are listed,
// found and read by the API, with their rows, while they run and afterwards.
func TestBatchesAPI(t *testing.T) {
	log := events.NewMemory()
	runs := newSimRuns(t, log, sim.Options{})
	server := serve(t, web.Config{Log: log, Runs: runs})
	require.Empty(t, decode[batchList](t, server, "/api/v1/batches").Batches)

	trip, err := team.Builtin("trip")
	require.NoError(t, err)
	b, err := batch.New(batch.Config{Runner: runs.runner, Team: trip, Solo: true, Concurrency: 2, Total: 7, Input: "asked.jsonl", Output: "answered.jsonl"})
	require.NoError(t, err)
	var seen web.BatchView
	rows := func(yield func(batch.Row, error) bool) {
		for i := range 7 {
			if i == 6 {
				seen = decode[batchList](t, server, "/api/v1/batches?status=running").Batches[0]
			}
			row := batch.Row{ID: fmt.Sprintf("row-%d", i), Index: i, Request: fmt.Sprintf("Plan day %d in Kyoto", i)}
			if i == 3 {
				row.Team = "nobody"
			}
			if !yield(row, nil) {
				return
			}
		}
	}
	_, err = b.Run(t.Context(), rows, batch.SinkFunc(func(batch.Output) error { return nil }))
	require.NoError(t, err)
	require.Equal(t, runs.runner.Owner(), seen.HeldBy)
	require.WithinDuration(t, time.Now(), *seen.HeldSince, time.Minute)
	require.False(t, seen.Interrupted)
	require.Equal(t, "asked.jsonl", seen.Input)

	killed := newBatchScript(t, log)
	killed.add(eventstest.Samples()[events.KindBatchStarted], eventstest.Samples()[events.KindBatchProgress])
	require.NoError(t, log.Release(t.Context(), killed.key, killed.epoch))

	path := "/api/v1/batches/" + string(seen.Batch)
	for query, want := range map[string][]events.BatchID{
		"": {events.BatchID(killed.key.Thread), seen.Batch}, "?limit=1": {events.BatchID(killed.key.Thread)},
		"?before=" + string(killed.key.Thread): {seen.Batch}, "?search=ANSWERED": {seen.Batch}, "?status=degraded,failed": {seen.Batch},
		"?search=nothing+like+it": nil,
	} {
		list := decode[batchList](t, server, "/api/v1/batches"+query)
		var got []events.BatchID
		for _, b := range list.Batches {
			got = append(got, b.Batch)
		}
		require.Equal(t, want, got, query)
		require.Equal(t, query == "?limit=1", list.More)
	}
	dead := decode[web.BatchView](t, server, "/api/v1/batches/"+string(killed.key.Thread))
	require.True(t, dead.Interrupted)
	require.Equal(t, events.StatusRunning, dead.Status)
	require.Equal(t, 40, dead.Done)

	over := decode[web.BatchView](t, server, path[:len(path)-20])
	require.Equal(t, events.StatusDegraded, over.Status)
	require.Equal(t, []int{7, 6, 1}, []int{over.Done, over.Completed, over.Failed})
	require.Equal(t, batch.KindUnknownTeam, over.Causes[0].Code)
	require.Empty(t, over.HeldBy)

	var all []string
	for query := "?limit=4"; ; {
		page := decode[rowList](t, server, path+"/rows"+query)
		for _, row := range page.Rows {
			all = append(all, row.Batch.Row)
		}
		if !page.More {
			break
		}
		query = "?limit=4&after=" + string(page.Rows[len(page.Rows)-1].Run)
	}
	require.Equal(t, []string{"row-0", "row-1", "row-2", "row-4", "row-5", "row-6"}, all)
	require.Len(t, decode[rowList](t, server, path+"/rows?status=completed,failed").Rows, 6)
	require.Empty(t, decode[rowList](t, server, path+"/rows?status=running").Rows)
	found := decode[rowList](t, server, path+"/rows?search=ROW-5").Rows
	require.Len(t, found, 1)
	status, _, body := server.get(t, "/api/v1/runs/"+string(found[0].Run))
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"row_id":"row-5"`)

	status, _, body = server.get(t, "/api/v1/openapi.json")
	require.Equal(t, http.StatusOK, status)
	for _, operation := range []string{"list-batches", "get-batch", "list-batch-rows"} {
		require.Contains(t, body, `"operationId":"`+operation+`"`)
	}
}

// Proves R71: what is wrong in a request about batches is told with words that help, and
// who asks for a run where there is a batch is told so.
func TestBatchesAPIRefusesWithWords(t *testing.T) {
	log := events.NewMemory()
	s := newBatchScript(t, log)
	s.add(events.BatchStarted{Rows: 3})
	server := serve(t, web.Config{Log: log, Runs: newSimRuns(t, log, sim.Options{})})
	id := string(s.key.Thread)
	for _, c := range []struct {
		method, path, body string
		status             int
		words              string
	}{
		{"GET", "/api/v1/batches/none", "", 404, "there is no batch"},
		{"GET", "/api/v1/batches/none/rows", "", 404, "there is no batch"},
		{"GET", "/api/v1/batches?limit=0", "", 422, "limit"},
		{"GET", "/api/v1/batches?status=happy", "", 422, "status"},
		{"GET", "/api/v1/batches?search=" + strings.Repeat("x", 201), "", 422, "search"},
		{"GET", "/api/v1/batches/" + id + "/rows?limit=501", "", 422, "limit"},
		{"GET", "/api/v1/batches/" + id + "/rows?status=interrupted", "", 422, "status"},
		{"GET", "/api/v1/batches/" + id + "/everything", "", 404, "openapi.json"},
		{"POST", "/api/v1/batches", "{}", 405, "only GET"},
		{"POST", "/api/v1/batches/" + id + "/stop", "", 409, "this server only shows batches"},
		{"POST", "/api/v1/batches/" + id + "/resume", "", 409, "this server only shows batches"},
		{"GET", "/api/v1/batches/" + id + "/retry", "", 405, "only POST"},
		{"GET", "/api/v1/runs/" + id, "", 404, "is a batch, not a run"},
		{"GET", "/api/v1/runs/" + id + "/events", "", 404, "is a batch, not a run"},
		{"GET", "/api/v1/runs/" + id + "/result", "", 404, "is a batch, not a run"},
		{"GET", "/api/v1/runs/" + id + "/export", "", 404, "/api/v1/batches/" + id},
		{"POST", "/api/v1/runs/" + id + "/cancel", "{}", 404, "is a batch, not a run"},
		{"POST", "/api/v1/runs/" + id + "/resume", "", 404, "is a batch, not a run"},
		{"POST", "/api/v1/runs/" + id + "/fork", `{"at":1}`, 404, "is a batch, not a run"},
		{"GET", "/api/v1/threads/" + id, "", 404, "GET /api/v1/batches/" + id + " gives its state"},
		{"GET", "/api/v1/threads/" + id[:8], "", 404, "there is no thread"},
		{"GET", "/ws?thread_id=" + id + "&after=2", "", 400, "beyond the thread's last event, which has seq 1"},
		{"GET", "/ws?thread_id=" + id[:8], "", 404, "there is no thread"},
	} {
		status, header, body := server.do(t, c.method, c.path, c.body)
		require.Equal(t, c.status, status, "%s %s: %.300s", c.method, c.path, body)
		require.Contains(t, problem(t, header, body), c.words, c.path)
	}
	require.NoError(t, log.Release(t.Context(), s.key, s.epoch))
	status, header, body := server.do(t, http.MethodPost, "/api/v1/runs", `{"request":"x","thread_id":"`+id+`"}`)
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, problem(t, header, body), "this is the thread of a batch")
}

// Proves R71: the events of a batch come over the socket and as server-sent events as
// those of a run do, from any seq, live.
func TestBatchIsFollowed(t *testing.T) {
	log := events.NewMemory()
	s := newBatchScript(t, log)
	s.add(events.BatchStarted{Rows: 100})
	for n := range 600 {
		s.add(events.BatchProgress{BatchFigures: events.BatchFigures{Done: n}})
	}
	server := serve(t, web.Config{Log: log, Runs: newSimRuns(t, log, sim.Options{})})
	late, joined := server.dial(t, s.key.Thread, 0), server.dial(t, s.key.Thread, s.seq)
	require.Equal(t, encoded(t, log, s.key), take(t, late, 0, s.seq))
	before := s.seq
	s.add(events.BatchEnded{Status: events.StatusCompleted})
	require.Contains(t, take(t, joined, before, s.seq)[0], `"type":"batch_ended"`)
	require.Contains(t, take(t, late, before, s.seq)[0], `"type":"batch_ended"`)

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.url("/api/v1/threads/"+string(s.key.Thread)+"/events"), nil)
	require.NoError(t, err)
	request.Header.Set("Last-Event-ID", fmt.Sprint(before))
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text := ""
	for buffer := make([]byte, 4096); !strings.Contains(text, "batch_ended"); {
		n, err := response.Body.Read(buffer)
		require.NoError(t, err, text)
		text += string(buffer[:n])
	}
	require.Contains(t, text, fmt.Sprintf("id: %d\ndata: ", s.seq))
}
