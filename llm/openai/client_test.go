package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/pipenet"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const okBody = "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

// recorder is an endpoint that keeps what it was asked.
type recorder struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	last   *http.Request
	// refuse answers a body that it takes with a 400.
	refuse func(body string) string
}

func newRecorder(t *testing.T) *recorder {
	r := &recorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.bodies, r.last = append(r.bodies, string(body)), req
		r.mu.Unlock()
		if r.refuse != nil {
			if message := r.refuse(string(body)); message != "" {
				w.WriteHeader(http.StatusBadRequest)
				_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": message}})
				return
			}
		}
		_, _ = io.WriteString(w, okBody)
	}))
	t.Cleanup(r.Close)
	return r
}

// WIRE 21: temperature 0 is sent. WIRE 13: what we do not know goes back unchanged.
func TestRequestBody(t *testing.T) {
	r := newRecorder(t)
	c := client(t, openai.Config{Config: wire.Config{BaseURL: r.URL}, ReasoningField: "reasoning_content"})
	zero := 0.0
	got := collect(t, c, llm.Request{
		Model: "m", Temperature: &zero, MaxOutputTokens: 100, ToolChoice: llm.ToolChoiceNone,
		Tools: []llm.Tool{{Name: "one", Description: "does <one>", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "bare"}},
		Messages: []events.Message{
			{Role: events.RoleSystem, Content: "be"},
			{Role: events.RoleUser, Content: "שלום 🙂 <&> \x01 \" \\ \u2028\n"},
			{Role: events.RoleAssistant},
			{Role: events.RoleTool, ToolCallID: "orphan", Content: "nobody asked"},
			{Role: events.RoleAssistant, Reasoning: "hm", Extra: json.RawMessage(`{"reasoning_details":[{"data":"=="}],"content":"no"}`), ToolCalls: []events.ToolCall{
				{ID: "a", Name: "one", Arguments: `{"x":1}`, Extra: json.RawMessage(`{"extra_content":{"s":"S"},"function":{"f":1}}`)},
				{ID: "b", Name: "one", Arguments: ""},
				{ID: "c", Name: "one", Arguments: `{"broken`},
				{ID: "d", Name: "one", Arguments: `[1]`},
			}},
			{Role: events.RoleTool, ToolCallID: "b", Content: "second"},
			{Role: events.RoleTool, ToolCallID: "a", Content: ""},
			{Role: events.RoleTool, ToolCallID: "a", Content: "again"},
			{Role: events.RoleTool, ToolCallID: "c", Content: "third"},
			{Role: events.RoleAssistant, Content: "done", Reasoning: "sent without calls too"},
		},
	})
	require.NoError(t, got.err)
	require.Contains(t, r.bodies[0], "שלום 🙂 <&>", "byte for byte")
	require.JSONEq(t, `{
		"model":"m","stream":true,"stream_options":{"include_usage":true},"temperature":0,"max_tokens":100,"tool_choice":"none",
		"tools":[{"type":"function","function":{"name":"one","description":"does <one>","parameters":{"type":"object"}}},
			{"type":"function","function":{"name":"bare","parameters":{"type":"object","properties":{}}}}],
		"messages":[
			{"role":"system","content":"be"},
			{"role":"user","content":"שלום 🙂 <&> \u0001 \" \\ \u2028\n"},
			{"role":"assistant","content":null,"reasoning_content":"hm","reasoning_details":[{"data":"=="}],"tool_calls":[
				{"id":"a","type":"function","function":{"name":"one","arguments":"{\"x\":1}","f":1},"extra_content":{"s":"S"}},
				{"id":"b","type":"function","function":{"name":"one","arguments":"{}"}},
				{"id":"c","type":"function","function":{"name":"one","arguments":"{}"}},
				{"id":"d","type":"function","function":{"name":"one","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"b","content":"second"},
			{"role":"tool","tool_call_id":"a","content":""},
			{"role":"tool","tool_call_id":"c","content":"third"},
			{"role":"tool","tool_call_id":"d","content":"(no result: the call was not run)"},
			{"role":"assistant","content":"done","reasoning_content":"sent without calls too"}]}`, r.bodies[0])
}

