package responses_test

import (
	"context"
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
	"github.com/convene-run/convene/llm/responses"
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
	created   = `{"type":"response.created","response":{"model":"gpt-m-1","output":[]}}`
	completed = `{"type":"response.completed","response":{"status":"completed","model":"gpt-m-1","output":[],"usage":{"input_tokens":40,"input_tokens_details":{"cached_tokens":8},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":3}}}}`
	reasoned  = `{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"status":"completed","encrypted_content":"BLOB"}}`
)

func read(t testing.TB, body []byte, cuts ...int) wiretest.Result {
	t.Helper()
	return wiretest.Collect(t, client(t, wiretest.Serve(t, 200, http.Header{"Content-Type": {"text/event-stream"}}, body, cuts...)), ask("hi"))
}

// endpoint keeps what it was asked and answers with what answer gives.
type endpoint struct {
	*responses.Client
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
	e.Client = responses.New(responses.Config{Config: wire.Config{Provider: "test", BaseURL: server.URL + "/v1", APIKey: "sk-secret-of-the-test"}})
	t.Cleanup(e.Close)
	return e
}

func ok(string) (int, []byte) { return 200, sse(created, completed) }

// Facts 1 to 4 and 10: the request is stateless, its tools are flat and not strict, the
// system text stands in instructions, calls and results are items paired by call_id,
// and what was kept goes back unchanged and in order.
func TestFacts1To4And10Request(t *testing.T) {
	e := serve(t, ok)
	zero := 0.0
	kept := llm.KeptFrom(events.APIResponses, "test", "gpt-m").With(json.RawMessage(
		`[{"item":{"type":"reasoning","summary":[],"encrypted_content":"BLOB"}},{"text":{"from":0,"to":8},"phase":"commentary"},{"call":0},{"call":1}]`))
	got := wiretest.Collect(t, e, llm.Request{
		Model: "gpt-m", Temperature: &zero, MaxOutputTokens: 5, ToolChoice: llm.ToolChoiceNone, Effort: "high",
		Tools: []llm.Tool{
			{Name: "one", Description: "does <one>", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)},
			{Name: "two", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`)},
			{Name: "bare"},
		},
		Messages: []events.Message{
			{Role: events.RoleSystem, Content: "be"},
			{Role: events.RoleUser, Content: "שלום \x01"},
			{Role: events.RoleTool, ToolCallID: "orphan", Content: "nobody asked"},
			{Role: events.RoleAssistant, Content: "I look: ", Extra: kept, ToolCalls: []events.ToolCall{tool("a", "one", `{"x":1}`), tool("b", "two", "")}},
			{Role: events.RoleTool, ToolCallID: "b", Content: "second"},
			{Role: events.RoleAssistant, Content: "done"},
			{Role: events.RoleSystem, Content: "mind"},
		},
	})
	require.NoError(t, got.Err)
	require.Equal(t, "Bearer sk-secret-of-the-test", e.header.Get("Authorization"))
	require.JSONEq(t, `{
		"model":"gpt-m","store":false,"include":["reasoning.encrypted_content"],"stream":true,"temperature":0,"max_output_tokens":16,
		"tool_choice":"none","reasoning":{"effort":"high"},"instructions":"be",
		"tools":[{"type":"function","name":"one","description":"does <one>","parameters":{"type":"object","properties":{"a":{"type":"string"}}},"strict":false},
			{"type":"function","name":"two","parameters":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false},"strict":true},
			{"type":"function","name":"bare","parameters":{"type":"object","properties":{}},"strict":false}],
		"input":[
			{"role":"user","content":[{"type":"input_text","text":"שלום \u0001"}]},
			{"type":"reasoning","summary":[],"encrypted_content":"BLOB"},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look: "}],"phase":"commentary"},
			{"type":"function_call","call_id":"a","name":"one","arguments":"{\"x\":1}"},
			{"type":"function_call","call_id":"b","name":"two","arguments":"{}"},
			{"type":"function_call_output","call_id":"b","output":"second"},
			{"type":"function_call_output","call_id":"a","output":"(no result: the call was not run)"},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]},
			{"role":"developer","content":[{"type":"input_text","text":"mind"}]}]}`, e.bodies[0])
}

// Fact 4: fields that a model does not take are left out, and stay out.
func TestFact4RefusedFields(t *testing.T) {
	e := serve(t, func(body string) (int, []byte) {
		for _, field := range []string{"temperature", "reasoning.encrypted_content"} {
			if strings.Contains(body, strings.TrimPrefix(field, "reasoning.")) {
				return 400, []byte(`{"error":{"message":"Unsupported parameter: '` + field + `' is not supported with this model.","type":"invalid_request_error"}}`)
			}
		}
		return ok(body)
	})
	zero := 0.0
	req := ask("hi")
	req.Temperature = &zero
	require.NoError(t, wiretest.Collect(t, e, req).Err)
	require.NoError(t, wiretest.Collect(t, e, req).Err)
	require.Len(t, e.bodies, 4)
}

// Fact 5: a longer history begins with the same bytes.
func TestFact5PrefixCache(t *testing.T) {
	e := serve(t, ok)
	req := ask("u")
	wiretest.Collect(t, e, req)
	req.Messages = append(req.Messages, events.Message{Role: events.RoleAssistant, Content: "a"}, events.Message{Role: events.RoleUser, Content: "b"})
	wiretest.Collect(t, e, req)
	require.True(t, strings.HasPrefix(e.bodies[1], strings.TrimSuffix(e.bodies[0], "]}")))
}

// Fact 5: the cache is steered by a key, which is left out where it is not taken.
func TestFact5CacheKey(t *testing.T) {
	e := serve(t, ok)
	req := ask("hi")
	require.NoError(t, wiretest.Collect(t, e, req).Err)
	require.False(t, gjson.Get(e.bodies[0], "prompt_cache_key").Exists())
	req.CacheKey = "convene-1"
	require.NoError(t, wiretest.Collect(t, e, req).Err)
	require.Equal(t, "convene-1", gjson.Get(e.bodies[1], "prompt_cache_key").Str)

	strict := serve(t, func(body string) (int, []byte) {
		if strings.Contains(body, "prompt_cache_key") {
			return 400, []byte(`{"error":{"message":"Unknown parameter: 'prompt_cache_key'.","type":"invalid_request_error","param":"prompt_cache_key"}}`)
		}
		return ok(body)
	})
	require.NoError(t, wiretest.Collect(t, strict, req).Err)
	require.NoError(t, wiretest.Collect(t, strict, req).Err)
	require.Len(t, strict.bodies, 3, "it is refused once")
}

// Fact 4: efforts are those of the model, and one that thinks takes no temperature. An
// effort that is refused is not left out in silence.
func TestFact4Effort(t *testing.T) {
	half := 0.5
	for level, want := range map[string]string{"none": "none", "max": "xhigh", "": ""} {
		e := serve(t, ok)
		req := ask("hi")
		req.Model, req.Effort, req.Temperature = "gpt-5.4", level, &half
		require.NoError(t, wiretest.Collect(t, e, req).Err)
		require.Equal(t, want, gjson.Get(e.bodies[0], "reasoning.effort").Str)
		require.Equal(t, level != "max", gjson.Get(e.bodies[0], "temperature").Exists())
	}
	e := serve(t, func(string) (int, []byte) {
		return 400, []byte(`{"error":{"message":"Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model. Supported values are: 'none', 'low', 'medium', and 'high'.","type":"invalid_request_error","param":"reasoning.effort","code":"unsupported_value"}}`)
	})
	req := ask("hi")
	req.Effort = "max"
	require.ErrorContains(t, wiretest.Collect(t, e, req).Err, `Supported values are: 'none', 'low', 'medium', and 'high'. (the effort "max" was requested: set another, or leave it out)`)
	require.Len(t, e.bodies, 1)
}

// Fact 5: the reply's tier sets the price.
func TestFact5Tier(t *testing.T) {
	for tier, want := range map[string]string{"default": "", "flex": "flex", "priority": "priority"} {
		got := read(t, sse(`{"type":"response.completed","response":{"status":"completed","service_tier":"`+tier+`"}}`))
		require.NoError(t, got.Err)
		require.Equal(t, want, got.Done.Tier)
		got = read(t, sse(`{"type":"response.created","response":{"service_tier":"`+tier+`"}}`))
		var cut *llm.Error
		require.ErrorAs(t, got.Err, &cut)
		require.Equal(t, want, cut.Tier, "of a reply that broke off")
	}
}

// Fact 6: only the end of the response ends a reply.
func TestFact6End(t *testing.T) {
	text := `{"type":"response.output_text.delta","output_index":0,"delta":"half"}`
	for name, body := range map[string][]byte{
		"cut":  sse(created, text),
		"done": append(sse(created, text), "data: [DONE]\n\n"...),
		"item": sse(created, text, `{"type":"response.output_item.done","output_index":0,"item":{"type":"message"}}`),
	} {
		require.Equal(t, llm.ErrBrokenStream, llm.KindOf(read(t, body).Err), name)
	}
	got := read(t, append(sse(created, text, completed), "data: [DONE]\n\n"...))
	require.NoError(t, got.Err)
	require.Equal(t, "half", got.Text)
	require.Equal(t, "gpt-m-1", got.Done.Model)
}

// Facts 7 and 8: a call is whole at its arguments' end or its item's, whichever comes
// first, and not before; it is known by its output_index whatever its id; deltas may
// be one, many or none, and event: lines may be missing.
func TestFacts7And8Calls(t *testing.T) {
	added := `{"type":"response.output_item.added","output_index":1,"item":{"id":"x1","type":"function_call","call_id":"c1","name":"one","arguments":""}}`
	second := `{"type":"response.output_item.added","output_index":2,"item":{"id":"x2","type":"function_call","call_id":"c2","name":"two","arguments":""}}`
	delta := `{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"other","delta":"{\"a\""}`
	rest := `{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"yet another","delta":":1}"}`
	done := `{"type":"response.function_call_arguments.done","output_index":1,"item_id":"z","arguments":"{\"a\":1}"}`
	secondDone := `{"type":"response.output_item.done","output_index":2,"item":{"id":"y","type":"function_call","call_id":"c2","name":"two","arguments":"{\"b\":2}"}}`
	whole := []events.ToolCall{tool("c1", "one", `{"a":1}`), tool("c2", "two", `{"b":2}`)}
	for name, documents := range map[string][]string{
		"in order":      {created, added, delta, rest, done, second, secondDone, completed},
		"interleaved":   {created, added, second, delta, secondDone, rest, done, completed},
		"without delta": {created, added, done, second, secondDone, completed},
		"at the end":    {created, added, delta, second, secondDone, `{"type":"response.completed","response":{"status":"completed","output":[{},{"type":"function_call","call_id":"c1","name":"one","arguments":"{\"a\":1}"}]}}`},
	} {
		if name == "at the end" {
			documents = documents[:len(documents)-1]
			documents = append(documents, `{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c1","name":"one","arguments":"{\"a\":1}"}}`, completed)
		}
		got := read(t, sse(documents...))
		require.NoError(t, got.Err, name)
		require.Equal(t, whole, got.Calls, name)
		require.Equal(t, events.FinishToolCalls, got.Done.Reply.FinishReason)
		bare := strings.ReplaceAll(string(sse(documents...)), "event: response.", ": response.")
		require.Equal(t, whole, read(t, []byte(bare)).Calls, name)
		for i := range documents {
			prefix := documents[:i]
			calls := read(t, sse(prefix...)).Calls
			for index, of := range []string{`"output_index":1`, `"output_index":2`} {
				ended := false
				for _, d := range prefix {
					ended = ended || strings.Contains(d, of) && (strings.Contains(d, "arguments.done") || strings.Contains(d, "item.done"))
				}
				require.True(t, ended || len(calls) <= index, "%s: call %d was announced before it was whole", name, index)
			}
		}
	}
}

// Fact 7: the id that a provider repeats is made unique.
func TestFact7UniqueIDs(t *testing.T) {
	item := `{"type":"response.output_item.done","output_index":%,"item":{"type":"function_call","call_id":"same","name":"one","arguments":{"a":1}}}`
	got := read(t, sse(created, strings.ReplaceAll(item, "%", "0"), strings.ReplaceAll(item, "%", "1"), completed))
	require.NoError(t, got.Err)
	require.Len(t, got.Calls, 2)
	require.NotEqual(t, got.Calls[0].ID, got.Calls[1].ID)
	require.Equal(t, `{"a":1}`, got.Calls[1].Arguments)
}

// Fact 9: reasoning comes as summary or text, unknown events and items are skipped, and
// the output at the end may be empty or all there is.
func TestFact9Reasoning(t *testing.T) {
	got := read(t, sse(created,
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning"}}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"first"}`,
		`{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":1}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"second"}`,
		`{"type":"response.novelty","output_index":7}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"type":"web_search_call","id":"ws"}}`,
		`{"type":"response.output_text.done","output_index":2,"text":"whole"}`, completed))
	require.NoError(t, got.Err)
	require.Equal(t, "first\n\nsecond", got.Reasoning)
	require.Equal(t, "whole", got.Text)

	got = read(t, sse(`{"type":"response.completed","response":{"status":"completed","output":[{"type":"reasoning","summary":[{"text":"hm"}],"encrypted_content":"B"},{"type":"message","content":[{"type":"output_text","text":"only here"}]}]}}`))
	require.NoError(t, got.Err)
	require.Equal(t, "hm", got.Reasoning)
	require.Equal(t, "only here", got.Text)
	require.True(t, got.Done.Usage.Estimated)
}

