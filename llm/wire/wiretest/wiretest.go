// Package wiretest helps to test adapters: it serves a body over HTTP, in pieces as
// they come, collects what a client makes of it, and finds recordings of real
// providers beside a checkout.
package wiretest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// Result is all that a stream gave.
type Result struct {
	Text, Reasoning string
	// Fragments are the arguments that streamed, by the index of their call.
	Fragments map[int]string
	Calls     []events.ToolCall
	// Early is what [llm.Delta.Extra] was beside each call.
	Early []string
	// Behind counts the deltas that came behind the newest call.
	Behind int
	Done   *llm.Completion
	Err    error
}

// Collect reads a stream to its end and checks what holds for every stream.
func Collect(t testing.TB, client llm.Client, req llm.Request) Result {
	t.Helper()
	r := Result{Fragments: map[int]string{}}
	ended := false
	for delta, err := range client.Stream(context.Background(), req) {
		require.False(t, ended, "something came behind the end of the stream")
		if err != nil {
			r.Err, ended = err, true
			continue
		}
		r.Behind++
		r.Text += delta.Text
		r.Reasoning += delta.Reasoning
		r.Fragments[delta.Index] += delta.Fragment
		if delta.Call != nil {
			require.Equal(t, len(r.Calls), delta.Index, "calls come in the order of Index, from 0")
			r.Calls, r.Early, r.Behind = append(r.Calls, *delta.Call), append(r.Early, string(delta.Extra)), 0
		}
		if delta.Done != nil {
			r.Done, ended = delta.Done, true
		}
	}
	require.True(t, ended, "a stream ends with Done or an error")
	if r.Done != nil {
		require.Equal(t, r.Calls, r.Done.Reply.ToolCalls, "the reply holds the calls that were announced")
		require.Equal(t, r.Text, r.Done.Reply.Text)
	}
	return r
}

// Serve answers every request with the body, cut at the given places, and gives the
// address.
func Serve(t testing.TB, status int, header http.Header, body []byte, cuts ...int) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		from := 0
		for _, cut := range append(cuts, len(body)) {
			if cut > from {
				_, _ = w.Write(body[from:cut])
				_ = http.NewResponseController(w).Flush()
				from = cut
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Recorded reads a recording of a real provider with the headers that came along, and
// skips the test where there are none beside this checkout.
func Recorded(t testing.TB, name string) (status int, header http.Header, body []byte) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(folder(t), name))
	require.NoError(t, err)
	status, header = http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}}
	if strings.HasSuffix(name, ".json") {
		header.Set("Content-Type", "application/json")
	}
	if _, code, found := strings.Cut(name, "_http"); found {
		status = int(code[0]-'0')*100 + int(code[1]-'0')*10 + int(code[2]-'0')
	} else if _, code, found := strings.Cut(name, "http"); found {
		status = int(code[0]-'0')*100 + int(code[1]-'0')*10 + int(code[2]-'0')
	}
	lines, _ := os.ReadFile(strings.TrimSuffix(filepath.Join(folder(t), name), filepath.Ext(name)) + ".headers") // few have them
	for line := range strings.Lines(string(lines)) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			header.Set(key, strings.TrimSpace(value))
		}
	}
	return status, header, body
}

// Recordings lists the recordings whose names begin so.
func Recordings(t testing.TB, prefix string) []string {
	t.Helper()
	files, err := os.ReadDir(folder(t))
	require.NoError(t, err)
	var names []string
	for _, file := range files {
		if name := file.Name(); strings.HasPrefix(name, prefix) && !strings.HasSuffix(name, ".request.json") && !strings.HasSuffix(name, ".headers") {
			names = append(names, name)
		}
	}
	return names
}

// RecordedRequest reads the request of a recording.
func RecordedRequest(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(folder(t), name))
	require.NoError(t, err)
	return body
}

func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for parent := filepath.Dir(dir); parent != dir; dir, parent = parent, filepath.Dir(parent) {
		folder := filepath.Join(parent, "shared", "wire")
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			return folder
		}
	}
	t.Skip("no folder shared/wire with recordings beside this checkout")
	return ""
}
