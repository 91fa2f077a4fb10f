package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/ownport"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/mcpclient/mcptest"
)

// The command runs in a process of its own, so that scripts can interrupt it. Its tests
// wait more than they compute: more of them than there are processors run at once.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"convene": main, "mcpserver": mcptest.Serve, "visit": visit})
}

// raced are the scripts that run under the race detector too: one of each kind of process
// in which many goroutines meet.
var raced = []string{"batchinterrupt", "batchwatch", "chat", "dashboard", "desk", "interrupt"}

// scripts are the files of the scripts to run.
func scripts(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, all)
	if !race.Enabled {
		return all
	}
	return slices.DeleteFunc(all, func(file string) bool {
		return !slices.Contains(raced, strings.TrimSuffix(filepath.Base(file), ".txtar"))
	})
}

// Proves R23, R70, R74: the whole command line, on good and on bad input.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Files: scripts(t),
		Setup: func(env *testscript.Env) error {
			env.Setenv("CONVENE_MODEL", "sim")
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GORACE", os.Getenv("GORACE"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "interrupt": interrupt, "simserver": startSim, "write": writeBytes, "save": save,
			"checklog": checkLog, "poison": poison, "waitrun": waitRun, "waitfor": waitForFile,
			"freeport": freePort, "fetch": fetch, "hold": hold, "holds": holds, "fill": fill, "sql": runSQL, "unzip": unzip,
		},
	})
}

// runSQL changes a store behind convene's back.
func runSQL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql STORE STATEMENT")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.ExecContext(context.Background(), args[1])
	ts.Check(errors.Join(err, db.Close()))
}

// holds checks that a folder has the files named, and no others.
func holds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: holds FOLDER [FILE...]")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	slices.Sort(args[1:])
	if !slices.Equal(names, args[1:]) {
		ts.Fatalf("%s holds %q, not %q", args[0], names, args[1:])
	}
}

// startSim serves a simulated model and sets SIM to its base URL. Its arguments are
// faults and a behaviour; "" for none. While the script has a file "held", requests
// that contain its text are not answered.
func startSim(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 3 {
		ts.Fatalf("usage: simserver [FAULTS [BEHAVIOUR [FIRST_TOKEN]]]")
	}
	args = append(args, "", "", "")
	faults, err := sim.ParseFaults(args[0])
	ts.Check(err)
	options := sim.Options{Faults: faults, Behaviour: sim.Behaviour(args[1])}
	if args[2] != "" {
		options.FirstToken = duration(ts, args[2])
	}
	server := httptest.NewServer(holding(ts.MkAbs("held"), sim.NewServer(options)))
	ts.Defer(server.Close)
	ts.Setenv("SIM", server.URL+"/v1")
}

// holding passes a request on once there is no file, or the file's text is not in it.
func holding(file string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		for r.Context().Err() == nil {
			text, err := os.ReadFile(file)
			if err != nil || !bytes.Contains(body, bytes.TrimSpace(text)) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		next.ServeHTTP(w, r)
	})
}

// writeBytes writes a file of bytes that a script cannot hold, as Go writes strings.
func writeBytes(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: write FILE TEXT-WITH-ESCAPES")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(unescape(ts, args[1])), 0o600))
}

// fill writes a file of so many letters.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fill FILE LETTERS")
	}
	letters, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.Repeat([]byte("x"), letters), 0o600))
}

func unescape(ts *testscript.TestScript, text string) string {
	plain, err := strconv.Unquote(`"` + text + `"`)
	ts.Check(err)
	return plain
}

func duration(ts *testscript.TestScript, text string) time.Duration {
	d, err := time.ParseDuration(text)
	ts.Check(err)
	return d
}

// exits runs a program and checks its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS…")
	}
	checkCode(ts, args[0], ts.Exec(args[1], args[2:]...))
}

func checkCode(ts *testscript.TestScript, want string, err error) {
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got := strconv.Itoa(code); got != want {
		ts.Fatalf("exit code %s, not %s", got, want)
	}
}

// interrupt runs a program, presses ^C each time that one of the texts between the
// code and -- has come to stand in its standard error, and checks its exit code. Its
// standard error goes to the file "interrupted".
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	at := slices.Index(args, "--")
	if neg || at < 2 || at == len(args)-1 {
		ts.Fatalf("usage: interrupt CODE TEXT… -- PROGRAM ARGS…")
	}
	c := exec.Command(args[at+1], args[at+2:]...)
	c.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "CONVENE_MODEL", "GORACE"} {
		c.Env = append(c.Env, name+"="+ts.Getenv(name))
	}
	output := &lockedBuffer{}
	c.Stderr = output
	ts.Check(c.Start())
	for _, text := range args[1:at] {
		waitFor(ts, output, text)
		ts.Check(c.Process.Signal(os.Interrupt))
	}
	err := c.Wait()
	ts.Check(os.WriteFile(ts.MkAbs("interrupted"), []byte(output.String()), 0o600))
	checkCode(ts, args[0], err)
}