// Fact 10: the blob of output_item.done is kept, not that of added, without its id; what
// is only an id is not kept. A turn that is cut after a call keeps what came before it.
func TestFact10Kept(t *testing.T) {
	call := `{"type":"response.output_item.done","output_index":%,"item":{"type":"function_call","call_id":"c%","name":"one","arguments":"{}"}}`
	first, second := strings.ReplaceAll(call, "%", "1"), strings.ReplaceAll(call, "%", "2")
	got := read(t, sse(created, `{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","encrypted_content":"UNFINISHED"}}`, reasoned, first, second, completed))
	require.NoError(t, got.Err)
	const head = `{"api":"responses","provider":"test","family":"gpt","parts":[{"item":{"type":"reasoning","summary":[],"encrypted_content":"BLOB"}},{"call":0}`
	require.Equal(t, head+`,{"call":1}]}`, string(got.Done.Reply.Extra))
	require.Equal(t, []string{head + `]}`, head + `,{"call":1}]}`}, got.Early)

	cut := read(t, sse(created, reasoned, first))
	require.Equal(t, llm.ErrBrokenStream, llm.KindOf(cut.Err))
	require.Equal(t, []string{head + `]}`}, cut.Early)

	bare := read(t, sse(created, `{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":null}}`, first, completed))
	require.NoError(t, bare.Err)
	require.Empty(t, bare.Done.Reply.Extra)
}

