package mcpclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/mcpclient"
	"github.com/convene-run/convene/mcpclient/mcptest"
	"github.com/convene-run/convene/team"
)

// world is a pool with the tools of one server.
type world struct {
	t     *testing.T
	pool  *mcpclient.Pool
	tools map[string]agent.Tool
}

func with(t *testing.T, config team.MCPServer, options mcpclient.Options) *world {
	pool := mcpclient.New(options)
	t.Cleanup(pool.Close)
	listing, err := pool.List(t.Context(), "test", config)
	require.NoError(t, err)
	tools, notes := pool.Tools("test", config, listing)
	require.Empty(t, notes)
	w := &world{t, pool, map[string]agent.Tool{}}
	for _, tool := range tools {
		w.tools[tool.Name] = tool
	}
	return w
}

func (w *world) call(tool, arguments string) agent.Result {
	w.t.Helper()
	result, err := w.start(w.t.Context(), tool, arguments, nil)
	require.NoError(w.t, err)
	return result
}

func (w *world) start(ctx context.Context, tool, arguments string, progress func(words string)) (agent.Result, error) {
	external, ok := w.tools["test__"+tool].Handler.(agent.External)
	require.True(w.t, ok, tool)
	in := agent.Invocation{Tool: tool, Ref: events.CallRef{Arguments: arguments}}
	if progress != nil {
		in = in.WithProgress(progress)
	}
	return external.Call(ctx, in)
}

// Over both transports the same server gives the same results.
func TestResults(t *testing.T) {
	server := httptest.NewServer(mcptest.Handler())
	t.Cleanup(server.Close)
	for name, config := range map[string]team.MCPServer{
		"stdio": mcptest.Command(), "http": {URL: server.URL},
	} {
		t.Run(name, func(t *testing.T) {
			w := with(t, config, mcpclient.Options{})
			require.Equal(t, agent.Result{Text: "Grüße"}, w.call("echo", `{"text":"Grüße"}`))
			require.Equal(t, agent.Result{Text: "One pixel:", Parts: []events.Part{
				{Type: events.PartImage, MediaType: "image/png", Bytes: mcptest.Pixel, SizeBytes: int64(len(mcptest.Pixel))},
			}, Files: []agent.File{
				{Name: "audio", MediaType: "audio/wav", Data: []byte("RIFF")},
				{Name: "q3.pdf", MediaType: "application/pdf", Data: []byte("%PDF"), Origin: "file:///reports/q3.pdf"},
			}}, w.call("picture", ``))
			require.JSONEq(t, `{"city":"Kyoto","celsius":21.5}`, w.call("weather", `{"text":"Kyoto"}`).Text)
			require.Equal(t, agent.Result{Text: "out of ink", Failed: true}, w.call("fail", `{"text":"out of ink"}`))
			require.Len(t, w.call("bytes", `{"steps":2000,"ms":0}`).Text, 2000<<10)
			refused := w.call("echo", `{"other":1}`)
			require.True(t, refused.Failed)
			require.Contains(t, refused.Text, "other")
			heard := make(chan string, 10)
			result, err := w.start(t.Context(), "slow", `{"steps":3,"ms":10}`, func(words string) { heard <- words })
			require.NoError(t, err)
			require.Equal(t, "3 steps", result.Text)
			require.Equal(t, "1 of 3, step", <-heard, "the last may come behind the result")
		})
	}
}

// A call lasts as long as its server reports progress, and is given up when it does not.
func TestTimeout(t *testing.T) {
	config := mcptest.Command()
	config.Timeout = team.Duration(2 * time.Second)
	config.Effects = map[string]events.Effect{"slow": events.EffectPure}
	w := with(t, config, mcpclient.Options{})
	require.Equal(t, "12 steps", w.call("slow", `{"steps":12,"ms":200}`).Text, "2.4 s in all, never 2 s without progress")
	result := w.call("hang", `{}`)
	require.True(t, result.Failed)
	require.Equal(t, "Error: hang was given up: it reported no progress for 2s. The outcome of the call is unknown: check before repeating it", result.Text)
	require.Equal(t, "still there", w.call("echo", `{"text":"still there"}`).Text)
}

