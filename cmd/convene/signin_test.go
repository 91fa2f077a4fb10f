package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/mcpclient/mcptest"
)

// visit is a browser for tests: it follows where it is sent.
func visit() {
	response, err := http.Get(os.Args[1])
	if err != nil {
		os.Exit(1)
	}
	_ = response.Body.Close()
}

// `team check --connect` signs in to a server that asks for it, and runs use that. What was
// given is in a file of the user's alone, and nowhere else.
//
// Proves R76.
func TestSignInToServer(t *testing.T) {
	guarded := mcptest.NewGuarded()
	defer guarded.Close()
	model := httptest.NewServer(sim.NewServer(sim.Options{}))
	defer model.Close()
	dir := t.TempDir()
	convene := func(args ...string) *exec.Cmd {
		cmd := exec.Command("convene", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "CONVENE_STORE="+filepath.Join(dir, "runs.db"), "BROWSER=visit", "TRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
		return cmd
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "wiki.yaml"), []byte("name: wiki\nmcp:\n  wiki: {url: \""+guarded.URL+"\"}\n"+
		`specialists: [{id: one, description: Looks., prompt: 'Do wiki__echo {"text": "access-secret-1"} and wiki__traceparent {}.', tools: ["wiki__*"]}]`), 0o600))
	run := []string{"run", "--team", "wiki.yaml", "--model", "sim", "--base-url", model.URL + "/v1", "--approve", "all", "--json", "Look around"}

	out, err := convene("team", "check", "--connect", "--yes", "wiki.yaml").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "The MCP server wiki asks for a sign-in. If no browser opens, open this address on this machine:\nhttp://127.0.0.1:")
	require.NotContains(t, string(out), "secret")
	kept := filepath.Join(dir, "convene", "signins.json")
	info, err := os.Stat(kept)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	text, err := os.ReadFile(kept)
	require.NoError(t, err)
	require.Contains(t, string(text), "refresh-secret-1")

	out, err = convene(run...).Output()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), `"tool":"wiki__echo","result":"[sign-in]"`)
	require.NotContains(t, string(out), "refresh-secret")
	require.Contains(t, string(out), `"result":"span 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"`, "the caller's, where nothing is exported")

	// Nobody is there to sign in again: the run says so, and no browser is opened.
	guarded.Revoke()
	out, err = convene(run...).Output()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "the MCP server wiki could not be connected: it asks for a sign-in; `convene team check --connect TEAM` signs in")
	came, _ := guarded.SignIns()
	require.Equal(t, 1, came)
}