// Fact 10: a reasoning item is never sent without the item that it belongs to.
func TestFact10NoOrphan(t *testing.T) {
	e := serve(t, ok)
	kept := llm.KeptFrom(events.APIResponses, "test", "gpt-m").With(json.RawMessage(
		`[{"item":{"type":"reasoning","summary":[],"encrypted_content":"A"}},{"call":0},{"item":{"type":"reasoning","summary":[],"encrypted_content":"B"}},{"call":1}]`))
	req := ask("hi")
	req.Messages = append(req.Messages, events.Message{Role: events.RoleAssistant, Extra: kept, ToolCalls: []events.ToolCall{tool("a", "one", `{}`)}},
		events.Message{Role: events.RoleTool, ToolCallID: "a", Content: "x"})
	require.NoError(t, wiretest.Collect(t, e, req).Err)
	require.Equal(t, []string{"user", "reasoning", "function_call", "function_call_output"}, kinds(e.bodies[0]))
}

func kinds(body string) []string {
	var all []string
	for _, item := range gjson.Get(body, "input").Array() {
		kind := item.Get("type").Str
		if kind == "" {
			kind = item.Get("role").Str
		}
		all = append(all, kind)
	}
	return all
}

// Fact 11: what another provider or family has kept is left out; what is refused is
// stripped, once, and the reply says so.
func TestFact11Blobs(t *testing.T) {
	for _, refusal := range []string{
		`{"error":{"message":"The encrypted content gAAA could not be verified.","type":"invalid_request_error","code":"invalid_encrypted_content"}}`,
		`{"error":{"code":null,"message":"Item 'rs_1' of type 'reasoning' was provided without its required following item.","param":"input"}}`,
	} {
		e := serve(t, func(body string) (int, []byte) {
			if strings.Contains(body, "BLOB") {
				return 400, []byte(refusal)
			}
			return ok(body)
		})
		parts := json.RawMessage(`[{"item":{"type":"reasoning","summary":[],"encrypted_content":"BLOB"}},{"call":0}]`)
		history := func(kept llm.Kept) llm.Request {
			req := ask("hi")
			req.Messages = append(req.Messages, events.Message{Role: events.RoleAssistant, Extra: kept.With(parts), ToolCalls: []events.ToolCall{tool("a", "one", `{}`)}},
				events.Message{Role: events.RoleTool, ToolCallID: "a", Content: "x"})
			return req
		}
		for _, other := range []llm.Kept{llm.KeptFrom(events.APIResponses, "other", "gpt-m"), llm.KeptFrom(events.APIResponses, "test", "grok-4"), llm.KeptFrom(events.APIMessages, "test", "gpt-m")} {
			got := wiretest.Collect(t, e, history(other))
			require.NoError(t, got.Err)
			require.False(t, got.Done.KeptDropped)
		}
		require.Len(t, e.bodies, 3)
		got := wiretest.Collect(t, e, history(llm.KeptFrom(events.APIResponses, "test", "gpt-m")))
		require.NoError(t, got.Err)
		require.True(t, got.Done.KeptDropped)
		require.Len(t, e.bodies, 5)
		require.Equal(t, []string{"user", "function_call", "function_call_output"}, kinds(e.bodies[4]))
	}
}

