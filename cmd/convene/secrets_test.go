package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
)

const (
	secretKey   = "sk-the-key-of-the-account-123456"
	secretToken = "the-token-that-callers-must-know"
)

// Proves R71: of a session with the dashboard (runs that end well, and one whose
// provider repeats the key in its error) nothing that comes out holds the key, the
// token, or the cookie: no answer, no export, no log line, no event, nothing stored.
func TestSecretsStayInside(t *testing.T) {
	race.Processes(t)
	model := sim.NewServer(sim.Options{})
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"model":"echo"`) {
			w.WriteHeader(http.StatusUnauthorized)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": "wrong key: " + r.Header.Get("Authorization")}})
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		model.ServeHTTP(w, r)
	}))
	defer provider.Close()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte(secretToken+"\n"), 0o600))
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command("convene", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+dir, "OPENAI_API_KEY="+secretKey, "OPENAI_BASE_URL="+provider.URL+"/v1", "CONVENE_MODEL=", "CONVENE_STORE=")
		return cmd
	}
	made, err := command("token", "add", "--user", "ann").Output()
	require.NoError(t, err)
	personal := regexp.MustCompile(`cvn_[a-z2-7]{10}_[A-Z2-7]{26}`).FindString(string(made))
	require.NotEmpty(t, personal, "%s", made)
	s := startSession(t, command("serve", "--addr", "127.0.0.1:0", "--token-file", "token", "--log-level", "debug", "--max-wait", "1s"))
	var runs []string
	for _, job := range []string{`{"request":"Plan a day in Kyoto","model":"openai/sim"}`, `{"request":"Plan a day","model":"openai/echo"}`} {
		var started struct {
			Run string `json:"run_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(s.ask(t, http.MethodPost, "/api/v1/runs", job)), &started))
		runs = append(runs, started.Run)
		require.Eventually(t, func() bool {
			return regexp.MustCompile(`"status":"(completed|suspended)"`).MatchString(s.ask(t, http.MethodGet, "/api/v1/runs/"+started.Run, ""))
		}, time.Minute, 50*time.Millisecond)
	}
	require.Contains(t, s.ask(t, http.MethodGet, "/api/v1/runs/"+runs[1]+"/export", ""), "wrong key: ", "the provider's words are told, without the key")
	for _, path := range []string{
		"/", "/metrics", "/api/v1/server", "/api/v1/teams", "/api/v1/openapi.json", "/api/v1/runs", "/api/v1/batches", "/api/v1/nothing", "/healthz",
		"/login?code=" + s.code, "/ws?thread_id=x", "/api/v1/runs?limit=x&token=" + "none",
	} {
		s.ask(t, http.MethodGet, path, "")
	}
	for _, given := range []string{personal, personal + "x"} { // known, and unknown
		for _, path := range []string{"/api/v1/server", "/api/v1/runs", "/api/v1/runs?token=" + given, "/ws?thread_id=x&token=" + given} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+path, nil)
			require.NoError(t, err)
			request.Header.Set("Authorization", "Bearer "+given)
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, errors.Join(err, response.Body.Close()))
			require.Equal(t, given == personal, response.StatusCode != http.StatusUnauthorized, "%s %s", path, body)
			s.keep("a token's "+path[:8], string(body)+fmt.Sprint(response.Header))
		}
	}
	for _, run := range runs {
		for _, path := range []string{"", "/result", "/events?limit=1000", "/export", "/export?format=html"} {
			s.ask(t, http.MethodGet, "/api/v1/runs/"+run+path, "")
		}
		s.ask(t, http.MethodPost, "/api/v1/runs/"+run+"/cancel", `{}`)
		for _, args := range [][]string{{"show", run}, {"export", run, "--jsonl"}, {"export", run, "--html"}, {"doctor"}} {
			out, _ := command(args...).CombinedOutput() // some end with another code than 0
			s.keep(strings.Join(args, " "), string(out))
		}
	}
	s.end(t)
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "token" {
			return err
		}
		body, err := os.ReadFile(path)
		s.keep(path, string(body))
		return err
	}))
	require.Greater(t, len(s.outputs), 30)
	for from, text := range s.outputs {
		for name, secret := range map[string]string{"key": secretKey, "token": secretToken, "cookie": s.cookie, "token of a person": personal} {
			require.NotContains(t, text, secret, "%s holds the %s", from, name)
		}
		if from != "announcement" {
			require.NotContains(t, text, s.code, "%s holds the code of the link", from)
		}
	}
}

// session is a server that was started, and all that came out of it.
type session struct {
	cmd          *exec.Cmd
	base         string
	code, cookie string
	read         chan struct{}

	mu      sync.Mutex // guards outputs
	outputs map[string]string
}

// startSession starts a server and comes in by the link that it prints.
func startSession(t *testing.T, cmd *exec.Cmd) *session {
	t.Helper()
	s := &session{cmd: cmd, outputs: map[string]string{}, read: make(chan struct{})}
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
	link := make(chan string, 1)
	go func() {
		defer close(s.read)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			from := "log lines"
			if at, found := strings.CutPrefix(lines.Text(), "dashboard: "); found {
				from = "announcement"
				link <- at
			}
			s.keep(from, lines.Text())
		}
	}()
	address := <-link
	var found bool
	s.base, s.code, found = strings.Cut(address, "/login?code=")
	require.True(t, found, address)
	response, err := http.Get(address)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Len(t, response.Cookies(), 1)
	s.cookie = response.Cookies()[0].Value
	return s
}

// keep adds to what came out.
func (s *session) keep(from, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outputs[from] += text + "\n"
}

// ask sends a request, the cookie with it, and keeps all that is answered.
func (s *session) ask(t *testing.T, method, path, body string) string {
	t.Helper()
	request, err := http.NewRequest(method, s.base+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPost {
		request.Header.Set("Authorization", "Bearer "+secretToken)
	} else {
		request.AddCookie(&http.Cookie{Name: "convene_session", Value: s.cookie})
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	var head strings.Builder
	require.NoError(t, response.Header.Write(&head))
	s.keep(method+" "+strings.ReplaceAll(path, s.code, "…"), head.String()+string(answer))
	return string(answer)
}

// end stops the server as ^C does.
func (s *session) end(t *testing.T) {
	t.Helper()
	require.NoError(t, s.cmd.Process.Signal(os.Interrupt))
	<-s.read
	require.NoError(t, s.cmd.Wait())
}
