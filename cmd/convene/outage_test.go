package main

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/ownport"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
)

// plug is the simulated model behind a port that can be closed and opened again. It notes
// the keys that it was sent.
type plug struct {
	*recorder
	address string
	server  *http.Server

	mu   sync.Mutex // guards keys
	keys map[string]bool
}

func plugIn(t *testing.T, options sim.Options) *plug {
	t.Helper()
	p := &plug{recorder: record(t, options, nil), keys: map[string]bool{}}
	listener := ownport.Listen(t)
	p.address = listener.Addr().String()
	p.on(t, listener)
	t.Cleanup(p.pull)
	return p
}

func (p *plug) on(t *testing.T, listener net.Listener) {
	if listener == nil {
		var err error
		listener, err = net.Listen("tcp", p.address)
		require.NoError(t, err)
	}
	behind := strings.TrimSuffix(p.recorder.url, "/v1")
	p.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.keys[r.Header.Get("Authorization")] = true
		p.mu.Unlock()
		forward(w, r, behind)
	})}
	go func() { _ = p.server.Serve(listener) }()
}

// forward hands a request on, and its answer back as it comes.
func forward(w http.ResponseWriter, r *http.Request, to string) {
	request, err := http.NewRequestWithContext(r.Context(), r.Method, to+r.URL.Path, r.Body)
	if err != nil {
		return
	}
	request.Header = r.Header.Clone()
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return
	}
	defer func() { _ = response.Body.Close() }()
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(response.StatusCode)
	piece := make([]byte, 4096)
	for {
		n, err := response.Body.Read(piece)
		if n > 0 {
			_, _ = w.Write(piece[:n])
			_ = http.NewResponseController(w).Flush()
		}
		if err != nil {
			return
		}
	}
}

// pull closes the port and all connections.
func (p *plug) pull() { _ = p.server.Close() }

func (p *plug) base() string { return "http://" + p.address + "/v1" }

// sent gives the keys that were sent since the last look.
func (p *plug) sent() (keys []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.keys {
		keys = append(keys, key)
	}
	p.keys = map[string]bool{}
	return keys
}

// at is the program with no endpoint configured but a key.
func at(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("convene", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "OPENAI_API_KEY=sk-of-the-cloud", "OPENAI_BASE_URL=", "CONVENE_MODEL=", "CONVENE_STORE=")
	return cmd
}

// repeated counts the requests that were made more than once.
func (p *plug) repeated(t *testing.T) (again int) {
	t.Helper()
	seen := map[string]int{}
	for _, a := range p.requests() {
		body, err := json.Marshal(a)
		require.NoError(t, err)
		if seen[string(body)]++; seen[string(body)] > 1 {
			again++
		}
	}
	return again
}

// started starts a run and returns when specialists are at work.
func (p *plug) started(t *testing.T, dir string, args ...string) (*exec.Cmd, *lockedBuffer) {
	t.Helper()
	cmd := at(dir, append([]string{"run", "--team", "trip", "--model", "openai/m?api=chat", "--base-url", p.base(), "--json"}, args...)...)
	errs := &lockedBuffer{}
	cmd.Stderr = errs
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	waitForLines(out, `"type":"agent_started"`, 3)
	go waitForLines(out, "\x00", 1) // what else it says
	return cmd, errs
}

// Proves R22, R73: an endpoint that goes away in mid-run costs nothing but the calls that
// were in flight: the real program, over a port that is closed.
func TestEndpointGoesAwayInMidRun(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	p, dir := plugIn(t, sim.Options{FirstToken: 50 * time.Millisecond}), t.TempDir()
	cmd, errs := p.started(t, dir, "Plan three days in Kyoto for two")
	p.pull()
	require.Eventually(t, func() bool {
		return strings.Contains(errs.String(), "! waiting for openai at "+p.base()+": unreachable")
	}, time.Minute, 10*time.Millisecond)
	p.on(t, nil)
	require.NoError(t, cmd.Wait(), errs)
	require.Contains(t, errs.String(), "the run is parked after 10:00")
	require.Regexp(t, `waited \d+:\d\d for the endpoint`, errs.String())
	require.Regexp(t, `✓ completed`, errs.String())
	require.LessOrEqual(t, p.repeated(t), 4)
}