// Fact 12: what ends a reply early has a name.
func TestFact12Incomplete(t *testing.T) {
	end := `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"%"},"output":[]}}`
	for reason, want := range map[string]events.FinishReason{"max_output_tokens": "length", "content_filter": "content_filter"} {
		got := read(t, sse(created, strings.ReplaceAll(end, "%", reason)))
		require.NoError(t, got.Err)
		require.Equal(t, want, got.Done.Reply.FinishReason)
	}
	got := read(t, sse(created, `{"type":"response.refusal.delta","output_index":0,"delta":"I will"}`, `{"type":"response.refusal.delta","output_index":0,"delta":" not."}`,
		`{"type":"response.refusal.done","output_index":0,"refusal":"I will not."}`, completed))
	require.NoError(t, got.Err)
	require.Equal(t, "I will not.", got.Text)
	require.Equal(t, events.FinishContentFilter, got.Done.Reply.FinishReason)
}

// Fact 13: the input includes what was cached and written, the output the reasoning;
// null and zeros are estimated.
func TestFact13Usage(t *testing.T) {
	got := read(t, sse(created, completed))
	require.Equal(t, events.Usage{InputTokens: 40, CachedInputTokens: 8, OutputTokens: 7, ReasoningTokens: 3}, got.Done.Usage)
	got = read(t, sse(created, `{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":40,"input_tokens_details":{"cached_tokens":8,"cache_write_tokens":20},"output_tokens":7}}}`))
	require.Equal(t, events.Usage{InputTokens: 40, CachedInputTokens: 8, CacheWriteInputTokens: 20, OutputTokens: 7}, got.Done.Usage)
	text := `{"type":"response.output_text.delta","output_index":0,"delta":"four"}`
	for _, end := range []string{
		`{"type":"response.completed","response":{"status":"completed","usage":null}}`,
		`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":0,"output_tokens":0,"total_tokens":0}}}`,
	} {
		got = read(t, sse(created, text, end))
		require.NoError(t, got.Err)
		require.True(t, got.Done.Usage.Estimated, end)
		require.EqualValues(t, 1, got.Done.Usage.OutputTokens, end)
	}
	got = read(t, sse(created, text, `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"x"},"usage":null}}`))
	var failed *llm.Error
	require.ErrorAs(t, got.Err, &failed)
	require.Nil(t, failed.Usage, "the caller estimates it")
}

