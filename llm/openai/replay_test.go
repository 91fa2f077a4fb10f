package openai_test

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
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
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
	return client(t, openai.Config{Config: wire.Config{Provider: "test", BaseURL: server.URL + "/v1", APIKey: "sk-secret-of-the-test"}})
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
	text, reasoning string // a part of them
	calls           []events.ToolCall
	finish          events.FinishReason
	input, output   int64 // 0: none recorded
	kind            llm.ErrorKind
	message         string // a part of the error's message
}

var recordedShapes = map[string]recorded{
	"anthropic_compat_index1.sse":            {text: "Reading it.", calls: calls(tool("toolu_sanitized", "read_file", `{"path": "a.txt"}`)), finish: "tool_calls"},
	"azure_foundry_grok_stream.sse":          {calls: calls(tool("call_39096608", "best_language_to_learn", "{}")), finish: "tool_calls", input: 205, output: 18},
	"azure_gpt5_stream.sse":                  {calls: calls(tool("call_DA9IQQ5D4VQYL6AOoVPUb3Kg", "weather", `{"location":"Florence, Italy"}`)), finish: "tool_calls", input: 145, output: 90},
	"azure_http429.json":                     {kind: llm.ErrRateLimited, message: "exceeded rate limit"},
	"crusoe_vllm_toolcall.json":              {reasoning: "call the get_weather", calls: calls(tool("chatcmpl-tool-bbb91941bf76335c", "get_weather", `{"city": "Paris"}`)), finish: "tool_calls", input: 167, output: 37},
	"dashscope_qwen_tool.sse":                {calls: calls(tool("call_eee11723464a4b9eb8cee71d", "weather", `{"location": "San Francisco"}`)), finish: "tool_calls", input: 295, output: 22},
	"deepseek_http400_context.json":          {kind: llm.ErrContextLength, message: "maximum context length is 1048565"},
	"deepseek_tool_reasoning.sse":            {reasoning: "Let me invoke", calls: calls(tool("call_00_ioIn7yN9p1ZOMNpDLwd4MgAF", "weather", `{"location": "San Francisco"}`)), finish: "tool_calls", input: 339, output: 83},
	"gemini_compat_whole_call.sse":           {calls: calls(tool("function-call-11628457821388745023", "Read", `{"file_path":"/tmp/a.go"}`)), finish: "tool_calls", input: 108, output: 86},
	"gpustack_no_done.sse":                   {text: "1, 2, 3.", reasoning: "count from 1 to 3", finish: "stop", input: 15, output: 171},
	"groq_error_event_in_stream.sse":         {kind: llm.ErrServer, message: "Tool call validation failed"},
	"groq_http400_tool_use_failed.json":      {kind: llm.ErrServer, message: "model did not call a tool"},
	"llamacpp_tool_stream.sse":               {reasoning: "User wants weather", calls: calls(tool("g2KOIWzn722hzEaZQmNVP4roUPEiYafL", "weather", `{"location":"Florence, Italy"}`)), finish: "tool_calls", input: 139, output: 41},
	"mistral_http401_detail.json":            {kind: llm.ErrAuthentication, message: "Invalid API Key"},
	"mistral_magistral_content_array.sse":    {text: "ensure a safe crossing.", reasoning: "how to cross the street", finish: "stop", input: 10, output: 232},
	"mistral_tool_and_finish_same_chunk.sse": {calls: calls(tool("g6fVbXS8K", "weather", `{"latitude": "52.5200", "longitude": "13.4050"}`)), finish: "tool_calls", input: 159, output: 28},
	"ollama_qwen3_tool_stream.sse":           {reasoning: "best_language_to_learn", calls: calls(tool("call_y0i1h5bo", "best_language_to_learn", "{}")), finish: "tool_calls", input: 139, output: 192},
	"openai_http400_param.json":              {kind: llm.ErrBadRequest, message: "does not support 'system'"},
	"openai_moderation_stream.sse":           {text: "Paris.", finish: "stop", input: 13, output: 11},
	"openai_parallel_stream.sse":             {calls: calls(tool("call_q2UyBRP7eXNTzAoR8lEhjc9Z", "get_country", "{}"), tool("call_b51ijcpFkDiTQG1bQzsrmtW5", "get_product_name", "{}")), finish: "tool_calls", input: 364, output: 40},
	"openrouter_args_absent.json":            {text: "I'll search", calls: calls(tool("toolu_vrtx_015QAXScZzRDPttiPoc34AdD", "find_education_content", "{}")), finish: "tool_calls", input: 568, output: 48},
	"openrouter_error_field_in_chunk.sse":    {kind: llm.ErrServer, message: "Token limit reached"},
	"openrouter_http429.json":                {kind: llm.ErrRateLimited, message: "temporarily rate-limited upstream"},
	"groq_parallel_stream.sse": {text: "I'll perform both", finish: "tool_calls", input: 201, output: 58,
		calls: calls(tool("functions.add:0", "add", `{"a":2,"b":3}`), tool("functions.multiply:1", "multiply", `{"a":2,"b":3}`))},
	"openrouter_claude_parallel.sse": {finish: "tool_calls", input: 685, output: 120, calls: calls(
		tool("toolu_bdrk_01FS6PPeAPQTDNqXK3a3eRHr", "add", `{"a": 2, "b": 3}`), tool("toolu_bdrk_01YRxwgSi9gzNNtQ9Bz5AX6u", "multiply", `{"a": 2, "b": 3}`))},
	"openrouter_gemini_parallel.sse": {finish: "tool_calls", input: 157, output: 32, calls: calls(
		tool("tool_add_kZJN6iFNozVOBiXBMA2Y", "add", `{"a":2,"b":3}`), tool("tool_multiply_7Pq02EcannPbKks8kXlA", "multiply", `{"a":2,"b":3}`))},
	"xai_parallel_stream.sse": {reasoning: "Always use both", finish: "tool_calls", input: 466, output: 334, calls: calls(
		tool("*", "add", `{"a":2,"b":3}`), tool("*", "multiply", `{"a":2,"b":3}`))},
	"gemini_compat_parallel_noindex.sse": {finish: "tool_calls", calls: calls(tool("function-call-1", "delegate_research", `{"question":"first"}`),
		tool("function-call-2", "delegate_code", `{"goal":"second"}`), tool("function-call-3", "delegate_research", `{"question":"third"}`))},
	"gemini38_thought_signature.sse": {finish: "stop", calls: calls(events.ToolCall{ID: "call_297140", Name: "read",
		Arguments: `{"offset":1,"limit":100,"path":"/app/skills/SKILL.md"}`, Extra: []byte(back(`{"extra_content":{"google":{"thought_signature":"SIG"}}}`))})},
}

func (want recorded) check(t *testing.T, got result) {
	if want.kind != "" {
		require.Equal(t, want.kind, llm.KindOf(got.err))
		require.ErrorContains(t, got.err, want.message)
		return
	}
	require.NoError(t, got.err)
	require.Contains(t, got.text, want.text)
	require.Contains(t, got.reasoning, want.reasoning)
	require.Equal(t, want.finish, got.done.Reply.FinishReason)
	require.Len(t, got.calls, len(want.calls))
	for i, call := range got.calls {
		if want.calls[i].ID == "*" {
			call.ID = "*"
		}
		require.Equal(t, want.calls[i], call)
	}
	usage := got.done.Usage
	require.Equal(t, want.input == 0, usage.Estimated)
	if want.input > 0 {
		require.Equal(t, want.input, usage.InputTokens)
		require.Equal(t, want.output, usage.OutputTokens)
	}
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
			got := collect(t, serve(t, status, contentType, body), ask("hi"))
			want, known := recordedShapes[file.Name()]
			if !known {
				t.Logf("a recording that this test does not know: %v %v", got.done, got.err)
				return
			}
			want.check(t, got)
		})
	}
}