// The end of a run cancels its call, and nothing else.
func TestCancelledCall(t *testing.T) {
	w := with(t, mcptest.Command(), mcpclient.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	over := fmt.Errorf("the run is over")
	time.AfterFunc(50*time.Millisecond, func() { cancel(over) })
	_, err := w.start(ctx, "hang", `{}`, nil)
	require.ErrorIs(t, err, over)
	require.Equal(t, "still there", w.call("echo", `{"text":"still there"}`).Text)
}

// A server that dies during a call comes back. The call is made again only where that does
// no harm.
func TestServerThatDies(t *testing.T) {
	config := mcptest.Command()
	config.Effects = map[string]events.Effect{"note": events.EffectIdempotent}
	w := with(t, config, mcpclient.Options{})
	file := func(name string) (path, arguments string) {
		path = filepath.Join(t.TempDir(), name)
		body, err := json.Marshal(map[string]string{"file": path})
		require.NoError(t, err)
		return path, string(body)
	}
	_, idempotent := file("idempotent")
	require.Equal(t, agent.Result{Text: "noted 2 times"}, w.call("note", idempotent))

	path, effectful := file("effectful")
	result := w.call("die", effectful)
	require.True(t, result.Failed)
	require.Contains(t, result.Text, "The outcome of the call is unknown")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "called\n", string(text), "it was not repeated")

	require.Eventually(t, func() bool { return w.call("echo", `{"text":"back"}`).Text == "back" }, time.Minute, 50*time.Millisecond)
}

// While a server that keeps dying is left alone, its tools say so, and why.
func TestUnavailableMeanwhile(t *testing.T) {
	w := with(t, mcptest.Command(), mcpclient.Options{})
	body := `{"file":` + fmt.Sprintf("%q", filepath.Join(t.TempDir(), "calls")) + `}`
	var said string
	for range 6 {
		if said = w.call("die", body).Text; strings.Contains(said, "unavailable") {
			break
		}
	}
	require.Contains(t, said, "Error: unavailable: the MCP server test ended (exit status 3). It last said: the server was told to die. It is tried again in")
}

// A tool whose server describes it in other words is refused.
func TestChangedDescription(t *testing.T) {
	server := httptest.NewServer(mcptest.Handler())
	t.Cleanup(server.Close)
	for name, config := range map[string]team.MCPServer{"stdio": mcptest.Command(), "http": {URL: server.URL}} {
		t.Run(name, func(t *testing.T) {
			w := with(t, config, mcpclient.Options{})
			require.Equal(t, "before", w.call("echo", `{"text":"before"}`).Text)
			w.call("change", `{}`)
			var result agent.Result
			require.Eventually(t, func() bool {
				result = w.call("echo", `{"text":"after"}`)
				return result.Failed
			}, time.Minute, 20*time.Millisecond, "the notification arrives")
			require.Contains(t, result.Text, "has changed what it says of echo")
			require.Contains(t, result.Text, "convene team check --connect")
			require.Equal(t, "2 steps", w.call("slow", `{"steps":2,"ms":1}`).Text, "the others work")
		})
	}
}

// Fifty runs share one process.
func TestOneServerForAll(t *testing.T) {
	config := mcptest.Command()
	config.Env = map[string]string{"PID": "${MARK}"}
	w := with(t, config, mcpclient.Options{Lookup: func(name string) (string, bool) { return "abc", name == "MARK" }})
	other := config
	other.Allow, other.Timeout = []string{"echo"}, team.Duration(time.Hour)
	listing, err := w.pool.List(t.Context(), "same", other)
	require.NoError(t, err)
	require.Len(t, listing.Tools, 1)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for j := range 4 {
				text := fmt.Sprintf("%d.%d", i, j)
				if got := w.call("echo", `{"text":"`+text+`"}`).Text; got != text {
					t.Errorf("%s came back as %s", text, got)
				}
			}
		})
	}
	wg.Wait()
	require.Len(t, children(t), 2, "one server and its guard")
}

