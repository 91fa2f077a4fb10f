package sim_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
)

func faulty(t *testing.T, faults string) sim.Options {
	t.Helper()
	parsed, err := sim.ParseFaults(faults)
	require.NoError(t, err)
	return sim.Options{Seed: 7, Faults: parsed}
}

func TestParseFaultsSaysWhatIsWrong(t *testing.T) {
	for text, complaint := range map[string]string{
		"cut":             "want NAME=VALUE",
		"bogus=3%":        "unknown",
		"404=3%":          "unknown",
		"cut=x":           "rate",
		"cut=120%":        "rate",
		"cut=NaN":         "rate",
		"stall=1%":        "RATE:DURATION",
		"stall=1%:soon":   "want a time",
		"429-above=0":     "whole number",
		"rpm=-1":          "whole number",
		"retry-after=0s":  "want a time",
		"key=":            "empty",
		"cut=60%,503=60%": "add up to 120%",
	} {
		_, err := sim.ParseFaults(text)
		require.ErrorContains(t, err, complaint, text)
	}
	faults, err := sim.ParseFaults("rpm=600,tell-limits,retry-after=none")
	require.NoError(t, err)
	require.Equal(t, sim.Faults{RequestsPerMinute: 600, TellLimits: true, RetryAfter: -1}, faults)
	faults, err = sim.ParseFaults(" 503=10%, 429-above=8,cut=0.05,stall=1%:2s, rpm=60, retry-after=2s, key=k ,")
	require.NoError(t, err)
	require.Equal(t, sim.Faults{
		Random: []sim.Fault{
			{Kind: sim.FaultStatus, Status: 503, Rate: 0.1}, {Kind: sim.FaultCut, Rate: 0.05},
			{Kind: sim.FaultStall, Rate: 0.01, For: 2 * time.Second},
		},
		MaxInFlight: 8, RequestsPerMinute: 60, RetryAfter: 2 * time.Second, Key: "k",
	}, faults)
}

// Faults that refuse the request outright, each with its status and a body that says why.
func TestRefusals(t *testing.T) {
	for name, want := range map[string]struct {
		status int
		body   string
	}{
		"429":      {http.StatusTooManyRequests, "rate_limit_exceeded"},
		"503":      {http.StatusServiceUnavailable, "server_error"},
		"html":     {http.StatusBadGateway, "<html>"},
		"no-model": {http.StatusNotFound, "model_not_found"},
		"no-tools": {http.StatusBadRequest, "does not support tools"},
	} {
		server, client := startServer(t, faulty(t, name+"=100%"))
		req := hello()
		req.Tools = travelTeam(t, client).facilitatorTools()
		_, err := client.once(context.Background(), req)
		failure := requireStatus(t, err, want.status)
		require.Contains(t, failure.body, want.body)
		report := settled(t, server)
		require.Equal(t, 1, report.Refused)
		require.Equal(t, 1, report.Faults[name])
		if name == "429" {
			require.Equal(t, "1", failure.header.Get("Retry-After"))
		}
	}
	_, client := startServer(t, faulty(t, "no-tools=100%"))
	_, err := client.once(context.Background(), hello())
	require.NoError(t, err, "a request without tools is fine")
}

func TestKeyIsAskedFor(t *testing.T) {
	_, client := startServer(t, faulty(t, "key=secret"))
	_, err := client.once(context.Background(), hello())
	requireStatus(t, err, http.StatusUnauthorized)
	client.key = "secret"
	_, err = client.once(context.Background(), hello())
	require.NoError(t, err)
}

// Faults in the middle of a stream: none of them looks like a whole reply.
func TestBrokenStreams(t *testing.T) {
	for name, complaint := range map[string]string{
		"cut":         errUnfinished.Error(),
		"reset":       "reset by peer",
		"error-event": "failed as it was told",
	} {
		server, client := startServer(t, faulty(t, name+"=100%"))
		_, err := client.once(context.Background(), hello())
		require.ErrorContains(t, err, complaint, name)
		report := settled(t, server)
		require.Equal(t, 1, report.Unfinished, name)
		require.Equal(t, 1, report.Faults[name], name)
		require.Zero(t, report.Served, name)

		resp, err := client.post(context.Background(), hello(), false)
		if err == nil {
			_ = resp.Body.Close()
		}
	}
}

func TestStallsAndSlowFirstBytesTakeTheirTime(t *testing.T) {
	for _, name := range []string{string(sim.FaultStall), string(sim.FaultSlow)} {
		server, client := startServer(t, faulty(t, name+"=100%:30ms"))
		start := time.Now()
		_, err := client.once(context.Background(), hello())
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(start), 30*time.Millisecond)
		record := settled(t, server).Records[0]
		require.Equal(t, name, record.Fault)
		require.GreaterOrEqual(t, record.PlannedMS, 30.0)
		if name == string(sim.FaultSlow) {
			require.GreaterOrEqual(t, record.FirstChunkMS, 30.0)
		}
	}
	_, client := startServer(t, faulty(t, "stall=100%:1h"))
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	resp, err := client.post(ctx, hello(), true)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	n, err := resp.Body.Read(make([]byte, 1))
	require.NoError(t, err)
	require.Equal(t, 1, n, "a stall is not before the first byte")
}

func TestLimitOnRequestsInFlight(t *testing.T) {
	options := faulty(t, "429-above=2,retry-after=3s")
	options.FirstToken = time.Hour
	server, client := startServer(t, options)
	ctx, leave := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() { _, _ = client.once(ctx, hello()) })
	}
	require.Eventually(t, func() bool { return server.Report().InFlight == 2 }, patience, time.Millisecond)
	_, err := client.once(context.Background(), hello())
	failure := requireStatus(t, err, http.StatusTooManyRequests)
	require.Equal(t, "3", failure.header.Get("Retry-After"))
	leave()
	group.Wait()
	require.Equal(t, 2, server.Report().MaxInFlight)
}

