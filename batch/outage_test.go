package batch_test

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/ownport"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// plug is a simulated model behind a port that can be closed and opened again.
type plug struct {
	*counter
	address string
	server  *http.Server
	status  atomic.Int64
}

func plugged(t testing.TB) *plug {
	t.Helper()
	model, _ := serve(t, sim.Options{FirstToken: 20 * time.Millisecond})
	p := &plug{counter: model}
	listener := ownport.Listen(t)
	p.address = listener.Addr().String()
	p.on(listener)
	t.Cleanup(p.pull)
	return p
}

func (p *plug) on(listener net.Listener) {
	p.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status := int(p.status.Load()); status != 0 {
			w.WriteHeader(status)
			_, _ = fmt.Fprint(w, `{"error":{"message":"not you"}}`)
			return
		}
		p.counter.ServeHTTP(w, r)
	})}
	go func() { _ = p.server.Serve(listener) }()
}

// pull takes the server away: its port is closed, and so are all connections.
func (p *plug) pull() { _ = p.server.Close() }

func (p *plug) putBack(t testing.TB) {
	listener, err := net.Listen("tcp", p.address)
	require.NoError(t, err)
	p.on(listener)
}

func (p *plug) endpoint() *llm.Endpoint {
	base := "http://" + p.address + "/v1"
	return &llm.Endpoint{
		Name: "sim", Simulated: true, Address: base, Health: &llm.Health{}, Limiter: llm.NewLimiter(llm.LimiterConfig{}),
		Client: openai.New(openai.Config{Config: wire.Config{Provider: "sim", BaseURL: base}}),
	}
}

// named resolves models to endpoints by name; "" is any other.
type named map[string]*llm.Endpoint

func (m named) Resolve(specs ...string) (llm.Route, error) {
	e := m[specs[0]]
	if e == nil {
		e = m[""]
	}
	return llm.Route{{Endpoint: e, Model: "sim"}}, nil
}

// twoTeams is a batch whose rows "a" ask one endpoint and whose rows "b" another.
func twoTeams(t testing.TB, log events.Log, a, b *plug) batch.Config {
	t.Helper()
	r, err := runner.New(runner.Config{Log: log, Models: named{"a": a.endpoint(), "b": b.endpoint()}})
	require.NoError(t, err)
	teams := map[string]*team.Team{}
	for _, name := range []string{"a", "b"} {
		tm := *solo(t)
		tm.Name, tm.Facilitator.Model = name, name
		teams[name] = &tm
	}
	return batch.Config{
		Runner: r, Team: teams["a"], Solo: true, Concurrency: 4,
		Teams: func(name string) (*team.Team, error) { return teams[name], nil },
	}
}

func mixed(rows int) []string {
	lines := make([]string, rows)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"id":"r%d","request":"Plan day %d","team":"%c"}`, i, i, 'a'+rune(i%2))
	}
	return lines
}

// Proves R72, R22: an outage in mid-batch costs no row, and holds up only those of its
// endpoint: the others go on, though the slots were taken when it began.
func TestABatchOutlastsAnOutage(t *testing.T) {
	const rows = 60
	a, b := plugged(t), plugged(t)
	c := twoTeams(t, events.NewMemory(), a, b)
	files := batch.Files{Input: write(t, "in.jsonl", mixed(rows)...), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	job, err := batch.Open(t.Context(), files, c)
	require.NoError(t, err)
	var report batch.Report
	ended := make(chan error, 1)
	go func() {
		var err error
		report, err = job.Run(t.Context())
		ended <- err
	}()
	require.Eventually(t, func() bool { return job.Progress().Done >= 4 }, time.Minute, time.Millisecond)
	a.pull()
	var waiting batch.Progress
	require.Eventually(t, func() bool {
		waiting = job.Progress()
		served, _ := b.counts()
		// The last rows that were served are still ending, and no row of a sick endpoint is begun.
		return served == rows/2 && len(waiting.Outages) == 1 && waiting.Running <= 4
	}, time.Minute, 10*time.Millisecond, "rows of the other endpoint go on")
	require.Equal(t, "http://"+a.address+"/v1", waiting.Outages[0].Endpoint)
	require.Equal(t, "unreachable", waiting.Outages[0].Code)
	require.Positive(t, waiting.Held)
	a.putBack(t)
	require.NoError(t, <-ended)
	require.Equal(t, []int{rows, 0, 0}, []int{report.Completed, report.Failed + report.Degraded, report.Left})
	for i, out := range outputs(t, files.Output) {
		require.Equal(t, i, out.Index)
	}
	require.LessOrEqual(t, a.all(t, rows/2), 4, "only calls in flight are made again")
}

// Proves R72: rows whose endpoint refuses the key, or stays away for longer than is
// waited, are parked without an output; the same batch continues them.
func TestABatchIsParked(t *testing.T) {
	for name, wait := range map[string]time.Duration{"key": 0, "gone": 300 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const rows = 40
			a, b := plugged(t), plugged(t)
			log := events.NewMemory()
			c := twoTeams(t, log, a, b)
			c.MaxWait = wait
			if name == "key" {
				a.status.Store(http.StatusUnauthorized)
			} else {
				a.pull()
			}
			files := batch.Files{Input: write(t, "in.jsonl", mixed(rows)...), Output: filepath.Join(t.TempDir(), "out.jsonl")}
			report, err := run(t, files, c)
			require.NoError(t, err)
			require.Equal(t, []int{rows / 2, 0, rows / 2}, []int{report.Completed, report.Failed + report.Degraded, report.Left})
			require.Equal(t, batch.StopEndpoint, report.Stop.Kind)
			require.Contains(t, report.Stop.Message, "http://"+a.address+"/v1")
			require.Positive(t, report.Suspended)
			require.LessOrEqual(t, report.Suspended, 8, "others of that endpoint are not begun")
			summary, _ := onlyBatch(t, log)
			require.Equal(t, events.StatusSuspended, summary.Status)

			if a.status.Store(0); name == "gone" {
				a.putBack(t)
			}
			report, err = run(t, files, twoTeams(t, log, a, b))
			require.NoError(t, err)
			require.Equal(t, []int{rows, 0, 0}, []int{report.Completed, report.Failed + report.Degraded, report.Left})
			require.Zero(t, a.all(t, rows/2), "no call is made again")
		})
	}
}