// Prompt caches hit: what was sent is a prefix of what is sent next.
func TestALongerHistoryBeginsWithTheSameBytes(t *testing.T) {
	r := newRecorder(t)
	c := client(t, openai.Config{Config: wire.Config{BaseURL: r.URL}})
	req := llm.Request{Model: "m", Tools: []llm.Tool{{Name: "t"}}, Messages: []events.Message{{Role: events.RoleSystem, Content: "s"}, {Role: events.RoleUser, Content: "u"}}}
	collect(t, c, req)
	req.Messages = append(req.Messages, events.Message{Role: events.RoleAssistant, Content: "a"}, events.Message{Role: events.RoleUser, Content: "b"})
	collect(t, c, req)
	require.True(t, strings.HasPrefix(r.bodies[1], strings.TrimSuffix(r.bodies[0], "]}")))
}

func TestQuirksOfProviders(t *testing.T) {
	r := newRecorder(t)
	history := []events.Message{
		{Role: events.RoleAssistant, Reasoning: "hm", ToolCalls: []events.ToolCall{{ID: "call_longer_than_nine", Name: "n", Arguments: "{}", Extra: json.RawMessage(`{"x":1}`)}, {ID: "abcDEF123", Name: "n"}}},
		{Role: events.RoleTool, ToolCallID: "call_longer_than_nine", Content: "r"}, {Role: events.RoleTool, ToolCallID: "abcDEF123", Content: "r"},
	}
	collect(t, client(t, openai.Config{Config: wire.Config{BaseURL: r.URL}, PublishedOnly: true, ShortCallIDs: true, OutputLimitField: "max_completion_tokens"}),
		llm.Request{Model: "m", MaxOutputTokens: 5, Messages: history})
	var sent struct {
		Limit    int `json:"max_completion_tokens"`
		Messages []struct {
			ToolCalls  []map[string]any `json:"tool_calls"`
			ToolCallID string           `json:"tool_call_id"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(r.bodies[0]), &sent))
	require.Equal(t, 5, sent.Limit)
	require.NotContains(t, r.bodies[0], `"x":1`, "a strict endpoint gets published fields alone")
	require.NotContains(t, r.bodies[0], `hm`)
	id := sent.Messages[0].ToolCalls[0]["id"]
	require.Regexp(t, `^[a-zA-Z0-9]{9}$`, id)
	require.Equal(t, id, sent.Messages[1].ToolCallID, "the answer names the same call")
	require.Equal(t, "abcDEF123", sent.Messages[2].ToolCallID)
}

// The key of the prompt cache goes to those who take one, until they refuse it.
func TestCacheKey(t *testing.T) {
	r := newRecorder(t)
	req := ask("x")
	req.CacheKey = "convene-1"
	require.NoError(t, collect(t, client(t, openai.Config{Config: wire.Config{BaseURL: r.URL}}), req).err)
	require.NotContains(t, r.bodies[0], "prompt_cache_key")
	c := client(t, openai.Config{Config: wire.Config{BaseURL: r.URL}, TakesCacheKey: true})
	require.NoError(t, collect(t, c, req).err)
	require.Contains(t, r.bodies[1], `"prompt_cache_key":"convene-1"`)
	r.refuse = func(body string) string {
		if strings.Contains(body, "prompt_cache_key") {
			return "Unrecognized request argument supplied: prompt_cache_key"
		}
		return ""
	}
	require.NoError(t, collect(t, c, req).err)
	require.NotContains(t, r.bodies[3], "prompt_cache_key")
}

func TestParametersThatAModelRefusesAreLeftOut(t *testing.T) {
	r := newRecorder(t)
	r.refuse = func(body string) string {
		switch {
		case strings.Contains(body, `"temperature"`):
			return "Unsupported value: 'temperature' does not support 0 with this model."
		case strings.Contains(body, `"max_tokens"`):
			return "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
		case strings.Contains(body, `"stream_options"`):
			return "extra field stream_options"
		}
		return ""
	}
	c := client(t, openai.Config{Config: wire.Config{BaseURL: r.URL}})
	zero := 0.0
	req := llm.Request{Model: "strict", Temperature: &zero, MaxOutputTokens: 9, Messages: ask("x").Messages}
	require.NoError(t, collect(t, c, req).err)
	require.Len(t, r.bodies, 4)
	require.NoError(t, collect(t, c, req).err)
	require.Len(t, r.bodies, 5, "it is known from now on")
	require.Contains(t, r.bodies[4], `"max_completion_tokens":9`)

	r.refuse = func(string) string { return "temperature is a bad thing" }
	got := collect(t, c, llm.Request{Model: "never", Temperature: &zero})
	require.Equal(t, llm.ErrBadRequest, llm.KindOf(got.err), "the endpoint's own words in the end")
	require.Len(t, r.bodies, 7)
}

func TestHeadersAndAddress(t *testing.T) {
	r := newRecorder(t)
	c := client(t, openai.Config{Config: wire.Config{BaseURL: r.URL + "/v1/?api-version=7", APIKey: "k-1234567890", KeyHeader: "api-key", Header: http.Header{"anthropic-version": {"2023"}}}})
	require.NoError(t, collect(t, c, ask("x")).err)
	require.Equal(t, "/v1/chat/completions?api-version=7", r.last.RequestURI)
	require.Equal(t, "k-1234567890", r.last.Header.Get("Api-Key"))
	require.Equal(t, "2023", r.last.Header.Get("Anthropic-Version"))
	require.Empty(t, r.last.Header.Get("Authorization"))

	got := collect(t, client(t, openai.Config{Config: wire.Config{BaseURL: "nonsense"}}), ask("x"))
	require.ErrorContains(t, got.err, "want http://HOST")
}

// The key shows nowhere, also where the endpoint repeats it.
func TestTheKeyIsNeverShown(t *testing.T) {
	const key = "sk-secret-of-the-test"
	for _, body := range []string{`{"error":{"message":"Incorrect key ` + key + `","code":"` + key + `"}}`, "<title>" + key + "</title>", key} {
		got := collect(t, serve(t, http.StatusUnauthorized, "text/html", []byte(body)), ask("x"))
		require.Error(t, got.err)
		require.NotContains(t, fmt.Sprintf("%+v", got.err), key)
		var e *llm.Error
		require.True(t, errors.As(got.err, &e))
		require.NotContains(t, fmt.Sprintf("%#v", *e), key)
	}
	got := collect(t, serve(t, http.StatusOK, "text/event-stream", []byte("data: {\"error\":\"bad "+key+"\"}\n\n")), ask("x"))
	require.NotContains(t, got.err.Error(), key)
	got = collect(t, client(t, openai.Config{Config: wire.Config{BaseURL: "http://user:" + key + "@127.0.0.1:1/v1", APIKey: key}}), ask("x"))
	require.Equal(t, llm.ErrUnreachable, llm.KindOf(got.err))
	require.NotContains(t, got.err.Error(), key)
}

// WIRE 18.
func TestRetryAfterInAllItsSpellings(t *testing.T) {
	for _, c := range []struct {
		header []string
		least  time.Duration
		most   time.Duration
	}{
		{[]string{"Retry-After", "7"}, 7 * time.Second, 7 * time.Second},
		{[]string{"Retry-After", "0.5"}, 500 * time.Millisecond, 500 * time.Millisecond},
		{[]string{"Retry-After", time.Now().Add(20 * time.Second).UTC().Format(http.TimeFormat)}, 17 * time.Second, 20 * time.Second},
		{[]string{"Retry-After", time.Now().Add(-20 * time.Second).UTC().Format(http.TimeFormat)}, 0, 0},
		{[]string{"Retry-After-Ms", "1500", "Retry-After", "9"}, 1500 * time.Millisecond, 1500 * time.Millisecond},
		{[]string{"X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "6m1s"}, 361 * time.Second, 361 * time.Second},
		{[]string{"X-Ratelimit-Remaining-Requests", "5", "X-Ratelimit-Reset-Requests", "6m1s"}, 0, 0},
		{[]string{"X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "250ms"}, 250 * time.Millisecond, 250 * time.Millisecond},
		{[]string{"X-Ratelimit-Remaining", "0", "X-Ratelimit-Reset", fmt.Sprint(time.Now().Add(30 * time.Second).UnixMilli())}, 28 * time.Second, 30 * time.Second},
		{[]string{"Retry-After", "soon"}, 0, 0},
		{[]string{"Retry-After", "-3"}, 0, 0},
		{[]string{"Retry-After", "1e300"}, 365 * 24 * time.Hour, 365 * 24 * time.Hour},
		{[]string{"Retry-After", "NaN"}, 0, 0},
		{nil, 0, 0},
	} {
		got := collect(t, serve(t, http.StatusTooManyRequests, "application/json", []byte(`{}`), c.header...), ask("x"))
		var e *llm.Error
		require.True(t, errors.As(got.err, &e))
		require.GreaterOrEqual(t, e.RetryAfter, c.least, "%v", c.header)
		require.LessOrEqual(t, e.RetryAfter, c.most, "%v", c.header)
	}
}

// A call says whether what follows it has come already; it waits for no further read.
func TestCallsThatComeTogether(t *testing.T) {
	chunk := func(index int, rest string) string {
		return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"fetch","arguments":"{\"a\":1}"}}]}}]}%s`, index, index, rest)
	}
	const finish = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n" + "data: [DONE]\n\n"
	for name, c := range map[string]struct {
		pieces []string
		more   []bool
	}{
		"the reply at once":  {[]string{chunk(0, "\n\n") + chunk(1, "\n\n") + finish}, []bool{true, true}},
		"the end later":      {[]string{chunk(0, "\n\n") + chunk(1, "\n\n"), finish}, []bool{true, false}},
		"one, then the rest": {[]string{chunk(0, "\n\n"), chunk(1, "\n\n") + finish}, []bool{false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := slow(t, openai.Config{}, func(w http.ResponseWriter, flush func(), _ <-chan struct{}) {
					for i, piece := range c.pieces {
						time.Sleep(time.Duration(i) * time.Second)
						_, _ = io.WriteString(w, piece)
						flush()
					}
				})
				var more []bool
				for delta, err := range client.Stream(t.Context(), ask("x")) {
					require.NoError(t, err)
					if delta.Call != nil {
						more = append(more, delta.More)
					}
				}
				require.Equal(t, c.more, more)
			})
		})
	}
}