// impatient is a client that sends its next request as soon as it has the end of a reply,
// before the handler that sends it has returned.
type impatient struct {
	*httptest.ResponseRecorder
	end  string
	next func()
}

func (w *impatient) Write(b []byte) (int, error) {
	n, err := w.ResponseRecorder.Write(b)
	if next := w.next; next != nil && bytes.Contains(b, []byte(w.end)) {
		w.next = nil
		next()
	}
	return n, err
}

// Who waits for the end of every reply never has two requests in flight.
func TestAPlaceInFlightIsFreeWithTheLastByte(t *testing.T) {
	const streamed, whole = `{"stream":true,"messages":[{"role":"user","content":"hi"}]}`, `{"messages":[{"role":"user","content":"hi"}]}`
	for name, c := range map[string]struct{ faults, body, end string }{
		"stream":             {"", streamed, "[DONE]"},
		"whole":              {"", whole, `"usage"`},
		"error in a stream":  {",error-event=100%", streamed, "stream_failed"},
		"error in one piece": {",error-event=100%", whole, "stream_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			server := sim.NewServer(faulty(t, "429-above=1"+c.faults))
			ask := func(w http.ResponseWriter) {
				server.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(c.body)))
			}
			second := httptest.NewRecorder()
			ask(&impatient{ResponseRecorder: httptest.NewRecorder(), end: c.end, next: func() {
				require.Equal(t, 1, server.Report().InFlight, "the first is not in the counts yet")
				ask(second)
			}})
			require.Equal(t, http.StatusOK, second.Code)
			report := server.Report()
			require.Equal(t, 2, report.Served+report.Unfinished)
			require.Equal(t, 1, report.MaxInFlight)
			require.Zero(t, report.InFlight)
		})
	}
}

func TestLimitPerMinute(t *testing.T) {
	_, client := startServer(t, faulty(t, "rpm=3"))
	for range 3 {
		_, err := client.once(context.Background(), hello())
		require.NoError(t, err)
	}
	_, err := client.once(context.Background(), hello())
	failure := requireStatus(t, err, http.StatusTooManyRequests)
	wait, err := strconv.Atoi(failure.header.Get("Retry-After"))
	require.NoError(t, err)
	require.InDelta(t, 60, wait, 5)
}

// A job survives all faults at once: what fails is retried, what is wrong in a
// reply is corrected after the tool's error.
func TestAJobSurvivesFaults(t *testing.T) {
	server, client := startServer(t, faulty(t,
		"429=5%,503=5%,html=5%,cut=5%,reset=5%,error-event=5%,empty=5%,broken-args=15%,unknown-tool=15%,wrong-task=15%"))
	client.tries = 8
	for i := range 6 {
		team := travelTeam(t, client)
		team.run(strings.Repeat(" ", i) + tripRequest) // a run of its own
		require.Zero(t, team.open())
		require.Len(t, team.tasks, 6)
		require.GreaterOrEqual(t, len(team.entries), 6)
	}
	report := settled(t, server)
	for _, name := range []string{"429", "503", "html", "cut", "reset", "error-event", "empty", "broken-args", "unknown-tool", "wrong-task"} {
		require.Positive(t, report.Faults[name], name)
	}
}

// Faults are a function of the seed and the request's number.
func TestFaultsAreDeterministic(t *testing.T) {
	outcomes := func() string {
		_, client := startServer(t, faulty(t, "503=50%"))
		var b strings.Builder
		for range 20 {
			_, err := client.once(context.Background(), hello())
			b.WriteString(strconv.FormatBool(err == nil) + " ")
		}
		return b.String()
	}
	first := outcomes()
	require.Equal(t, first, outcomes())
	require.Contains(t, first, "true")
	require.Contains(t, first, "false")
}

// Behaviours work in process as well.
func TestBehaviours(t *testing.T) {
	play := func(b sim.Behaviour, req llm.Request) llm.Completion {
		for delta, err := range sim.New(sim.Options{Behaviour: b}).Stream(context.Background(), req) {
			require.NoError(t, err)
			if delta.Done != nil {
				return *delta.Done
			}
		}
		t.Fatal("no completion")
		return llm.Completion{}
	}
	team := travelTeam(t, nil)
	withTools := hello()
	withTools.Tools, withTools.ToolChoice = team.facilitatorTools(), llm.ToolChoiceNone

	require.Empty(t, play(sim.BehaveEmpty, hello()).Reply.Text)
	require.Greater(t, len(play(sim.BehaveHuge, hello()).Reply.Text), 10<<20)
	require.Equal(t, "get_plan_status", play(sim.BehaveEndless, withTools).Reply.ToolCalls[0].Name)
	withTools.ToolChoice = llm.ToolChoiceAuto
	require.Equal(t, 500, strings.Count(play(sim.BehaveFlood, withTools).Reply.ToolCalls[0].Arguments, `"assigned_to"`))

	flooded := travelTeam(t, sim.New(sim.Options{Behaviour: sim.BehaveFlood}))
	flooded.run(tripRequest)
	require.Len(t, flooded.tasks, 3, "after the refusal it asks for less")
	require.Zero(t, flooded.open())
}

// A model that dispatches in circles does so until it is told to answer.
func TestCircles(t *testing.T) {
	team := travelTeam(t, sim.New(sim.Options{Behaviour: sim.BehaveCircles}))
	require.False(t, team.ends(tripRequest))
	require.Greater(t, team.calls["food"], 4*10)
}
