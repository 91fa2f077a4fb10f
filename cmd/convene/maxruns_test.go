package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/race"
)

// A server drives so many runs at once and no more: a further one is refused in words,
// with when to come again, and is taken once there is room.
func TestServeBoundsRuns(t *testing.T) {
	race.Processes(t)
	model, open := gated(t)
	cmd := exec.Command("convene", "serve", "--addr", "127.0.0.1:0", "--max-runs", "2", "--base-url", model, "--model", "openai/sim")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "OPENAI_API_KEY=none", "CONVENE_STORE=")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() {
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.NoError(t, cmd.Wait())
	}()
	address := ""
	for lines := bufio.NewScanner(stderr); address == "" && lines.Scan(); {
		_, address, _ = strings.Cut(lines.Text(), "dashboard: ")
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()

	start := func() (status int, header http.Header, body string) {
		response, err := http.Post(address+"api/v1/runs", "application/json", strings.NewReader(`{"request":"Plan a day","solo":true}`))
		require.NoError(t, err)
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, response.Header, string(answer)
	}
	for range 2 {
		status, _, body := start()
		require.Equal(t, http.StatusCreated, status, body)
	}
	status, header, body := start()
	require.Equal(t, http.StatusTooManyRequests, status, body)
	require.Equal(t, "10", header.Get("Retry-After"))
	require.Contains(t, body, "2 runs are under way, and this server drives at most 2 at once")
	open()
	require.Eventually(t, func() bool {
		status, _, _ := start()
		return status == http.StatusCreated
	}, 60*time.Second, 50*time.Millisecond)
}
