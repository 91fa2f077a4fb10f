package messages_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"go.uber.org/goleak"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/messages"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/llm/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sse writes events as the API does.
func sse(documents ...string) []byte {
	var b strings.Builder
	for _, d := range documents {
		b.WriteString("event: " + gjson.Get(d, "type").Str + "\ndata: " + d + "\n\n")
	}
	return []byte(b.String())
}

const (
	start = `{"type":"message_start","message":{"type":"message","model":"claude-m-1","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":4,"cache_creation_input_tokens":3,"cache_creation":{"ephemeral_5m_input_tokens":1,"ephemeral_1h_input_tokens":2},"output_tokens":1}}}`
	ended = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}`
	stop  = `{"type":"message_stop"}`
	ping  = `{"type":"ping"}`
)

func read(t testing.TB, body []byte) wiretest.Result {
	t.Helper()
	return wiretest.Collect(t, client(t, wiretest.Serve(t, 200, http.Header{"Content-Type": {"text/event-stream"}}, body)), ask("hi"))
}

// endpoint keeps what it was asked and answers with what answer gives.
type endpoint struct {
	*messages.Client
	mu     sync.Mutex
	bodies []string
	header http.Header
}

func serve(t testing.TB, answer func(body string) (status int, reply []byte)) *endpoint {
	e := &endpoint{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.mu.Lock()
		e.bodies, e.header = append(e.bodies, string(body)), r.Header
		e.mu.Unlock()
		status, reply := answer(string(body))
		w.WriteHeader(status)
		_, _ = w.Write(reply)
	}))
	t.Cleanup(server.Close)
	e.Client = client(t, server.URL)
	return e
}

func ok(string) (int, []byte) { return 200, sse(start, ended, stop) }

func thoughtful(parts string) json.RawMessage {
	return llm.KeptFrom(events.APIMessages, "test", "claude-m").With(json.RawMessage(parts))
}

const signed = `{"type":"thinking","thinking":"hm","signature":"SIG"}`

// Facts 18 to 20 and 24: the key has a header of its own, max_tokens is there, results
// open the very next user message, in one message, and nothing stands behind calls;
// thinking goes back in its place.
func TestFacts18To20And24Request(t *testing.T) {
	e := serve(t, ok)
	zero := 0.0
	got := wiretest.Collect(t, e, llm.Request{
		Model: "claude-sonnet-4-5", Temperature: &zero, ToolChoice: llm.ToolChoiceNone,
		Tools: []llm.Tool{{Name: "one", Description: "does <one>", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "bare"}},
		Messages: []events.Message{
			{Role: events.RoleSystem, Content: "be"},
			{Role: events.RoleUser, Content: "u"},
			{Role: events.RoleAssistant, Content: "\n\nI look.", Extra: llm.KeptFrom(events.APIMessages, "test", "claude-opus-4").With(
				json.RawMessage(`[{"text":{"from":0,"to":2}},{"block":` + signed + `},{"call":0},{"text":{"from":2,"to":9}},{"call":1}]`)),
				ToolCalls: []events.ToolCall{tool("a", "one", `{"x":1}`), tool("fn.b:1", "bare", "")}},
			{Role: events.RoleTool, ToolCallID: "fn.b:1", Content: "second"},
			{Role: events.RoleUser, Content: "  "},
			{Role: events.RoleUser, Content: "and?"},
			{Role: events.RoleAssistant, Content: "  "},
			{Role: events.RoleUser, Content: "more"},
		},
	})
	require.NoError(t, got.Err)
	require.Equal(t, "sk-secret-of-the-test", e.header.Get("X-Api-Key"))
	require.Equal(t, "2023-06-01", e.header.Get("Anthropic-Version"))
	require.Empty(t, e.header.Get("Authorization"))
	short := gjson.Get(e.bodies[0], "messages.1.content.3.id").Str
	require.Regexp(t, `^[a-zA-Z0-9_-]+$`, short)
	require.JSONEq(t, `{
		"model":"claude-sonnet-4-5","max_tokens":32000,"stream":true,"temperature":0,"tool_choice":{"type":"none"},
		"tools":[{"name":"one","description":"does <one>","input_schema":{"type":"object"}},
			{"name":"bare","input_schema":{"type":"object","properties":{}},"cache_control":{"type":"ephemeral"}}],
		"system":[{"type":"text","text":"be","cache_control":{"type":"ephemeral"}}],
		"messages":[
			{"role":"user","content":[{"type":"text","text":"u","cache_control":{"type":"ephemeral"}}]},
			{"role":"assistant","content":[`+signed+`,{"type":"text","text":"I look."},
				{"type":"tool_use","id":"a","name":"one","input":{"x":1}},{"type":"tool_use","id":"`+short+`","name":"bare","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"`+short+`","content":"second"},
				{"type":"tool_result","tool_use_id":"a","content":"(no result: the call was not run)","is_error":true},
				{"type":"text","text":"and?"},{"type":"text","text":"more","cache_control":{"type":"ephemeral"}}]}]}`, e.bodies[0])
}

// Fact 21: thinking has a budget up to generation 4.5 and an effort from 4.6 on;
// newer models take no temperature; a turn whose calls another model made is thought
// about no further until it ends.
func TestFact21Thinking(t *testing.T) {
	half := 0.5
	calls := []events.ToolCall{tool("a", "one", `{}`)}
	answered := events.Message{Role: events.RoleTool, ToolCallID: "a", Content: "x"}
	for _, c := range []struct {
		model, effort string
		history       []events.Message
		thinking      string
		effortSent    string
		temperature   bool
	}{
		{"claude-sonnet-4-5", "", nil, "", "", true},
		{"claude-sonnet-4-5-20250929", "high", nil, `{"type":"enabled","budget_tokens":16000}`, "", false},
		{"claude-sonnet-4-5", "low", nil, `{"type":"enabled","budget_tokens":2048}`, "", false},
		{"claude-sonnet-4-5", "none", nil, "", "", true},
		{"claude-3-5-haiku-20241022", "low", nil, "", "", true},
		{"claude-opus-4-6", "medium", nil, `{"type":"adaptive"}`, "medium", false},
		{"claude-opus-4-6", "", nil, "", "", true},
		{"claude-opus-4-7", "", nil, "", "", false},
		{"claude-opus-4-7", "none", nil, "", "", false},
		{"claude-opus-5", "none", nil, `{"type":"disabled"}`, "", false},
		{"claude-sonnet-5-5", "none", nil, `{"type":"between_tools"}`, "", false},
		{"claude-sonnet-5", "", nil, "", "", false},
		{"anthropic/claude-fable-5", "max", nil, `{"type":"adaptive"}`, "max", false},
		{"claude-sonnet-4-5", "low", []events.Message{{Role: events.RoleAssistant, ToolCalls: calls}, answered}, "", "", true},
		{"claude-sonnet-4-5", "low", []events.Message{{Role: events.RoleAssistant, ToolCalls: calls}, answered, {Role: events.RoleUser, Content: "next"}}, `{"type":"enabled","budget_tokens":2048}`, "", false},
		{"claude-sonnet-4-5", "low", []events.Message{{Role: events.RoleAssistant, ToolCalls: calls, Extra: thoughtful(`[{"block":` + signed + `},{"call":0}]`)}, answered}, `{"type":"enabled","budget_tokens":2048}`, "", false},
	} {
		e := serve(t, ok)
		req := ask("hi")
		req.Model, req.Effort, req.Temperature = c.model, c.effort, &half
		req.Messages = append(req.Messages, c.history...)
		require.NoError(t, wiretest.Collect(t, e, req).Err)
		require.Equal(t, c.thinking, gjson.Get(e.bodies[0], "thinking").Raw, "%s %s", c.model, c.effort)
		require.Equal(t, c.effortSent, gjson.Get(e.bodies[0], "output_config.effort").Str)
		require.Equal(t, c.temperature, gjson.Get(e.bodies[0], "temperature").Exists(), c.model)
	}
}

// Fact 22: at most four marks of the cache, on tools, system text and the two newest
// user messages, which is where the request before ended however many blocks lie
// between.
func TestFact22Cache(t *testing.T) {
	e := serve(t, ok)
	req := ask("u")
	req.Tools = []llm.Tool{{Name: "one"}}
	req.Messages = append([]events.Message{{Role: events.RoleSystem, Content: "be"}}, req.Messages...)
	for turn := range 4 {
		require.NoError(t, wiretest.Collect(t, e, req).Err)
		body := e.bodies[turn]
		require.LessOrEqual(t, strings.Count(body, `"cache_control"`), 4)
		content := gjson.Get(body, "messages").Array()
		require.True(t, content[len(content)-1].Get("content.@reverse.0.cache_control").Exists())
		if turn > 0 {
			require.True(t, content[len(content)-3].Get("content.@reverse.0.cache_control").Exists())
		}
		m := events.Message{Role: events.RoleAssistant}
		for i := range 30 {
			m.ToolCalls = append(m.ToolCalls, tool("c"+string(rune('a'+turn))+string(rune('A'+i)), "one", "{}"))
		}
		req.Messages = append(req.Messages, m)
	}
}

// Fact 23: a call is whole at its block's stop and not before; one without fragments
// has no arguments; pings may be anywhere.
func TestFact23Calls(t *testing.T) {
	documents := []string{start, ping,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I look."}}`, ping, `{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c1","name":"one","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\""}}`, ping,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":":1}"}}`, `{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c2","name":"two","input":{}}}`, `{"type":"content_block_stop","index":2}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}`, stop}
	got := read(t, sse(documents...))
	require.NoError(t, got.Err)
	require.Equal(t, []events.ToolCall{tool("c1", "one", `{"a":1}`), tool("c2", "two", `{}`)}, got.Calls)
	require.Equal(t, `{"a":1}`, got.Fragments[0])
	require.Equal(t, events.FinishToolCalls, got.Done.Reply.FinishReason)
	require.Equal(t, "claude-m-1", got.Done.Model)
	require.Empty(t, got.Done.Reply.Extra, "text and then calls is what the reply says already")
	for i := range documents {
		cut := read(t, sse(documents[:i]...))
		stops := strings.Count(strings.Join(documents[:i], ""), "content_block_stop")
		require.Len(t, cut.Calls, max(0, stops-1), "a call is announced when it is whole, at once")
		if i < len(documents)-1 {
			require.Equal(t, llm.ErrBrokenStream, llm.KindOf(cut.Err))
		}
	}
}

// Fact 24: thinking is kept in its place, without signature not at all; unknown blocks
// are kept as they are; a turn that is cut after a call keeps what came before it.
func TestFact24Kept(t *testing.T) {
	thinking := []string{start,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm \"so\""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"SIG"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"DATA"}}`, `{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"novelty","x":{"y":1}}}`, `{"type":"content_block_stop","index":2}`}
	call := []string{`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"c1","name":"one","input":{}}}`, `{"type":"content_block_stop","index":3}`}
	const want = `{"api":"messages","provider":"test","family":"claude","parts":[{"block":{"type":"thinking","thinking":"hm \"so\"","signature":"SIG"}},` +
		`{"block":{"type":"redacted_thinking","data":"DATA"}},{"block":{"type":"novelty","x":{"y":1}}},{"call":0}]}`
	whole := read(t, sse(append(append(thinking, call...), ended, stop)...))
	require.NoError(t, whole.Err)
	require.Equal(t, want, string(whole.Done.Reply.Extra))
	require.Equal(t, `hm "so"`, whole.Reasoning)
	cut := read(t, sse(append(thinking, call...)...))
	require.Equal(t, llm.ErrBrokenStream, llm.KindOf(cut.Err))
	require.Equal(t, []string{want}, cut.Early)

	bare := read(t, sse(start, thinking[1], thinking[2], thinking[4], ended, stop))
	require.NoError(t, bare.Err)
	require.Empty(t, bare.Done.Reply.Extra)
}

