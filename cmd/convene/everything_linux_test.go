package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
)

// everythingEnv names a folder for npx, into which the server's package is fetched once: `make
// mcp-everything` makes one and runs these tests.
const everythingEnv = "CONVENE_MCP_EVERYTHING"

// everything is a place in which convene is run with that server, by a simulated model.
type everything struct {
	t     *testing.T
	dir   string
	home  string
	model string
	// asked is what the model was sent. It is read while no run is under way.
	asked *bytes.Buffer
}

func withEverything(t *testing.T) *everything {
	home := os.Getenv(everythingEnv)
	if home == "" {
		t.Skip("npx fetches the server: make mcp-everything")
	}
	var mu sync.Mutex // guards asked
	asked, model := &bytes.Buffer{}, sim.NewServer(sim.Options{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		mu.Lock()
		asked.Write(body)
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		model.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return &everything{t, t.TempDir(), home, server.URL + "/v1", asked}
}

const everythingPackage = "@modelcontextprotocol/server-everything@2026.8.31"

// everythingByNpx is the server as the documentation of most servers has them started.
const everythingByNpx = `command: npx, args: [-y, "` + everythingPackage + `", stdio]`

// http starts the server at an address of its own; pid is its process.
func (e *everything) http() (settings string, pid int) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(e.t, err)
	address := listener.Addr().String()
	require.NoError(e.t, listener.Close())
	server := exec.Command("npx", "-y", everythingPackage, "streamableHttp")
	_, port, _ := strings.Cut(address, ":")
	server.Env = append(os.Environ(), "PORT="+port, "HOME="+e.home, "TMPDIR="+e.dir)
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(e.t, server.Start())
	e.t.Cleanup(func() { _, _ = syscall.Kill(-server.Process.Pid, syscall.SIGKILL), server.Wait() })
	require.Eventually(e.t, func() bool {
		conn, err := net.Dial("tcp", address)
		return err == nil && conn.Close() == nil
	}, time.Minute, 20*time.Millisecond)
	return fmt.Sprintf(`url: "http://%s/mcp"`, address), e.server()
}

// allow writes a team of specialists that make the calls, and consents to its server.
func (e *everything) allow(settings string, errands ...string) {
	e.t.Helper()
	text := "name: everything\nmcp:\n  ev: {" + settings + ", timeout: 2s}\nspecialists:\n"
	for i, errand := range errands {
		text += fmt.Sprintf("  - {id: s%d, description: Looks., prompt: 'Do %s.', tools: ['ev__*']}\n", i, errand)
	}
	require.NoError(e.t, os.WriteFile(filepath.Join(e.dir, "team.yaml"), []byte(text), 0o600))
	out, err := e.convene("team", "check", "--connect", "--yes", "team.yaml").CombinedOutput()
	require.NoError(e.t, err, string(out))
}

func (e *everything) convene(args ...string) *exec.Cmd {
	cmd := exec.Command("convene", args...)
	if args[0] == "run" || args[0] == "batch" {
		cmd.Args = append(cmd.Args, "--team", "team.yaml", "--model", "sim", "--base-url", e.model, "--approve", "all")
	}
	cmd.Dir = e.dir
	// TMPDIR is what a server inherits: it marks its processes.
	cmd.Env = append(os.Environ(), "HOME="+e.home, "TMPDIR="+e.dir, "XDG_CONFIG_HOME="+e.dir, "CONVENE_STORE="+filepath.Join(e.dir, "runs.db"))
	return cmd
}

// left are the processes that convene and its servers have left, zombies aside whose parent
// is no longer ours.
func (e *everything) left() []string {
	entries, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(e.t, err)
	var found []string
	for _, entry := range entries {
		environment, _ := os.ReadFile(filepath.Join(entry, "environ"))
		if bytes.Contains(environment, []byte("TMPDIR="+e.dir+"\x00")) {
			command, _ := os.ReadFile(filepath.Join(entry, "cmdline"))
			found = append(found, filepath.Base(entry)+" "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}

func (e *everything) nobodyLeft() {
	e.t.Helper()
	require.Eventually(e.t, func() bool { return len(e.left()) == 0 }, time.Minute, 50*time.Millisecond, "%v", e.left())
}

// server finds the process of the server behind npx.
func (e *everything) server() int {
	for _, process := range e.left() {
		if pid, command, _ := strings.Cut(process, " "); strings.HasPrefix(command, "node ") && strings.Contains(command, "/mcp-server-everything ") {
			n, err := strconv.Atoi(pid)
			require.NoError(e.t, err)
			return n
		}
	}
	require.Fail(e.t, "no server", "%v", e.left())
	return 0
}

// A specialist has of a server what there is: text, an image, a structured result, an error,
// a call that reports progress for longer than its timeout, one that hangs, and one during
// which the server is killed. The run finishes, and the log says what happened.
//
// Proves R76.
func TestEverything(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			e := withEverything(t)
			settings, server, died := everythingByNpx, 0, `during the call the MCP server ev ended.*`
			if transport == "http" { // whose stream the protocol lets be taken up again
				settings, server = e.http()
				died = ".*"
			}
			e.allow(settings,
				`ev__echo {"message": "hello"} and ev__get-tiny-image {} and ev__get-structured-content {"location": "Chicago"}`+
					` and ev__gzip-file-as-resource {"name": "a.gz", "data": "ftp://x", "outputType": "resource"}`+
					` and ev__trigger-long-running-operation {"duration": 4, "steps": 5} and ev__trigger-long-running-operation {"duration": 600, "steps": 1}`,
				`ev__trigger-long-running-operation {"duration": 900, "steps": 900}`)
			run := e.convene("run", "--json", "Look around")
			out, err := run.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, run.Start())
			var log strings.Builder
			lines := bufio.NewScanner(out)
			lines.Buffer(nil, 1<<22)
			ended := regexp.MustCompile(`"type":"agent_finished","agent":"s0"`)
			for lines.Scan() {
				fmt.Fprintln(&log, lines.Text())
				if !ended.MatchString(lines.Text()) {
					continue
				}
				if server == 0 {
					server = e.server()
				}
				require.NoError(t, syscall.Kill(server, syscall.SIGKILL))
			}
			require.NoError(t, run.Wait(), log.String())
			call := `"type":"tool_call".*"tool":"ev__`
			for _, happened := range []string{
				call + `echo","result":"Echo: hello"`,
				`"type":"artifact_created".*"media_type":"image/png","size_bytes":4033.*"tool":"ev__get-tiny-image"`,
				call + `get-tiny-image".*"type":"image","media_type":"image/png","sha256":"4466be3b`,
				call + `get-structured-content","result":"\{\\"temperature\\":36`,
				call + `gzip-file-as-resource","result":"Error processing file.*"failed":true`,
				call + `trigger-long-running-operation","result":"Long running operation completed. Duration: 4 seconds, Steps: 5\."`,
				call + `trigger-long-running-operation","result":"Error: trigger-long-running-operation was given up: it reported no progress for 2s\. The outcome of the call is unknown`,
				`"type":"tool_call","agent":"s1".*"result":"Error: ` + died + `The outcome of the call is unknown: check before repeating it","phase":"complete","failed":true`,
				`"type":"workflow_finished".*"status":"completed"`,
			} {
				require.True(t, regexp.MustCompile(happened).MatchString(log.String()), happened)
			}
			e.nobodyLeft()
		})
	}
}

