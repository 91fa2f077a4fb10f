package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
)

// asked is what a model was sent, as far as tests look at it.
type asked struct {
	Model    string
	Stream   bool
	Messages []struct{ Role, Content string }
	Tools    []struct{ Function struct{ Name string } }
}

// facilitator tells whose request it is.
func (a asked) facilitator() bool {
	for _, tool := range a.Tools {
		if tool.Function.Name == "create_tasks" {
			return true
		}
	}
	return false
}

// recorder is the simulated model over HTTP, and keeps what it was sent. refuse, where
// it is set, answers some requests with HTTP 400; n counts the facilitator's.
type recorder struct {
	url    string
	refuse func(a asked, n int) bool

	mu    sync.Mutex // guards asked
	asked []asked
}

func record(t *testing.T, options sim.Options, refuse func(a asked, n int) bool) *recorder {
	t.Helper()
	r := &recorder{refuse: refuse}
	model := sim.NewServer(options)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		if r.keep(body) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"this model is retired"}}`)
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		model.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	r.url = server.URL + "/v1"
	return r
}

// keep notes a request and says whether it is to be refused.
func (r *recorder) keep(body []byte) bool {
	var a asked
	if json.Unmarshal(body, &a) != nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, a)
	n := 0
	for _, one := range r.asked {
		if one.facilitator() {
			n++
		}
	}
	return r.refuse != nil && r.refuse(a, n)
}

func (r *recorder) requests() []asked {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

// command is the program in a directory of its own, with the endpoint as everybody
// configures it, asked by the API whose requests are read here.
func (r *recorder) command(dir string, args ...string) *exec.Cmd {
	if args[0] == "run" || args[0] == "resume" {
		args = append([]string{args[0], "--api", "chat"}, args[1:]...)
	}
	cmd := exec.Command("convene", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "OPENAI_API_KEY=none", "OPENAI_BASE_URL="+r.url, "CONVENE_MODEL=", "CONVENE_STORE=")
	return cmd
}

// ends runs a command to its end.
func ends(t *testing.T, cmd *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// logged decodes the JSON lines of a run that is over: seq without gaps,
// workflow_finished last.
func logged(t *testing.T, stdout string) []events.Envelope {
	t.Helper()
	var envs []events.Envelope
	for i, line := range strings.Split(strings.TrimSuffix(stdout, "\n"), "\n") {
		env, err := events.Decode([]byte(line))
		require.NoError(t, err)
		require.EqualValues(t, i+1, env.Seq)
		envs = append(envs, env)
	}
	require.Equal(t, events.KindWorkflowFinished, envs[len(envs)-1].Data.Kind())
	return envs
}

// desk writes a team of another domain than travel, with two models.
func desk(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "desk.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`name: desk
facilitator: {prompt: You edit., model: openai/large}
specialists:
  - {id: news, description: What happened., prompt: You report., model: openai/large}
  - {id: figures, description: Numbers., prompt: You count., model: openai/small}
  - {id: views, description: Opinions., prompt: You argue., model: openai/large}
  - {id: weather, description: The weather., prompt: You look up., model: openai/large}
document:
  sections:
    - {id: front, title: Front page, slots: [lead, brief]}
    - {id: back, title: Back page}