// slow serves a handler that the test lets go at its end. It is for tests in a bubble.
func slow(t *testing.T, cfg openai.Config, handler func(w http.ResponseWriter, flush func(), over <-chan struct{})) *openai.Client {
	over := make(chan struct{})
	network := pipenet.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		handler(w, w.(http.Flusher).Flush, over)
	}))
	t.Cleanup(func() { close(over) })
	cfg.Provider, cfg.BaseURL = "test", "http://memory"
	c := client(t, cfg)
	c.SetTransport(network)
	return c
}

// WIRE 21: nothing waits forever.
func TestTimeouts(t *testing.T) {
	const short = 50 * time.Millisecond
	const chunk = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
	for name, c := range map[string]struct {
		config  wire.Config
		handler func(w http.ResponseWriter, flush func(), over <-chan struct{})
		takes   time.Duration
		text    string
		err     string // of a timeout; "" for none
	}{
		"no answer": {wire.Config{FirstByteTimeout: short}, func(_ http.ResponseWriter, _ func(), over <-chan struct{}) { <-over },
			short, "", "waiting for the first byte"},
		"headers alone": {wire.Config{FirstByteTimeout: short}, func(_ http.ResponseWriter, flush func(), over <-chan struct{}) { flush(); <-over },
			short, "", "waiting for the first byte"},
		"stalled": {wire.Config{IdleTimeout: short}, func(w http.ResponseWriter, flush func(), over <-chan struct{}) {
			_, _ = io.WriteString(w, chunk)
			flush()
			<-over
		}, short, "a", "waiting for the next byte"},
		"slow is not stalled": {wire.Config{IdleTimeout: short}, func(w http.ResponseWriter, flush func(), _ <-chan struct{}) {
			for range 6 {
				_, _ = io.WriteString(w, chunk)
				flush()
				time.Sleep(short - time.Millisecond)
			}
			_, _ = io.WriteString(w, okBody)
		}, 6 * (short - time.Millisecond), "aaaaaaok", ""},
		"comments without end": {wire.Config{TotalTimeout: 4 * short}, func(w http.ResponseWriter, flush func(), over <-chan struct{}) {
			for {
				select {
				case <-over:
					return
				case <-time.After(short / 10):
					if _, err := io.WriteString(w, ": working\n\n"); err != nil {
						return
					}
					flush()
				}
			}
		}, 4 * short, "", "took longer than 200ms"},
		"open behind [DONE]": {wire.Config{}, func(w http.ResponseWriter, flush func(), over <-chan struct{}) {
			_, _ = io.WriteString(w, okBody)
			flush()
			<-over
		}, 50 * time.Millisecond, "ok", ""}, // for the connection to be used again
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				got := collect(t, slow(t, openai.Config{Config: c.config}, c.handler), ask("x"))
				require.Equal(t, c.takes, time.Since(start))
				require.Equal(t, c.text, got.text)
				if c.err == "" {
					require.NoError(t, got.err)
					return
				}
				require.Equal(t, llm.ErrTimeout, llm.KindOf(got.err))
				require.ErrorContains(t, got.err, c.err)
			})
		})
	}
}