// Fact 14: errors are flat or nested, as an event or at the end, and only some of them
// pass.
func TestFact14Errors(t *testing.T) {
	for _, c := range []struct {
		document string
		kind     llm.ErrorKind
		retried  bool
	}{
		{`{"type":"error","code":"server_error","message":"it tripped","param":null}`, llm.ErrServer, true},
		{`{"type":"error","error":{"type":"server_error","code":"server_error","message":"it tripped"}}`, llm.ErrServer, true},
		{`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_is_overloaded","message":"it tripped"}}}`, llm.ErrServer, true},
		{`{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"it tripped, try again in 250ms"}}}`, llm.ErrRateLimited, true},
		{`{"type":"response.failed","response":{"status":"failed","error":{"code":"insufficient_quota","message":"it tripped"}}}`, llm.ErrQuota, false},
		{`{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"it tripped"}}}`, llm.ErrContextLength, false},
		{`{"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_prompt","message":"it tripped"}}}`, llm.ErrRefused, false},
	} {
		for _, body := range [][]byte{sse(created, c.document), []byte("data: " + created + "\n\ndata: " + c.document + "\n\n")} {
			got := read(t, body)
			var e *llm.Error
			require.True(t, errors.As(got.Err, &e), c.document)
			require.Equal(t, c.kind, e.Kind, c.document)
			require.Contains(t, e.Message, "it tripped")
			require.Equal(t, c.retried, e.Retryable())
			require.NotContains(t, e.Error(), "sk-secret")
		}
	}
	e := serve(t, func(string) (int, []byte) {
		return 400, []byte(`{"code":"invalid-argument","error":"Incorrect API key provided."}`)
	})
	require.Equal(t, llm.ErrAuthentication, llm.KindOf(wiretest.Collect(t, e, ask("hi")).Err))
	// https://developers.openai.com/api/docs/guides/flex-processing
	e = serve(t, func(string) (int, []byte) {
		return 429, []byte(`{"error":{"message":"Resource Unavailable","type":"resource_unavailable","param":null,"code":"resource_unavailable"}}`)
	})
	var full *llm.Error
	require.True(t, errors.As(wiretest.Collect(t, e, ask("hi")).Err, &full))
	require.Equal(t, llm.ErrRateLimited, full.Kind, "the flex tier has no capacity now")
	require.True(t, full.Retryable())
}