// rows begins a batch of 50 rows at once whose specialists call one server.
func (e *everything) rows(n int, errand string) (batch *exec.Cmd, out *bufio.Scanner) {
	e.t.Helper()
	e.allow(everythingByNpx, errand)
	var requests bytes.Buffer
	for i := range n {
		fmt.Fprintf(&requests, "{\"id\": \"r%d\", \"request\": \"Look at %d\"}\n", i, i)
	}
	require.NoError(e.t, os.WriteFile(filepath.Join(e.dir, "rows.jsonl"), requests.Bytes(), 0o600))
	batch = e.convene("batch", "rows.jsonl", "-o", "-", "--unordered", "--concurrency", "50")
	pipe, err := batch.StdoutPipe()
	require.NoError(e.t, err)
	require.NoError(e.t, batch.Start())
	e.t.Cleanup(func() { _ = batch.Process.Kill() }) // it has ended, unless the test failed
	out = bufio.NewScanner(pipe)
	out.Buffer(nil, 1<<22)
	return batch, out
}

// Fifty runs at once share one server. Its processes end with convene, and convene keeps its
// size.
//
// Proves R76.
func TestEverythingAtOnce(t *testing.T) {
	e := withEverything(t)
	const rows = 600
	batch, out := e.rows(rows, `ev__echo {"message": "hello"} and ev__get-tiny-image {}`)
	var early, late int
	for n := 1; out.Scan(); n++ {
		var row struct {
			Status string `json:"status"`
		}
		require.NoError(t, json.Unmarshal(out.Bytes(), &row))
		require.Equal(t, "completed", row.Status)
		switch n {
		case rows / 3:
			early = resident(t, batch.Process.Pid)
			require.Len(t, e.left(), 4, "convene, npx, its shell, the server: %v", e.left())
		case rows - 50:
			late = resident(t, batch.Process.Pid)
		}
	}
	require.NoError(t, batch.Wait())
	t.Logf("convene has %d MB after %d rows and %d MB after %d", early>>10, rows/3, late>>10, rows-50)
	require.Less(t, late, early*5/4)
	e.nobodyLeft()
}