func TestTheConsumerEndsTheCall(t *testing.T) {
	gone := make(chan struct{}, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	}))
	t.Cleanup(server.Close)
	c := client(t, openai.Config{Config: wire.Config{BaseURL: server.URL}})
	for range c.Stream(t.Context(), ask("x")) {
		break
	}
	<-gone
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	reason := errors.New("the run was cancelled")
	for _, err := range c.Stream(ctx, ask("x")) {
		cancel(reason)
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, reason)
			require.Empty(t, llm.KindOf(err), "the endpoint is not at fault")
		}
	}
	<-gone
}

func TestAReplyIsBounded(t *testing.T) {
	big := strings.Repeat("x", 600)
	for name, body := range map[string]string{
		"text":      strings.Repeat(`data: {"choices":[{"delta":{"content":"`+big+`"}}]}`+"\n\n", 3),
		"reasoning": strings.Repeat(`data: {"choices":[{"delta":{"reasoning":"`+big+`"}}]}`+"\n\n", 3),
		"arguments": strings.Repeat(`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"n","arguments":"{`+big+`"}}]}}]}`+"\n\n", 3),
		"one line":  "data: {\"choices\":[{\"delta\":{\"content\":\"" + strings.Repeat("x", 100_000),
		"extra":     strings.Repeat(`data: {"choices":[{"delta":{"content":"a","thinking_blocks":["`+big+`"]}}]}`+"\n\n", 3),
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body+okBody) }))
			t.Cleanup(server.Close)
			got := collect(t, client(t, openai.Config{Config: wire.Config{BaseURL: server.URL, MaxReplyBytes: 1000}}), ask("x"))
			require.Equal(t, llm.ErrReplyTooLarge, llm.KindOf(got.err), "%v", got.err)
			require.ErrorContains(t, got.err, "1000 bytes")
		})
	}
	for n, tooMany := range map[int]bool{openai.MaxToolCalls: false, openai.MaxToolCalls + 1: true} {
		var body strings.Builder
		for i := range n {
			fmt.Fprintf(&body, `data: {"choices":[{"delta":{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"n","arguments":"{\"i\":%d}"}}]}}]}`+"\n\n", i, i, i)
		}
		body.WriteString(okBody)
		got := collect(t, serve(t, http.StatusOK, "text/event-stream", []byte(body.String())), ask("x"))
		require.Equal(t, tooMany, llm.KindOf(got.err) == llm.ErrReplyTooLarge, "%d calls: %v", n, got.err)
	}
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	got := collect(t, client(t, openai.Config{Config: wire.Config{BaseURL: server.URL}}), ask("x"))
	require.Equal(t, llm.ErrUnreachable, llm.KindOf(got.err))
	require.ErrorContains(t, got.err, "cannot reach "+strings.TrimPrefix(server.URL, "http://"))

	server = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(server.Close)
	got = collect(t, client(t, openai.Config{Config: wire.Config{BaseURL: server.URL}}), ask("x"))
	require.Equal(t, llm.ErrBrokenStream, llm.KindOf(got.err), "%v", got.err)
}