// A command gets the variables that its settings declare, and what it must know to run.
// Their values are in no result.
func TestEnvironment(t *testing.T) {
	t.Setenv("OTHER_SECRET", "sk-other")
	t.Setenv("WIKI_TOKEN", "sk-wiki-1234")
	config := mcptest.Command()
	config.Env = map[string]string{"TOKEN": "Bearer ${WIKI_TOKEN}"}
	w := with(t, config, mcpclient.Options{})
	names := strings.Fields(w.call("environment", `{}`).Text)
	names = slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains([]string{"HOME", "LANG", "LOGNAME", "PATH", "TMPDIR", "USER"}, name)
	})
	require.Equal(t, []string{"TOKEN"}, names)
	require.Equal(t, "it is Bearer ${WIKI_TOKEN}", w.call("value", `{"text":"TOKEN"}`).Text)
}

func TestServersThatAreNone(t *testing.T) {
	t.Setenv("SECRET", "sk-do-not-tell")
	missing := filepath.Join(t.TempDir(), "missing")
	for name, c := range map[string]struct {
		config team.MCPServer
		want   string
	}{
		"no such command":  {team.MCPServer{Command: "no-such-command-here"}, "the command no-such-command-here could not be started: it is not found"},
		"no such file":     {team.MCPServer{Command: missing}, "could not be started"},
		"unset variable":   {team.MCPServer{Command: "cat", Env: map[string]string{"A": "${NOT_SET_ANYWHERE}"}}, "env A: the variable NOT_SET_ANYWHERE is not set"},
		"ends at once":     {team.MCPServer{Command: "sh", Args: []string{"-c", "echo oh no $KEY >&2; exit 4"}, Env: map[string]string{"KEY": "${SECRET}"}}, "(exit status 4). It last said: oh no ${SECRET}"},
		"speaks no MCP":    {team.MCPServer{Command: "sh", Args: []string{"-c", "echo hello; cat >/dev/null"}}, "could not be connected"},
		"sends it back":    {team.MCPServer{Command: "cat"}, "could not be connected"},
		"nobody listens":   {team.MCPServer{URL: "http://127.0.0.1:1/mcp"}, "connection refused"},
		"unset in headers": {team.MCPServer{URL: "http://127.0.0.1:1/", Headers: map[string]string{"X": "${NOT_SET_ANYWHERE}"}}, "headers X: the variable NOT_SET_ANYWHERE is not set"},
	} {
		t.Run(name, func(t *testing.T) {
			pool := mcpclient.New(mcpclient.Options{})
			defer pool.Close()
			_, err := pool.List(t.Context(), "wrong", c.config)
			for err == nil || !strings.Contains(err.Error(), "unavailable") {
				_, err = pool.List(t.Context(), "wrong", c.config)
				require.Error(t, err)
			}
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "unavailable: the MCP server wrong ")
			require.NotContains(t, err.Error(), "sk-do-not-tell")
		})
	}
}

// Headers go to the server that they were declared for, not where it redirects to.
func TestHeadersStayWithTheServer(t *testing.T) {
	t.Setenv("WIKI_TOKEN", "sk-wiki-1234")
	var seen sync.Map
	inner := mcptest.Handler()
	other := httptest.NewServer(recorder(&seen, "other", inner))
	t.Cleanup(other.Close)
	server := httptest.NewServer(recorder(&seen, "server", inner))
	t.Cleanup(server.Close)
	redirecting := httptest.NewServer(redirect(other.URL))
	t.Cleanup(redirecting.Close)

	headers := map[string]string{"Authorization": "Bearer ${WIKI_TOKEN}"}
	w := with(t, team.MCPServer{URL: server.URL, Headers: headers}, mcpclient.Options{})
	require.Equal(t, "x", w.call("echo", `{"text":"x"}`).Text)
	got, _ := seen.Load("server")
	require.Equal(t, "Bearer sk-wiki-1234", got)

	pool := mcpclient.New(mcpclient.Options{})
	defer pool.Close()
	_, err := pool.List(t.Context(), "moved", team.MCPServer{URL: redirecting.URL, Headers: headers})
	require.Error(t, err)
	_, reached := seen.Load("other")
	require.False(t, reached)
}