// Fact 24: what another provider has kept is left out, what is refused is stripped,
// once, and the reply says so.
func TestFact24OtherProviders(t *testing.T) {
	e := serve(t, func(body string) (int, []byte) {
		if strings.Contains(body, "SIG") {
			return 400, []byte(`{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid ` + "`signature` in `thinking`" + ` block"}}`)
		}
		return ok(body)
	})
	parts := json.RawMessage(`[{"block":` + signed + `},{"text":{"from":0,"to":4}}]`)
	for _, c := range []struct {
		kept    llm.Kept
		dropped bool
	}{
		{llm.KeptFrom(events.APIMessages, "other", "claude-m"), false},
		{llm.KeptFrom(events.APIMessages, "test", "gpt-5"), false},
		{llm.KeptFrom(events.APIMessages, "test", "claude-other"), true},
	} {
		req := ask("hi")
		req.Messages = append(req.Messages, events.Message{Role: events.RoleAssistant, Content: "said", Extra: c.kept.With(parts)}, events.Message{Role: events.RoleUser, Content: "and?"})
		got := wiretest.Collect(t, e, req)
		require.NoError(t, got.Err)
		require.Equal(t, c.dropped, got.Done.KeptDropped)
		require.Equal(t, `[{"type":"text","text":"said"}]`, gjson.Get(e.bodies[len(e.bodies)-1], "messages.1.content").Raw)
	}
}

