package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
)

// result is all that a stream gave.
type result struct {
	text, reasoning string
	fragments       map[int]string
	calls           []events.ToolCall
	done            *llm.Completion
	err             error
}

// collect reads a stream to its end and checks what holds for every stream.
func collect(t testing.TB, client llm.Client, req llm.Request) result {
	t.Helper()
	r := result{fragments: map[int]string{}}
	ended := false
	for delta, err := range client.Stream(context.Background(), req) {
		require.False(t, ended, "something came behind the end of the stream")
		if err != nil {
			r.err, ended = err, true
			continue
		}
		r.text += delta.Text
		r.reasoning += delta.Reasoning
		r.fragments[delta.Index] += delta.Fragment
		if delta.Call != nil {
			require.Equal(t, len(r.calls), delta.Index, "calls come in the order of Index, from 0")
			r.calls = append(r.calls, *delta.Call)
		}
		if delta.Done != nil {
			r.done, ended = delta.Done, true
		}
	}
	require.True(t, ended, "a stream ends with Done or an error")
	if r.done != nil {
		require.Equal(t, r.calls, r.done.Reply.ToolCalls, "the reply holds the calls that were announced")
	}
	return r
}

// serve answers every request with the given body.
func serve(t testing.TB, status int, contentType string, body []byte, header ...string) *openai.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	return client(t, openai.Config{Provider: "test", BaseURL: server.URL + "/v1", APIKey: "sk-secret-of-the-test"})
}

func client(t testing.TB, cfg openai.Config) *openai.Client {
	t.Helper()
	c := openai.New(cfg)
	t.Cleanup(c.Close)
	return c
}

func ask(text string) llm.Request {
	return llm.Request{Model: "m", Messages: []events.Message{{Role: events.RoleUser, Content: text}}}
}

// recordings finds the folder of real providers' recordings beside a checkout.
func recordings(t *testing.T) string {
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

// recorded is what a recording must come out as.
type recorded struct {
	text      string // a part of the text
	reasoning string // a part of the reasoning
	calls     []events.ToolCall
	finish    events.FinishReason
	usage     events.Usage // Estimated where the recording has none
	model     string
	kind      llm.ErrorKind
	status    int
	code      string
	message   string // a part of the error's message
}

func TestReplayOfRealProviders(t *testing.T) {
	folder := recordings(t)
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, file := range files {
		t.Run(file.Name(), func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join(folder, file.Name()))
			require.NoError(t, err)
			status, contentType := http.StatusOK, "text/event-stream"
			if strings.HasSuffix(file.Name(), ".json") {
				contentType = "application/json"
			}
			if _, code, found := strings.Cut(file.Name(), "_http"); found {
				status = int(code[0]-'0')*100 + int(code[1]-'0')*10 + int(code[2]-'0')
			}
			start := time.Now()
			got := collect(t, serve(t, status, contentType, body), ask("hi"))
			require.Less(t, time.Since(start), 5*time.Second)
			if os.Getenv("SHOW") != "" {
				j, _ := json.MarshalIndent(got.done, "", " ")
				t.Logf("err=%v\n%s", got.err, j)
			}
			var e *llm.Error
			if got.err != nil {
				require.True(t, errors.As(got.err, &e))
			}
		})
	}
}