// Proves R22, R73: one that stays away parks the run, which goes on where it was asked
// once the endpoint is back. No key is sent there that nobody said belongs there, and to
// try another address, or to be refused, does no harm.
func TestEndpointStaysAway(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	p, dir := plugIn(t, sim.Options{FirstToken: 50 * time.Millisecond}), t.TempDir()
	cmd, errs := p.started(t, dir, "--max-wait", "1s", "Plan three days in Kyoto for two")
	p.pull()
	_ = cmd.Wait()
	require.Equal(t, exitAway, cmd.ProcessState.ExitCode(), errs)
	require.Contains(t, errs.String(), "suspended: openai at "+p.base()+": unreachable: cannot reach "+p.address)
	require.Contains(t, errs.String(), "continue it with: convene resume ")
	require.Equal(t, []string{"Bearer sk-of-the-cloud"}, p.sent(), "the flag paired the two")

	files := http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "405 method not allowed", http.StatusMethodNotAllowed)
	})}
	other, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = files.Serve(other) }()
	t.Cleanup(func() { _ = files.Close() })
	for _, wrong := range []string{"http://127.0.0.1:1/v1", "http://" + other.Addr().String() + "/v1", "http://no.such.host.invalid/v1"} {
		code, _, stderr := ends(t, at(dir, "resume", "--base-url", wrong, "--max-wait", "0"))
		require.Equal(t, exitAway, code, "%s: %s", wrong, stderr)
	}
	code, _, stderr := ends(t, at(dir, "resume", "--max-wait", "0"))
	require.Equal(t, exitAway, code, stderr)

	p.on(t, nil)
	code, stdout, stderr := ends(t, at(dir, "resume", "--json"))
	require.Zero(t, code, stderr)
	require.Equal(t, []string{""}, p.sent(), "of a key for there nothing was said")
	require.LessOrEqual(t, p.repeated(t), 4)
	tasks := 0
	for _, env := range logged(t, stdout) {
		if e, ok := env.Data.(events.TaskUpdated); ok && e.Finished && !e.AutoCompleted {
			tasks++
		}
		if e, ok := env.Data.(events.WorkflowFinished); ok {
			require.Equal(t, events.StatusCompleted, e.Status)
			require.Len(t, e.Tasks, tasks)
		}
	}
}

// Proves R72, R22: a batch outlasts an outage, and one that is parked goes on by the same
// command.
func TestEndpointGoesAwayInMidBatch(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	p, dir := plugIn(t, sim.Options{FirstToken: 30 * time.Millisecond}), t.TempDir()
	var rows strings.Builder
	for range 30 {
		rows.WriteString("Plan a day in Kyoto\n")
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "in.txt"), []byte(rows.String()), 0o600))
	command := func(more ...string) *exec.Cmd {
		return at(dir, append([]string{"batch", "in.txt", "-o", "out.jsonl", "--solo", "--model", "openai/m", "--base-url", p.base(), "--concurrency", "4"}, more...)...)
	}
	pulled := func(cmd *exec.Cmd) *bytes.Buffer {
		var errs bytes.Buffer
		cmd.Stderr = &errs
		require.NoError(t, cmd.Start())
		before := len(p.requests())
		require.Eventually(t, func() bool { return len(p.requests()) > before+3 }, 60*time.Second, time.Millisecond)
		p.pull()
		return &errs
	}
	cmd := command("--max-wait", "1s")
	errs := pulled(cmd)
	_ = cmd.Wait()
	require.Equal(t, exitAway, cmd.ProcessState.ExitCode(), errs)
	require.Contains(t, errs.String(), "unreachable")
	require.Contains(t, errs.String(), "continue it with: convene batch in.txt -o out.jsonl")
	require.Contains(t, errs.String(), "--max-wait 1s")

	p.on(t, nil)
	cmd = command()
	errs = pulled(cmd)
	time.Sleep(5 * time.Second)
	p.on(t, nil)
	require.NoError(t, cmd.Wait(), errs)
	out, err := os.ReadFile(filepath.Join(dir, "out.jsonl"))
	require.NoError(t, err)
	require.Equal(t, 30, strings.Count(string(out), `"status":"completed"`))
	require.Equal(t, 30, strings.Count(string(out), "\n"))
	require.LessOrEqual(t, len(p.requests()), 30+8, "calls in flight alone are made again")
}