func TestAConnectionIsUsedAgain(t *testing.T) {
	var mu sync.Mutex
	from := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		from[r.RemoteAddr]++
		mu.Unlock()
		_, _ = io.WriteString(w, okBody)
	}))
	t.Cleanup(server.Close)
	c := client(t, openai.Config{Config: wire.Config{BaseURL: server.URL}})
	for range 20 {
		require.NoError(t, collect(t, c, ask("x")).err)
	}
	require.Len(t, from, 1)
}

func TestOnesOwnCertificateAuthority(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, okBody) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // the refused handshake
	server.StartTLS()
	t.Cleanup(server.Close)
	got := collect(t, client(t, openai.Config{Config: wire.Config{BaseURL: server.URL}}), ask("x"))
	var e *llm.Error
	require.True(t, errors.As(got.err, &e))
	require.Equal(t, llm.ErrUnreachable, e.Kind)
	require.False(t, e.Retryable())
	require.ErrorContains(t, got.err, "SSL_CERT_FILE")

	pool := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	require.NoError(t, collect(t, client(t, openai.Config{Config: wire.Config{BaseURL: server.URL, RootCAs: pool}}), ask("x")).err)
}

// A document of brackets alone must not exhaust the stack, wherever it comes.
func TestNestingIsBounded(t *testing.T) {
	deep := strings.Repeat("[", 8<<20)
	_, err := serve(t, http.StatusOK, "application/json", []byte(`{"data":`+deep)).Models(t.Context())
	require.Error(t, err)
	req := ask("x")
	req.Messages = append(req.Messages, events.Message{Role: events.RoleAssistant, Content: "c", Extra: []byte(`{"a":` + deep), ToolCalls: calls(tool("a", "n", `{"a":`+deep))})
	require.True(t, json.Valid(openai.EncodeForTest(&req)))
}

