package main

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/race"
)

// A run that is started with somebody's span is part of their trace, from the command line
// and over the API. A collector that is not there changes nothing but a line.
//
// Proves R76.
func TestTraces(t *testing.T) {
	race.Processes(t)
	var mu sync.Mutex
	var exported bytes.Buffer
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(&exported, r.Body)
	}))
	defer collector.Close()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte(secretToken+"\n"), 0o600))
	convene := func(endpoint string, env []string, args ...string) *exec.Cmd {
		cmd := exec.Command("convene", args...)
		cmd.Dir = dir
		cmd.Env = append(append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "CONVENE_STORE=", "OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint), env...)
		return cmd
	}
	has := func(trace string) {
		id, err := hex.DecodeString(trace)
		require.NoError(t, err)
		mu.Lock()
		defer mu.Unlock()
		require.Contains(t, exported.String(), string(id))
		require.Contains(t, exported.String(), "invoke_workflow general")
		require.NotContains(t, exported.String(), "Kyoto")
		exported.Reset()
	}

	const fromShell, fromHeader = "4bf92f3577b34da6a3ce929d0e0e4736", "5bf92f3577b34da6a3ce929d0e0e4736"
	out, err := convene(collector.URL, []string{"TRACEPARENT=00-" + fromShell + "-00f067aa0ba902b7-01"}, "run", "--model", "sim", "--quiet", "Plan a day in Kyoto").CombinedOutput()
	require.NoError(t, err, string(out))
	has(fromShell)

	s := startSession(t, convene(collector.URL, nil, "serve", "--addr", "127.0.0.1:0", "--token-file", "token"))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/api/v1/runs", strings.NewReader(`{"request":"Plan a day in Kyoto","model":"sim","solo":true}`))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+secretToken)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Traceparent", "00-"+fromHeader+"-00f067aa0ba902b7-01")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusCreated, response.StatusCode)
	s.end(t) // the run may be parked by it
	out, err = convene(collector.URL, nil, "resume").CombinedOutput()
	t.Log(string(out), err) // where it was
	has(fromHeader)

	collector.Close()
	out, err = convene(collector.URL, nil, "run", "--model", "sim", "--answer-only", "Plan a day in Kyoto").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, 1, strings.Count(string(out), "OpenTelemetry: traces are not exported"), string(out))
	out, err = convene("http://127.0.0.1:1", []string{"OTEL_EXPORTER_OTLP_PROTOCOL=carrier-pigeon"}, "run", "--model", "sim", "Plan a day in Kyoto").CombinedOutput()
	require.ErrorContains(t, err, "exit status 2")
	require.Contains(t, string(out), `OTEL_EXPORTER_OTLP_PROTOCOL is "carrier-pigeon"; write http/protobuf or grpc`)
}