// Fact 17: Azure takes the key in a header of its own.
func TestFact17Azure(t *testing.T) {
	e := serve(t, ok)
	azure := responses.New(responses.Config{Config: wire.Config{Provider: "azure", BaseURL: e.URL("").String(), APIKey: "azure-key", KeyHeader: "api-key"}})
	t.Cleanup(azure.Close)
	require.NoError(t, wiretest.Collect(t, azure, ask("hi")).Err)
	require.Equal(t, "azure-key", e.header.Get("Api-Key"))
	require.Empty(t, e.header.Get("Authorization"))
}

// An endpoint that ignores "stream" answers with one document.
func TestWholeAnswer(t *testing.T) {
	got := read(t, []byte(`{"object":"response","status":"completed","model":"m2","output":[{"type":"message","content":[{"type":"output_text","text":"Whole."}]},{"type":"function_call","call_id":"c","name":"one","arguments":"{}"}],"usage":{"input_tokens":4,"output_tokens":2}}`))
	require.NoError(t, got.Err)
	require.Equal(t, "Whole.", got.Text)
	require.Equal(t, []events.ToolCall{tool("c", "one", "{}")}, got.Calls)
	require.Equal(t, events.Usage{InputTokens: 4, OutputTokens: 2}, got.Done.Usage)
}