// Fact 25: why a reply stopped.
func TestFact25Stops(t *testing.T) {
	for reason, want := range map[string]events.FinishReason{
		"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "max_tokens": "length", "model_context_window_exceeded": "length",
		"pause_turn": "pause_turn", "novelty": "novelty",
	} {
		got := read(t, sse(start, strings.ReplaceAll(ended, "end_turn", reason), stop))
		require.NoError(t, got.Err)
		require.Equal(t, want, got.Done.Reply.FinishReason)
	}
	got := read(t, sse(start, `{"type":"message_delta","delta":{"stop_reason":"refusal"},"usage":{"output_tokens":7}}`, stop))
	var e *llm.Error
	require.True(t, errors.As(got.Err, &e))
	require.Equal(t, llm.ErrRefused, e.Kind)
	require.False(t, e.Retryable())
	require.EqualValues(t, 7, e.Usage.OutputTokens, "it is paid")

	// A paused turn is sent back as it is.
	paused := serve(t, ok)
	req := ask("hi")
	req.Messages = append(req.Messages, events.Message{Role: events.RoleAssistant, Extra: thoughtful(`[{"block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}]`)})
	require.NoError(t, wiretest.Collect(t, paused, req).Err)
	require.Equal(t, `{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}}]}`, gjson.Get(paused.bodies[0], "messages.1").Raw)
}