func TestModels(t *testing.T) {
	models, err := serve(t, http.StatusOK, "application/json", []byte(`{"object":"list","data":[{"id":"a","created":1.5},{"id":"b"}]}`)).Models(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, models)
	_, err = serve(t, http.StatusUnauthorized, "application/json", []byte(`{"detail":"no"}`)).Models(t.Context())
	require.Equal(t, llm.ErrAuthentication, llm.KindOf(err))
	_, err = serve(t, http.StatusOK, "text/html", []byte(`<html>`)).Models(t.Context())
	require.Equal(t, llm.ErrServer, llm.KindOf(err))
}

// No stream makes the reader panic or hang, and one that it takes for whole has an
// end that says so.
func FuzzStream(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "wire", "*"))
	require.NoError(f, err)
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, contentType := range []string{"text/event-stream", "application/json"} {
			c := openai.NewForTest(openai.Config{Config: wire.Config{MaxReplyBytes: 1 << 16}}, contentType, body)
			got := collect(t, c, ask("x"))
			if got.err != nil {
				require.NotEmpty(t, llm.KindOf(got.err))
				continue
			}
			_, err := json.Marshal(got.done)
			require.NoError(t, err, "the reply can be stored")
			for _, call := range got.done.Reply.ToolCalls {
				require.NotEmpty(t, call.ID)
			}
			// What came can be sent back.
			req := ask("x")
			req.Messages = append(req.Messages, got.done.Reply.Message())
			require.True(t, json.Valid(openai.EncodeForTest(&req)))
		}
	})
}

// What a hostile endpoint sends costs no more time than its size.
func TestHostileStreamsEndSoon(t *testing.T) {
	const size = 2 << 20
	fill := func(piece string) string { return strings.Repeat(piece, size/len(piece)) }
	var keys strings.Builder
	for i := range size / 12 {
		fmt.Fprintf(&keys, `"k%d":1,`, i)
	}
	for name, body := range map[string]string{
		"calls in one delta":     `data: {"choices":[{"delta":{"tool_calls":[` + fill(`{"id":"a","function":{"name":"n"}},`) + `{}]}}]}`,
		"objects in one text":    `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"n","arguments":"` + fill(`{}{\"a\":1}`) + `"}}]}}]}`,
		"unknown fields":         `data: {"choices":[{"delta":{` + keys.String() + `"x":1}}]}`,
		"data lines":             "data: {" + fill("\ndata: 1"),
		"growing unknown arrays": fill(`data: {"choices":[{"delta":{"y":[1]}}]}` + "\n\n"),
		"comments":               fill(": \n"),
		"white space":            fill(" \n"),
		"nested":                 `data: {"choices":` + strings.Repeat("[", 20<<20),
		"tags":                   `data: {"choices":[{"delta":{"content":"` + fill("<think><") + `"}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			collect(t, openai.NewForTest(openai.Config{}, "text/event-stream", []byte(body+"\n\n"+okBody)), ask("x"))
			require.Less(t, time.Since(start), 30*time.Second)
		})
	}
}