// Endless items without text are bounded as text is.
func TestAReplyIsBounded(t *testing.T) {
	var b strings.Builder
	for i := range 2000 {
		b.WriteString(`data: {"type":"response.output_item.added","output_index":` + itoa(i) + `,"item":{"type":"message"}}` + "\n\n")
	}
	server := wiretest.Serve(t, 200, http.Header{"Content-Type": {"text/event-stream"}}, []byte(b.String()))
	c := responses.New(responses.Config{Config: wire.Config{BaseURL: server, MaxReplyBytes: 100_000}})
	t.Cleanup(c.Close)
	require.Equal(t, llm.ErrReplyTooLarge, llm.KindOf(wiretest.Collect(t, c, ask("hi")).Err))

	var calls []string
	for i := range wire.MaxToolCalls + 1 {
		calls = append(calls, `{"type":"response.output_item.done","output_index":`+itoa(i)+`,"item":{"type":"function_call","call_id":"c`+itoa(i)+`","name":"one","arguments":"{}"}}`)
	}
	require.Equal(t, llm.ErrReplyTooLarge, llm.KindOf(read(t, sse(append(calls, completed)...)).Err))
	require.NoError(t, read(t, sse(append(calls[1:], completed)...)).Err)
}

func itoa(n int) string {
	raw, _ := json.Marshal(n)
	return string(raw)
}

// The consumer's stop closes the connection.
func TestTheConsumerEndsTheCall(t *testing.T) {
	closed := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(sse(created, `{"type":"response.output_text.delta","output_index":0,"delta":"a"}`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(closed)
	}))
	t.Cleanup(server.Close)
	for d, err := range client(t, server.URL).Stream(context.Background(), ask("hi")) {
		require.NoError(t, err)
		require.Equal(t, "a", d.Text)
		break
	}
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Fatal("the connection stays open")
	}
}

// Whatever an endpoint sends, a stream ends once and its calls are in order.
func FuzzStream(f *testing.F) {
	f.Add(sse(created, reasoned, completed), 3)
	f.Add(sse(created, `{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"c","name":"n"}}`,
		`{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{}"}`, `{"type":"response.function_call_arguments.done","output_index":1}`, completed), 9)
	f.Add([]byte(`{"object":"response","output":[{"type":"message","content":[{"text":"x"}]}]}`), 1)
	f.Add([]byte("event: error\ndata: {\"type\":\"error\",\"message\":\"m\"}\n\n"), 1)
	f.Fuzz(func(t *testing.T, body []byte, cut int) {
		c := responses.New(responses.Config{Config: wire.Config{Provider: "fuzz", BaseURL: "http://127.0.0.1:1/v1", MaxReplyBytes: 1 << 16}})
		c.SetTransport(fixed{body, cut})
		got := wiretest.Collect(t, c, ask("hi"))
		if got.Done != nil {
			raw, _ := llm.KeptFrom(events.APIResponses, "fuzz", "gpt").Of(got.Done.Reply.Extra)
			require.True(t, raw == nil || gjson.ValidBytes(raw))
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
	return fixed{body: sse(completed), cut: 7}.RoundTrip(r)
}