// Fact 26: what was read from the cache and written to it is added to the input; the
// numbers of the end win.
func TestFact26Usage(t *testing.T) {
	got := read(t, sse(start, ended, stop))
	require.Equal(t, events.Usage{InputTokens: 17, CachedInputTokens: 4, CacheWriteInputTokens: 3, CacheWrite1hInputTokens: 2, OutputTokens: 7}, got.Done.Usage)
	got = read(t, sse(start, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":20,"output_tokens":7,"output_tokens_details":{"thinking_tokens":5}}}`, stop))
	require.EqualValues(t, 27, got.Done.Usage.InputTokens)
	require.EqualValues(t, 5, got.Done.Usage.ReasoningTokens)
	got = read(t, sse(`{"type":"message_start","message":{"usage":{"input_tokens":1,"service_tier":"priority"}}}`, ended, stop))
	require.Equal(t, "priority", got.Done.Tier)
	got = read(t, sse(`{"type":"message_start","message":{}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, stop))
	require.True(t, got.Done.Usage.Estimated)
}

// Facts 27 and 28: errors inside a 200, with and without event:; which are tried again,
// and when.
func TestFacts27And28Errors(t *testing.T) {
	document := `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
	for _, body := range []string{string(sse(start, document)), "data: " + document + "\n\n", string(sse(start)) + "data: " + document} {
		var e *llm.Error
		require.True(t, errors.As(read(t, []byte(body)).Err, &e))
		require.Equal(t, llm.ErrServer, e.Kind)
		require.True(t, e.Retryable())
	}
	reset := time.Now().Add(20 * time.Second).UTC().Format(time.RFC3339)
	for _, c := range []struct {
		status        int
		kind, message string
		header        http.Header
		want          llm.ErrorKind
		retried       bool
	}{
		{429, "rate_limit_error", "slow", nil, llm.ErrRateLimited, true},
		{429, "rate_limit_error", "slow", http.Header{"X-Should-Retry": {"false"}}, llm.ErrRateLimited, false},
		{429, "rate_limit_error", "Extra usage is required for long context requests.", nil, llm.ErrQuota, false},
		{429, "rate_limit_error", "slow", http.Header{"Anthropic-Ratelimit-Input-Tokens-Remaining": {"0"}, "Anthropic-Ratelimit-Input-Tokens-Reset": {reset}}, llm.ErrRateLimited, true},
		{408, "timeout_error", "late", nil, llm.ErrRateLimited, true},
		{409, "conflict_error", "busy", nil, llm.ErrRateLimited, true},
		{503, "api_error", "tripped", http.Header{"X-Should-Retry": {"true"}}, llm.ErrServer, true},
		{400, "invalid_request_error", "busy", http.Header{"X-Should-Retry": {"true"}}, llm.ErrServer, true},
		{401, "authentication_error", "busy", http.Header{"X-Should-Retry": {"true"}}, llm.ErrServer, true},
		{429, "rate_limit_error", "slow", http.Header{"X-Should-Retry": {"true"}}, llm.ErrRateLimited, true},
		{429, "rate_limit_error", "Extra usage is required for long context requests.", http.Header{"X-Should-Retry": {"true"}}, llm.ErrQuota, false},
		{413, "request_too_large", "too much", http.Header{"X-Should-Retry": {"true"}}, llm.ErrContextLength, false},
		{503, "api_error", "tripped", http.Header{"X-Should-Retry": {"false"}}, llm.ErrServer, false},
		{500, "api_error", "tripped", nil, llm.ErrServer, true},
		{529, "overloaded_error", "Overloaded", nil, llm.ErrServer, true},
		{501, "", "Unsupported method", nil, llm.ErrUnreachable, false},
		{401, "authentication_error", "invalid x-api-key", nil, llm.ErrAuthentication, false},
		{404, "not_found_error", "model: claude-nope", nil, llm.ErrModelNotFound, false},
		{413, "request_too_large", "Request exceeds the maximum size", nil, llm.ErrContextLength, false},
	} {
		body := `{"type":"error","error":{"type":"` + c.kind + `","message":"` + c.message + `"}}`
		if c.kind == "" { // a server of files
			body = "<html><body><h1>Error response</h1><p>" + c.message + "</p></body></html>"
		}
		got := wiretest.Collect(t, client(t, wiretest.Serve(t, c.status, c.header, []byte(body))), ask("hi"))
		var e *llm.Error
		require.True(t, errors.As(got.Err, &e))
		require.Equal(t, c.want, e.Kind, body)
		require.Equal(t, c.retried, e.Retryable(), body)
		if c.header.Get("Anthropic-Ratelimit-Input-Tokens-Reset") != "" {
			require.InDelta(t, 20, e.RetryAfter.Seconds(), 15)
		}
	}
}

// An endpoint that ignores "stream" answers with one document.
func TestWholeAnswer(t *testing.T) {
	got := read(t, []byte(`{"type":"message","model":"m2","content":[{"type":"text","text":"Whole."},{"type":"tool_use","id":"c","name":"one","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":4,"output_tokens":2}}`))
	require.NoError(t, got.Err)
	require.Equal(t, "Whole.", got.Text)
	require.Equal(t, []events.ToolCall{tool("c", "one", `{"a":1}`)}, got.Calls)
	require.Equal(t, events.Usage{InputTokens: 4, OutputTokens: 2}, got.Done.Usage)
}

// Whatever an endpoint sends, a stream ends once, its calls are in order, and what is
// sent next is JSON.
func FuzzStream(f *testing.F) {
	f.Add(sse(start, ended, stop), 3)
	f.Add(sse(start, `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c","name":"n"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}`, `{"type":"content_block_stop","index":1}`, ended, stop), 9)
	f.Add(sse(start, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","signature":"s","thinking":"t"}}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"q\":1}"}}`, ended), 2)
	f.Add([]byte("event: error\ndata: {\"type\":\"error\",\"message\":\"m\"}\n\n"), 1)
	f.Fuzz(func(t *testing.T, body []byte, cut int) {
		c := messages.New(messages.Config{Config: wire.Config{Provider: "fuzz", BaseURL: "http://127.0.0.1:1/v1", MaxReplyBytes: 1 << 16}})
		c.SetTransport(fixed{body, cut})
		got := wiretest.Collect(t, c, ask("hi"))
		if got.Done != nil {
			next := ask("hi")
			next.Messages = append(next.Messages, got.Done.Reply.Message())
			c.SetTransport(echo{t})
			wiretest.Collect(t, c, next)
		}
	})
}

// fixed answers from memory, in pieces of cut bytes.
type fixed struct {
	body []byte
	cut  int
}

func (f fixed) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = r.Body.Close()
	header := http.Header{"Content-Type": {"text/event-stream"}}
	if f.cut%2 == 0 {
		header.Set("Content-Type", "application/json")
	}
	return &http.Response{StatusCode: 200, Header: header, Body: io.NopCloser(&pieces{f.body, max(f.cut%16, 1)})}, nil
}

type pieces struct {
	left []byte
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(p.n, len(b))], p.left)
	p.left = p.left[n:]
	return n, nil
}

// echo checks that what is sent is JSON.
type echo struct{ t testing.TB }

func (e echo) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	require.True(e.t, gjson.ValidBytes(body), "%s", body)
	return fixed{body: sse(start, ended, stop), cut: 7}.RoundTrip(r)
}
