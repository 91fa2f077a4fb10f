package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/ownport"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/steer"
	"github.com/convene-run/convene/web"
)

// operator is who steers runs without a server between.
var operator = access.Operator(events.LocalTenant)

// served is a server that listens, with what tests want of it.
type served struct {
	*web.Server
	address string
	stop    func()
}

// serve listens on a port of this machine, which stays the test's, unless config names an address.
func serve(t testing.TB, config web.Config) *served {
	t.Helper()
	var listener net.Listener
	var err error
	if config.Address == "" {
		listener = ownport.Listen(t)
	} else {
		listener, err = net.Listen("tcp", config.Address)
		require.NoError(t, err)
	}
	config.Address = listener.Addr().String()
	server, err := web.New(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }()
	s := &served{Server: server, address: config.Address}
	s.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(s.stop)
	return s
}

func (s *served) url(path string) string { return "http://" + s.address + path }

// get gives status, header and body.
func (s *served) get(t testing.TB, path string, header ...string) (int, http.Header, string) {
	t.Helper()
	return s.do(t, http.MethodGet, path, "", header...)
}

// do sends a request; header alternates names and values, Host among them.
func (s *served) do(t testing.TB, method, path, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url(path), strings.NewReader(body))
	require.NoError(t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			request.Host = header[i+1]
		}
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, response.Header, string(text)
}

// problem checks that an answer is problem+json and gives its detail.
func problem(t testing.TB, header http.Header, body string) string {
	t.Helper()
	require.Equal(t, "application/problem+json", header.Get("Content-Type"), body)
	var p struct{ Detail string }
	require.NoError(t, json.Unmarshal([]byte(body), &p))
	require.NotEmpty(t, p.Detail)
	return p.Detail + body
}

// dial opens a socket on a thread.
func (s *served) dial(t testing.TB, thread events.ThreadID, after events.Seq) *websocket.Conn {
	t.Helper()
	conn, response, err := websocket.DefaultDialer.Dial(fmt.Sprintf("ws://%s/ws?thread_id=%s&after=%d", s.address, thread, after), nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// take reads durable events off a socket until the seq, and gives their bodies.
func take(t testing.TB, conn *websocket.Conn, after, until events.Seq) []string {
	t.Helper()
	var bodies []string
	for after < until {
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
		_, message, err := conn.ReadMessage()
		require.NoError(t, err)
		for line := range strings.SplitSeq(string(message), "\n") {
			if strings.HasPrefix(line, `{"lossy":true`) {
				continue
			}
			env, err := events.Decode([]byte(line))
			require.NoError(t, err)
			require.Equal(t, after+1, env.Seq, "no gap and no duplicate")
			after = env.Seq
			bodies = append(bodies, line)
		}
	}
	return bodies
}

// script writes events to a thread of its own, as a run's owner would.
type script struct {
	t     testing.TB
	log   events.Log
	key   events.ThreadKey
	run   events.RunID
	epoch events.Epoch
	seq   events.Seq
	// moment is the time of what is added; the zero time is now.
	moment time.Time
}

func newScript(t testing.TB, log events.Log) *script {
	t.Helper()
	id, err := uuid.NewV7()
	require.NoError(t, err)
	s := &script{
		t: t, log: log, run: events.RunID(id.String()),
		key: events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(uuid.NewString())},
	}
	s.epoch, err = log.Claim(t.Context(), s.key, "test", false)
	require.NoError(t, err)
	return s
}

// start is the first event, of a team of two.
func (s *script) start(request string) {
	s.add(events.WorkflowStarted{Message: request, Team: "test", Agents: []events.AgentCard{
		{ID: events.FacilitatorID, DisplayName: "Facilitator", Models: []string{"sim/sim"}},
		{ID: "food", DisplayName: "Food", Models: []string{"sim/sim"}},
	}})
}

func (s *script) add(facts ...events.Event) {
	s.t.Helper()
	envs := make([]events.Envelope, len(facts))
	for i, fact := range facts {
		envs[i] = events.Envelope{Run: s.run, Time: s.moment, Data: fact}
	}
	require.NoError(s.t, s.log.Append(context.Background(), s.key, s.epoch, s.seq, envs))
	s.seq += events.Seq(len(envs))
}

// fill adds n events that any run takes.
func (s *script) fill(n int) {
	s.t.Helper()
	const page = 5000
	for n > 0 {
		facts := make([]events.Event, min(n, page))
		for i := range facts {
			facts[i] = events.Warning{Code: "test", Message: fmt.Sprintf("event %d of a long run", int(s.seq)+i+1)}
		}
		s.add(facts...)
		n -= len(facts)
	}
}

// simRuns is a runner on the simulated model, as the server sees it.
type simRuns struct {
	*steer.Runs
	runner *runner.Runner
}

type oneClient struct{ client llm.Client }

func (m oneClient) Resolve(...string) (llm.Route, error) {
	return llm.Route{{Endpoint: &llm.Endpoint{Name: "sim", Simulated: true, Client: m.client}, Model: "sim"}}, nil
}

func newSimRuns(t testing.TB, log events.Log, options sim.Options) *simRuns {
	t.Helper()
	return newRuns(t, log, oneClient{sim.New(options)})
}

// newRuns is a runner on any models.
func newRuns(t testing.TB, log events.Log, models runner.Models) *simRuns {
	t.Helper()
	return runsOf(t, runner.Config{Log: log, Models: models})
}

func runsOf(t testing.TB, c runner.Config) *simRuns {
	t.Helper()
	c.MaxWait = time.Millisecond // an outage parks a run at once
	r, err := runner.New(c)
	require.NoError(t, err)
	s := &simRuns{steer.New(steer.Config{Runner: r, DefaultTeam: "trip", MaxRuns: 1000}), r}
	t.Cleanup(s.stop)
	return s
}

// stop parks what is driven, at once.
func (s *simRuns) stop() {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.runner.Shutdown(now) // some tests break the store
}

func (s *simRuns) Teams(events.TenantID) []web.TeamInfo {
	return []web.TeamInfo{{Name: "trip", Default: true, Specialists: []events.AgentID{"food"}}, {Name: "research", Specialists: []events.AgentID{}}}
}

// wait returns when nothing is driven any more.
func (s *simRuns) wait() {
	for _, run := range s.runner.Runs() {
		_, _ = run.Wait() // the log says how it went
	}
}

// simulated runs a job of the team to its end and gives its log.
func simulated(t testing.TB, name string, options sim.Options) (*events.Memory, events.RunSummary) {
	t.Helper()
	log := events.NewMemory()
	runs := newSimRuns(t, log, options)
	started, err := runs.Start(t.Context(), operator, web.Job{Request: "Plan three days in Kyoto for two: food, sights, costs", Team: name})
	require.NoError(t, err)
	runs.wait()
	summary, err := log.FindRun(t.Context(), events.LocalTenant, string(started.Run))
	require.NoError(t, err)
	require.True(t, summary.Status.Over(), summary.Status)
	return log, summary
}