// resident gives what a process has in memory, in kB.
func resident(t *testing.T, pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	found := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	kB, err := strconv.Atoi(string(found[1]))
	require.NoError(t, err)
	return kB
}

// Stopped by ^C or killed while 50 runs call its server, convene leaves no process behind.
//
// Proves R76.
func TestEverythingStopped(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			e := withEverything(t)
			batch, _ := e.rows(50, `ev__trigger-long-running-operation {"duration": 900, "steps": 900}`)
			require.Eventually(t, func() bool {
				out, _ := e.convene("runs", "--all", "--json", "--limit", "100", "--status", "running").Output()
				return bytes.Count(out, []byte(`"run_id"`)) == 50
			}, time.Minute, 100*time.Millisecond)
			require.NoError(t, batch.Process.Signal(signal))
			if signal == syscall.SIGINT {
				require.NoError(t, batch.Process.Signal(signal), "it does not wait for calls in flight")
			}
			require.Error(t, batch.Wait())
			e.nobodyLeft()
		})
	}
}

// Killed in the middle of calls, a run resumes: the call that may be repeated is, once; of the
// other the model reads that nobody knows what came of it.
//
// Proves R76.
func TestEverythingKilled(t *testing.T) {
	e := withEverything(t)
	const operation = `ev__trigger-long-running-operation {"duration": 5, "steps": 10}`
	for effect, came := range map[string][]string{
		"effectful":  {"Outcome unknown: the run stopped during this call. Check before repeating it."},
		"idempotent": {"Long running operation completed. Duration: 5 seconds, Steps: 10."},
	} {
		e.allow(everythingByNpx+", effects: {trigger-long-running-operation: "+effect+"}", operation)
		run := e.convene("run", "--json", "Look around")
		out, err := run.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, run.Start())
		waitForLines(out, `"type":"tool_started"`, 1)
		require.NoError(t, run.Process.Kill())
		require.Error(t, run.Wait())
		e.nobodyLeft()

		e.asked.Reset()
		log, err := e.convene("resume", "--json").Output()
		require.NoError(t, err)
		require.Contains(t, string(log), `"status":"completed"`)
		require.Equal(t, came, resultsOf(t, log, "ev__trigger-long-running-operation"), effect)
		require.Contains(t, e.asked.String(), came[0], "the model reads it")
		e.nobodyLeft()
	}
}

// resultsOf gives the results of a tool's calls in a log.
func resultsOf(t *testing.T, log []byte, tool string) []string {
	var results []string
	for line := range bytes.Lines(log) {
		env, err := events.Decode(line)
		require.NoError(t, err)
		if call, ok := env.Data.(events.ToolCallDone); ok && call.Tool == tool {
			results = append(results, call.Result)
		}
	}
	return results
}
