package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/ownport"
	"github.com/convene-run/convene/internal/race"
)

// A receiver that is down while a run begins and ends, and while serve is started anew, is
// told of both once it is up.
//
// Proves R52.
func TestServeTellsWebhooks(t *testing.T) {
	race.Processes(t)
	listener := ownport.Listen(t)
	address := listener.Addr().String()
	require.NoError(t, listener.Close()) // down
	dir := t.TempDir()
	settings := filepath.Join(dir, "convene")
	require.NoError(t, os.MkdirAll(settings, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte(secretToken+"\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(settings, "config.yaml"), []byte(
		"webhooks: [{url: http://"+address+"/hooks, secret_env: HOOK, private_host: 127.0.0.1, kinds: [workflow_started, workflow_finished]}]\n"), 0o600))
	serve := func(env ...string) *exec.Cmd {
		cmd := exec.Command("convene", "serve", "--addr", "127.0.0.1:0", "--token-file", "token")
		cmd.Dir = dir
		cmd.Env = append(append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "CONVENE_STORE="), env...)
		return cmd
	}
	out, err := serve("HOOK=").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "the variable HOOK is not set")

	const hook = "HOOK=whsec_MfKQ9r8GKYqTwjUPD8ILPZIo2LaLaSw9"
	s := startSession(t, serve(hook))
	var started struct {
		Run string `json:"run_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(s.ask(t, http.MethodPost, "/api/v1/runs", `{"request":"Plan a day in Kyoto","model":"sim"}`)), &started))
	require.Eventually(t, func() bool {
		return regexp.MustCompile(`"status":"completed"`).MatchString(s.ask(t, http.MethodGet, "/api/v1/runs/"+started.Run, ""))
	}, time.Minute, 50*time.Millisecond)
	s.end(t)

	kinds := make(chan string, 10)
	receiver := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var told struct{ Type string }
		_ = json.Unmarshal(body, &told)
		kinds <- r.URL.Path + " " + told.Type
	})}
	listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	require.NoError(t, err)
	go func() { _ = receiver.Serve(listener) }()
	defer func() { _ = receiver.Close() }()
	s = startSession(t, serve(hook))
	require.Equal(t, "/hooks workflow_started", <-kinds)
	require.Equal(t, "/hooks workflow_finished", <-kinds)
	require.Contains(t, s.ask(t, http.MethodGet, "/metrics", ""), `convene_webhook_attempts_total{host="`+address+`",outcome="delivered"}`)
	s.end(t)
	require.Empty(t, kinds)
}