func waitFor(ts *testscript.TestScript, output fmt.Stringer, text string) {
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if strings.Contains(output.String(), text) {
			return
		}
	}
	ts.Fatalf("%q was not written:\n%s", text, output)
}

// waitForFile waits until a text stands in a file that a program writes.
func waitForFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfor FILE TEXT")
	}
	waitFor(ts, growing(ts.MkAbs(args[0])), args[1])
}

// growing is a file that another process writes.
type growing string

func (path growing) String() string {
	text, _ := os.ReadFile(string(path)) // not there: nothing was written
	return string(text)
}

// lockedBuffer is written by a process and read by a test.
type lockedBuffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// save keeps what a pattern's group finds in a file, or in the last output, as a
// variable.
func save(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: save NAME FILE PATTERN")
	}
	match := regexp.MustCompile(args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if len(match) != 2 {
		ts.Fatalf("%s does not match %s with one group", args[1], args[2])
	}
	ts.Setenv(args[0], match[1])
}

// checkLog checks a run's JSON lines: seq without gaps, workflow_finished once, last,
// and with that status.
func checkLog(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: checklog FILE STATUS")
	}
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile(args[0]), "\n"), "\n")
	for i, line := range lines {
		env, err := events.Decode([]byte(line))
		ts.Check(err)
		if int(env.Seq) != i+1 {
			ts.Fatalf("line %d has seq %d", i+1, env.Seq)
		}
		finished, last := env.Data.(events.WorkflowFinished)
		if last != (i == len(lines)-1) {
			ts.Fatalf("line %d of %d is a %s", i+1, len(lines), env.Data.Kind())
		}
		if last && string(finished.Status) != args[1] {
			ts.Fatalf("status %s, not %s", finished.Status, args[1])
		}
	}
}

// waitRun waits until the store has a run with events behind its first.
func waitRun(ts *testscript.TestScript, _ bool, _ []string) {
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		ts.Check(ts.Exec("convene", "runs", "--json"))
		if strings.Contains(ts.ReadFile("stdout"), `"status":"running"`) {
			return
		}
	}
	ts.Fatalf("no run has started")
}

// freePort sets a variable to a port at which nobody listens, nor will unless the script has it done.
func freePort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: freeport NAME")
	}
	listener, err := ownport.Open()
	ts.Check(err)
	ts.Setenv(args[0], strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
	ts.Check(listener.Close())
}

// fetch asks a server until its answer, or what has come of one that does not end,
// matches a pattern; a POST is made once. The answer goes to the file "fetched".
func fetch(ts *testscript.TestScript, neg bool, args []string) {
	method := http.MethodGet
	if len(args) == 3 {
		method, args = args[0], args[1:]
	}
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fetch [POST] URL PATTERN")
	}
	wanted := regexp.MustCompile(`(?s)` + args[1])
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	for {
		answer, err := ask(ctx, method, args[0], wanted)
		if err == nil && wanted.MatchString(answer) {
			ts.Check(os.WriteFile(ts.MkAbs("fetched"), []byte(answer), 0o600))
			return
		}
		if ctx.Err() != nil || method == http.MethodPost {
			ts.Fatalf("%s %s: %v: no %s in\n%s", method, args[0], err, wanted, answer)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// hold opens a stream of a server and keeps it open until the script ends.
func hold(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hold URL")
	}
	ctx, cancel := context.WithCancel(context.Background())
	ts.Defer(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, args[0], nil)
	ts.Check(err)
	response, err := http.DefaultClient.Do(request)
	ts.Check(err)
	ts.Defer(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		ts.Fatalf("%s: %s", args[0], response.Status)
	}
}

// ask gives what a server answers, as far as it takes to find what is wanted.
func ask(ctx context.Context, method, url string, wanted *regexp.Regexp) (answer string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	for part := make([]byte, 4096); ; {
		n, err := response.Body.Read(part)
		answer += string(part[:n])
		if errors.Is(err, io.EOF) || wanted.MatchString(answer) {
			return answer, nil
		}
		if err != nil {
			return answer, err
		}
	}
}

// poison replaces a word everywhere in a file; the new one is put in as it is.
func poison(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: poison FILE WORD BY")
	}
	text := strings.ReplaceAll(ts.ReadFile(args[0]), args[1], args[2])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