`), 0o600))
	return path
}

// Proves R14, R24, R70: a team file is all that another domain needs, and its models
// are those that the server is asked for, with streaming.
func TestTeamFileOverHTTP(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	r, dir := record(t, sim.Options{}, nil), t.TempDir()
	code, stdout, stderr := ends(t, r.command(dir, "run", "--team", desk(t, dir), "--json", "Make the morning issue"))
	require.Zero(t, code, stderr)
	places := map[string]bool{}
	for _, env := range logged(t, stdout) {
		if d, ok := env.Data.(events.DocumentUpdated); ok {
			places[d.Section] = true
		}
	}
	require.Subset(t, map[string]bool{"front": true, "back": true}, places)
	models := map[string]bool{}
	for _, a := range r.requests() {
		models[a.Model] = true
		require.True(t, a.Stream)
		system := a.Messages[0].Content
		require.Equal(t, a.Model == "small", strings.Contains(system, "You count."), system)
	}
	require.Equal(t, map[string]bool{"large": true, "small": true}, models)
}

// Valid text reaches the model byte for byte, whatever is in it.
func TestRequestReachesTheModelAsItIs(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	for name, request := range map[string]string{
		"right to left": "خطط لثلاثة أيام \u202eab\u2066 עברית",
		"emoji":         "Plan 👩‍👩‍👧‍👦 🏳️‍🌈 e\u0301 \U0010fffd",
		"control":       "a\x01\x07\x08\x0b\x0c\x1b[31m\x7f\u0080\u009b\u2028\u2029 <b>&amp; \"q\" \\n \t\r\nb\rc\ufeff\ufffd",
		"1 MiB":         strings.Repeat("é ab", 1<<20/5) + "x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := record(t, sim.Options{}, nil)
			cmd := r.command(t.TempDir(), "run", "--model", "openai/m", "--solo", "-")
			cmd.Stdin = strings.NewReader(request)
			_, _, stderr := ends(t, cmd)
			require.NotEmpty(t, r.requests(), stderr)
			for _, a := range r.requests() {
				require.Equal(t, "user", a.Messages[1].Role)
				require.True(t, a.Messages[1].Content == request, "the request came changed")
			}
		})
	}
}

// Proves R22: a specialist whose model fails for good costs its own work only.
func TestSpecialistFailsForGood(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	r := record(t, sim.Options{}, func(a asked, _ int) bool { return a.Model == "small" })
	dir := t.TempDir()
	code, stdout, stderr := ends(t, r.command(dir, "run", "--team", desk(t, dir), "--json", "Make the morning issue"))
	require.Equal(t, exitDegraded, code, stderr)
	require.Regexp(t, `! missing: task \d Figures: `, stderr)
	require.Contains(t, stderr, "this model is retired")
	envs := logged(t, stdout)
	finished, _ := envs[len(envs)-1].Data.(events.WorkflowFinished)
	require.Equal(t, events.StatusDegraded, finished.Status)
	for _, task := range finished.Tasks {
		require.Equal(t, task.AssignedTo != "figures", task.Finished, task)
	}
	answer, _ := envs[len(envs)-2].Data.(events.FinalAnswer)
	require.Contains(t, answer.Content, "figures could not finish")
}

// Proves R21: without its facilitator a run still gives what specialists wrote, and
// says who did.
func TestFacilitatorFailsForGood(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	r := record(t, sim.Options{}, func(a asked, n int) bool { return a.facilitator() && n > 2 })
	dir := t.TempDir()
	code, stdout, stderr := ends(t, r.command(dir, "run", "--team", desk(t, dir), "Make the morning issue"))
	require.Equal(t, exitDegraded, code, stderr)
	require.Contains(t, stderr, "the facilitator could not answer")
	require.Contains(t, stdout, "From news:")
	require.Contains(t, stdout, "From figures:")
}

// Proves R14, R73: after kill -9 one of two resuming processes has the run, the other
// leaves it alone, and neither asks for the team file, which is gone.
func TestTwoProcessesResume(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	var killed atomic.Bool
	refused := make(chan struct{})
	refuse := sync.OnceFunc(func() { close(refused) })
	r := record(t, sim.Options{FirstToken: 40 * time.Millisecond}, func(asked, int) bool {
		if killed.Load() {
			<-refused // whoever has the run has it until the other knows
		}
		return false
	})
	t.Cleanup(refuse)
	dir := t.TempDir()
	file := desk(t, dir)
	run := r.command(dir, "run", "--team", file, "--json", "Make the morning issue")
	out, err := run.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, run.Start())
	waitForLines(out, `"type":"agent_started"`, 2)
	require.NoError(t, run.Process.Kill())
	killed.Store(true)
	_ = run.Wait()
	require.NoError(t, os.Remove(file))
	_, list, stderr := ends(t, r.command(dir, "runs", "--json"))
	var summary struct {
		ID string `json:"run_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(list), &summary), stderr)

	type end struct {
		code   int
		stderr string
	}
	both := make(chan end, 2)
	for range 2 {
		go func() {
			cmd := r.command(dir, "resume", summary.ID)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			_ = cmd.Run() // the code says it
			both <- end{cmd.ProcessState.ExitCode(), errs.String()}
		}()
	}
	one := <-both
	refuse()
	other := <-both
	require.Equal(t, exitDone, other.code, other.stderr)
	require.Equal(t, exitFailed, one.code, one.stderr)
	require.Regexp(t, `was left alone: convene pid \d+ on .* drives it`, one.stderr)

	_, exported, _ := ends(t, r.command(dir, "export", summary.ID, "--jsonl"))
	resumed := 0
	for _, env := range logged(t, exported) {
		if env.Data.Kind() == events.KindRunResumed {
			resumed++
		}
	}
	require.Equal(t, 1, resumed)
}

// gated serves a simulated model that answers once it may.
func gated(t *testing.T) (address string, open func()) {
	t.Helper()
	gate, model := make(chan struct{}), sim.NewServer(sim.Options{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-gate:
		case <-r.Context().Done():
		}
		model.ServeHTTP(w, r)
	}))
	open = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(func() {
		open()
		server.Close()
	})
	return server.URL + "/v1", open
}
