package sim_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The server and the model in process play the same job to the letter.
func TestServerPlaysLikeTheModel(t *testing.T) {
	server, client := startServer(t, sim.Options{})
	remote, local := travelTeam(t, client), travelTeam(t, sim.New(sim.Options{}))
	require.Equal(t, local.run(tripRequest), remote.run(tripRequest))
	require.Equal(t, local.final(), remote.final())
	report := settled(t, server)
	require.Equal(t, local.total(), report.Served)
	require.Equal(t, report.Requests, report.Served)
	require.Zero(t, report.Duplicates)
	require.Zero(t, report.InFlight)
}

func TestServerAnswersWithoutStreaming(t *testing.T) {
	_, client := startServer(t, sim.Options{})
	team := travelTeam(t, client)
	req := llm.Request{Model: "any", Messages: hello().Messages, Tools: team.facilitatorTools()}
	resp, err := client.post(context.Background(), req, false)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	var body struct {
		Model   string
		Choices []struct {
			Message struct {
				ToolCalls []struct {
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			FinishReason string `json:"finish_reason"`
		}
		Usage struct {
			Total int `json:"total_tokens"`
		}
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&body))
	require.Equal(t, "any", body.Model)
	require.Equal(t, "tool_calls", body.Choices[0].FinishReason)
	call := body.Choices[0].Message.ToolCalls[0]
	require.Equal(t, "create_tasks", call.Function.Name)
	require.NotEmpty(t, call.ID)
	require.True(t, json.Valid([]byte(call.Function.Arguments)))
	require.Positive(t, body.Usage.Total)
}

// Every chunk is a write of its own, the role comes first, usage before the end.
func TestStreamHasTheShapeOfOpenAI(t *testing.T) {
	_, client := startServer(t, sim.Options{Chunks: 25})
	resp, err := client.post(context.Background(), hello(), true)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(body)), "\n\n")
	require.Contains(t, lines[0], `"role":"assistant"`)
	require.Contains(t, lines[len(lines)-3], `"finish_reason":"stop"`)
	require.Contains(t, lines[len(lines)-2], `"choices":[],"usage":{`)
	require.Equal(t, "data: [DONE]", lines[len(lines)-1])
	require.Len(t, lines, 1+25+3)
}

func TestModelsAreListed(t *testing.T) {
	_, client := startServer(t, sim.Options{})
	resp, err := client.http.Get(client.url + "/v1/models")
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	var list struct{ Data []struct{ ID string } }
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&list))
	require.Equal(t, "sim", list.Data[0].ID)
}

func TestMalformedRequestsAreRefused(t *testing.T) {
	server, client := startServer(t, sim.Options{})
	for _, body := range []string{"", "{", `{"messages": 3}`, "null", `{"messages":[{"role":"tool","content":[{"type":"text"}]},{}]}`} {
		resp, err := client.http.Post(client.url+"/v1/chat/completions", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		_ = resp.Body.Close()
		require.Contains(t, []int{http.StatusOK, http.StatusBadRequest}, resp.StatusCode, body)
	}
	require.Equal(t, 3, server.Report().Refused)
}

// Two clients that send the same body pay twice, and the report says so; a reset
// forgets it.
func TestReportFindsWhatWasPaidTwice(t *testing.T) {
	server, client := startServer(t, sim.Options{Price: sim.Price{Input: 1, CachedInput: 0.1, Output: 2}})
	for range 2 {
		_, err := client.once(context.Background(), hello())
		require.NoError(t, err)
		settled(t, server) // the client may have the end before the server has noted it
	}
	report := server.Report()
	require.Equal(t, 1, report.Duplicates)
	require.True(t, report.Records[1].Duplicate)
	require.InDelta(t, float64(report.Tokens.InputTokens)/1e6+float64(report.Tokens.OutputTokens)*2/1e6, report.CostUSD, 1e-9)

	resp, err := client.http.Post(client.url+"/sim/reset", "", nil)
	require.NoError(t, err)
	_ = resp.Body.Close()
	resp, err = client.http.Get(client.url + "/sim/report")
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	var after sim.Report
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&after))
	require.Zero(t, after.Requests)
	require.Zero(t, after.Duplicates)
}

// The report's critical path is that of the pace alone: with 25 chunks a call and
// no early start, four turns of the facilitator and four of the slowest specialist.
func TestReportComputesTheCriticalPath(t *testing.T) {
	const first, per, chunks = 4 * time.Millisecond, time.Millisecond / 4, 25
	server, client := startServer(t, sim.Options{Bench: true, Chunks: chunks, FirstToken: first, PerChunk: per})
	team := travelTeam(t, client)
	team.run(tripRequest)
	report := settled(t, server)
	require.Equal(t, 16, report.Served)
	require.Len(t, report.Runs, 1)
	run := report.Runs[0]
	require.Equal(t, 16, run.Calls)
	require.Equal(t, 4, run.Conversations)
	call := first + (chunks-1)*per
	require.InDelta(t, 8*call.Seconds()*1000, run.CriticalPathMS, 1e-6)
	require.InDelta(t, run.CriticalPathMS, run.EarlyCriticalPathMS, 1e-6, "the last specialist's call ends with the turn")
	require.GreaterOrEqual(t, run.ElapsedMS, run.CriticalPathMS, "the test's client runs specialists one by one")
	for _, record := range report.Records {
		require.GreaterOrEqual(t, record.LastChunkMS, record.PlannedMS)
		require.GreaterOrEqual(t, record.LastChunkMS, record.FirstChunkMS)
		require.Equal(t, run.Run, record.Run)
	}
}

// A perfect client starts a specialist before the dispatching turn ends: where only
// the first call leads to work, the early path is shorter, by less than that turn.
func TestReportComputesTheEarlyCriticalPath(t *testing.T) {
	const first, per, chunks = time.Millisecond, time.Millisecond, 25
	server, client := startServer(t, sim.Options{Chunks: chunks, FirstToken: first, PerChunk: per})
	team := travelTeam(t, client)
	team.fail["culture"], team.fail["transport"] = true, true
	team.run(tripRequest)
	run := settled(t, server).Runs[0]
	require.Equal(t, 2, run.Conversations)
	require.Less(t, run.EarlyCriticalPathMS, run.CriticalPathMS)
	require.Greater(t, run.EarlyCriticalPathMS, run.CriticalPathMS-chunks)
}

// Runs with different requests at once, without the header, stay apart.
func TestReportTellsRunsApart(t *testing.T) {
	server, client := startServer(t, sim.Options{Bench: true})
	var group sync.WaitGroup
	requests := []string{tripRequest, "Plan two days in Rome.", "Plan four days in Oslo."}
	for _, request := range requests {
		group.Go(func() { travelTeam(t, client).run(request) })
	}
	group.Wait()
	report := settled(t, server)
	require.Len(t, report.Runs, len(requests))
	for _, run := range report.Runs {
		require.Equal(t, 16, run.Calls)
		require.Equal(t, 4, run.Conversations)
	}
}

// A client that leaves is noticed, and its reply is not counted as served.
func TestClientThatLeaves(t *testing.T) {
	server, client := startServer(t, sim.Options{PerChunk: time.Hour})
	ctx, leave := context.WithCancel(context.Background())
	resp, err := client.post(ctx, hello(), true)
	require.NoError(t, err)
	leave()
	_ = resp.Body.Close()
	require.Eventually(t, func() bool { return server.Report().InFlight == 0 }, patience, time.Millisecond)
	require.Equal(t, 1, server.Report().Unfinished)
}
