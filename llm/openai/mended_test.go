package openai_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/llm/wire/wiretest"
)

// chunks frames documents as an endpoint streams them.
func chunks(documents ...string) []byte {
	return []byte("data: " + strings.Join(documents, "\n\ndata: ") + "\n\ndata: [DONE]\n\n")
}

func delta(delta string) string { return `{"choices":[{"index":0,"delta":` + delta + `}]}` }

const finished = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

func streamed(t *testing.T, documents ...string) result {
	t.Helper()
	return collect(t, serve(t, 200, "text/event-stream", chunks(documents...)), ask("hi"))
}

// Reasoning goes back in the field it came in, present even when empty, on turns of text
// alone too, to the provider and family that wrote it, and never to those that refuse it.
//
// Proves R78.
func TestReasoningGoesBackWhereItCameFrom(t *testing.T) {
	for name, c := range map[string]struct {
		documents []string
		field     string
		sent      string
	}{
		"reasoning_content":       {[]string{delta(`{"reasoning_content":"hm"}`), delta(`{"content":"x"}`)}, "reasoning_content", `"hm"`},
		"empty":                   {[]string{delta(`{"reasoning_content":"","content":"x"}`)}, "reasoning_content", `""`},
		"reasoning":               {[]string{delta(`{"reasoning":"hm"}`), delta(`{"content":"x"}`)}, "reasoning", `"hm"`},
		"null":                    {[]string{delta(`{"reasoning_content":null,"content":"x"}`)}, "reasoning_content", ""},
		"what nobody wants back":  {[]string{delta(`{"content":"x","channel":"final","whatever":{"a":1}}`)}, "whatever", ""},
		"details, which are more": {[]string{delta(`{"reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}]}`), delta(`{"content":"x"}`)}, "reasoning", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := streamed(t, append(c.documents, finished)...)
			require.NoError(t, got.err)
			next := ask("hi")
			next.Messages = append(next.Messages, got.done.Reply.Message())
			for provider, sent := range map[string]string{"test": c.sent, "another": ""} {
				r := newRecorder(t)
				require.NoError(t, collect(t, client(t, openai.Config{Config: wire.Config{Provider: provider, BaseURL: r.URL}}), next).err)
				require.Equal(t, sent, gjson.Get(r.bodies[0], "messages.1."+c.field).Raw, provider)
			}
			r := newRecorder(t)
			next.Model = "other-family"
			require.NoError(t, collect(t, client(t, openai.Config{Config: wire.Config{Provider: "test", BaseURL: r.URL}}), next).err)
			require.Empty(t, gjson.Get(r.bodies[0], "messages.1."+c.field).Raw)
			next.Model = "m"
			require.NoError(t, collect(t, client(t, openai.Config{Config: wire.Config{Provider: "test", BaseURL: r.URL}, PublishedOnly: true}), next).err)
			require.Empty(t, gjson.Get(r.bodies[1], "messages.1."+c.field).Raw, "Groq and Mistral refuse it")
			require.NoError(t, collect(t, client(t, openai.Config{Config: wire.Config{Provider: "strict", BaseURL: r.URL}, ReasoningField: "reasoning_content"}), next).err)
			require.True(t, gjson.Get(r.bodies[2], "messages.1.reasoning_content").Exists(), "an endpoint that demands it gets it, empty from another family")
		})
	}
}

// A turn that is cut after a call keeps what came before it.
func TestACutTurnKeepsWhatItWasGiven(t *testing.T) {
	body := "data: " + delta(`{"reasoning_content":"hm"}`) + "\n\ndata: " + delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{\"a\":1}"}}]}`) + "\n\n"
	c := serve(t, 200, "text/event-stream", []byte(body))
	got := wiretest.Collect(t, c, ask("hi"))
	require.Equal(t, llm.ErrBrokenStream, llm.KindOf(got.Err))
	require.Equal(t, []string{inField("reasoning_content")}, got.Early)
}

// Arguments that the last delta repeats whole, spaced otherwise, are not glued.
func TestArgumentsRepeatedWithOtherSpacing(t *testing.T) {
	call := func(args string) string {
		return delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":` + args + `}}]}`)
	}
	for _, last := range []string{`"{ \"a\": 1, \"b\": \"x y\" }"`, `"{\"a\":1,\"b\":\"x y\"}"`} {
		got := streamed(t, call(`"{\"a\":1,"`), call(`"\"b\":\"x y\"}"`), call(last), finished)
		require.NoError(t, got.err)
		require.Len(t, got.calls, 1)
		require.JSONEq(t, `{"a":1,"b":"x y"}`, got.calls[0].Arguments)
		got = streamed(t, call(`"{\"a\": 1,"`), call(last), finished)
		require.NoError(t, got.err)
		require.Len(t, got.calls, 1)
		require.JSONEq(t, `{"a":1,"b":"x y"}`, got.calls[0].Arguments)
	}
}

// Finish reasons that mean half a reply are broken streams.
func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]events.FinishReason{
		"insufficient_system_resource": "", "network_error": "", "abort": "",
		"model_context_window_exceeded": "length", "SAFETY": "content_filter", "sensitive": "content_filter", "stop": "stop",
	} {
		got := streamed(t, delta(`{"content":"half"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"`+reason+`"}]}`)
		if want == "" {
			require.Equal(t, llm.ErrBrokenStream, llm.KindOf(got.err), reason)
			require.ErrorContains(t, got.err, reason)
			continue
		}
		require.NoError(t, got.err)
		require.Equal(t, want, got.done.Reply.FinishReason)
	}
}

// What is reported beside its whole is added to it; a choice may carry the usage.
func TestUsageInAllItsShapes(t *testing.T) {
	for usage, want := range map[string]events.Usage{
		`{"prompt_tokens":40,"completion_tokens":7,"total_tokens":47,"prompt_tokens_details":{"cached_tokens":30}}`:                                                       {InputTokens: 40, CachedInputTokens: 30, OutputTokens: 7},
		`{"prompt_tokens":10,"completion_tokens":7,"total_tokens":47,"prompt_tokens_details":{"cached_tokens":30}}`:                                                       {InputTokens: 40, CachedInputTokens: 30, OutputTokens: 7},
		`{"prompt_tokens":10,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":30}}`:                                                                         {InputTokens: 40, CachedInputTokens: 30, OutputTokens: 7},
		`{"prompt_tokens":40,"completion_tokens":7,"total_tokens":147,"completion_tokens_details":{"reasoning_tokens":100}}`:                                              {InputTokens: 40, OutputTokens: 107, ReasoningTokens: 100},
		`{"prompt_tokens":40,"completion_tokens":7,"completion_tokens_details":{"reasoning_tokens":100}}`:                                                                 {InputTokens: 40, OutputTokens: 107, ReasoningTokens: 100},
		`{"prompt_tokens":10,"completion_tokens":7,"total_tokens":147,"prompt_tokens_details":{"cached_tokens":30},"completion_tokens_details":{"reasoning_tokens":100}}`: {InputTokens: 40, CachedInputTokens: 30, OutputTokens: 107, ReasoningTokens: 100},
		`{"prompt_tokens":40,"completion_tokens":7,"total_tokens":47,"prompt_tokens_details":{"cached_tokens":8,"cache_write_tokens":20}}`:                                {InputTokens: 40, CachedInputTokens: 8, CacheWriteInputTokens: 20, OutputTokens: 7},
	} {
		got := streamed(t, delta(`{"content":"x"}`), finished, `{"choices":[],"usage":`+usage+`}`)
		require.NoError(t, got.err)
		require.Equal(t, want, got.done.Usage, usage)
		got = streamed(t, delta(`{"content":"x"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":`+usage+`}]}`)
		require.NoError(t, got.err)
		require.Equal(t, want, got.done.Usage, usage)
	}
}

// The tier that the reply names, and what a router says it charges.
func TestTierAndCost(t *testing.T) {
	body := chunks(`{"service_tier":"flex","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`, `{"choices":[],"service_tier":null,"usage":{"prompt_tokens":4,"completion_tokens":1,"cost":0.0125}}`)
	for _, charges := range []bool{false, true} {
		url := wiretest.Serve(t, 200, nil, body)
		got := collect(t, client(t, openai.Config{Config: wire.Config{BaseURL: url}, ChargesUSD: charges}), ask("hi"))
		require.NoError(t, got.err)
		require.Equal(t, "flex", got.done.Tier)
		require.Equal(t, charges, got.done.CostUSD != nil, "elsewhere the number may be of another currency")
		if charges {
			require.InDelta(t, 0.0125, *got.done.CostUSD, 1e-9)
		}
	}
}

// Of a delta and the message so far in one chunk one is taken.
func TestDeltaBesideMessage(t *testing.T) {
	both := func(delta, message string) string {
		return `{"choices":[{"index":0,"delta":{"content":"` + delta + `"},"message":{"role":"assistant","content":"` + message + `"}}]}`
	}
	got := streamed(t, both("one ", "one "), both("two", "one two"), `{"choices":[{"index":0,"delta":{},"message":{"content":"one two"},"finish_reason":"stop"}]}`)
	require.NoError(t, got.err)
	require.Equal(t, "one two", got.text)
}

// Events of another API that end with [DONE] are an error, not an empty reply, and name
// the API.
func TestEventsOfAnotherAPI(t *testing.T) {
	for api, documents := range map[events.API][]string{
		events.APIResponses: {`{"type":"response.created","response":{}}`, `{"type":"response.output_text.delta","delta":"x"}`},
		events.APIMessages:  {`{"type":"message_start","message":{}}`, `{"type":"content_block_delta","delta":{"text":"x"}}`},
	} {
		var e *llm.Error
		require.True(t, errors.As(streamed(t, documents...).err, &e))
		require.Equal(t, api, e.Instead)
	}
	status, header, body := wiretest.Recorded(t, "responses_openrouter_raw_reasoning.sse")
	got := collect(t, serve(t, status, header.Get("Content-Type"), body), ask("hi"))
	require.Error(t, got.err)
}

// function_call is how one call was written before tools; reasoning stands in <thought>
// too, and before a </think> that nothing opened.
func TestOldAndOddForms(t *testing.T) {
	got := streamed(t, delta(`{"function_call":{"name":"one","arguments":"{\"a\""}}`), delta(`{"function_call":{"arguments":":1}"}}`),
		`{"choices":[{"index":0,"delta":{},"finish_reason":"function_call"}]}`)
	require.NoError(t, got.err)
	require.Len(t, got.calls, 1)
	require.Equal(t, "one", got.calls[0].Name)
	require.Equal(t, `{"a":1}`, got.calls[0].Arguments)
	require.Equal(t, events.FinishToolCalls, got.done.Reply.FinishReason)

	for _, text := range []string{`<thought>hm</thought>Well.`, `<think>hm</think>Well.`, `hm</think>Well.`, `hm</think>\n\nWell.`} {
		for cut := 1; cut < len(text)-1; cut++ {
			if text[cut-1] == '\\' {
				continue
			}
			got := streamed(t, delta(`{"content":"`+text[:cut]+`"}`), delta(`{"content":"`+text[cut:]+`"}`), finished)
			require.NoError(t, got.err)
			require.Equal(t, "Well.", got.done.Reply.Text, "%s cut at %d", text, cut)
			require.Equal(t, "hm", got.done.Reply.Reasoning, "%s cut at %d", text, cut)
		}
	}
	got = streamed(t, delta(`{"content":"<think>hm</think>Say </think> or <thinking>."}`), finished)
	require.NoError(t, got.err)
	require.Equal(t, "Say </think> or <thinking>.", got.done.Reply.Text)
}

// Claude at a router is told what to cache, others are not: the system text, and where this
// request and the one before it end, which in an agent at work are results of tools.
func TestClaudeAtARouter(t *testing.T) {
	said := func(role events.Role, text string) events.Message { return events.Message{Role: role, Content: text} }
	calls := func(ids ...events.CallID) events.Message {
		m := events.Message{Role: events.RoleAssistant}
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, events.ToolCall{ID: id, Name: "look", Arguments: "{}"})
		}
		return m
	}
	brought := func(id events.CallID, text string) events.Message {
		return events.Message{Role: events.RoleTool, ToolCallID: id, Content: text}
	}
	system := said(events.RoleSystem, "be")
	for name, c := range map[string]struct {
		history []events.Message
		marked  []int
	}{
		"talk": {[]events.Message{system, said(events.RoleUser, "a"), said(events.RoleAssistant, "b"), said(events.RoleUser, "c"),
			said(events.RoleAssistant, "d"), said(events.RoleUser, "e")}, []int{0, 3, 5}},
		"first request": {[]events.Message{system, said(events.RoleUser, "a")}, []int{0, 1}},
		"first results": {[]events.Message{system, said(events.RoleUser, "a"), calls("1", "2"), brought("1", "x"), brought("2", "y")}, []int{0, 1, 4}},
		"results": {[]events.Message{system, said(events.RoleUser, "a"), calls("1"), brought("1", "x"), calls("2", "3"), brought("2", "y"), brought("3", "")},
			[]int{0, 3, 5}}, // a mark needs a text
		"told beside": {[]events.Message{system, said(events.RoleUser, "a"), calls("1"), brought("1", "x"), said(events.RoleUser, "hurry")}, []int{0, 1, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecorder(t)
			cl := client(t, openai.Config{Config: wire.Config{BaseURL: r.URL}, ClaudeCache: true})
			require.NoError(t, collect(t, cl, llm.Request{Model: "anthropic/claude-x", Messages: c.history}).err)
			var marked []int
			for i, m := range gjson.Get(r.bodies[0], "messages").Array() {
				if m.Get("content.0.cache_control").Exists() {
					marked = append(marked, i)
					require.Equal(t, c.history[i].Content, m.Get("content.0.text").Str)
				}
			}
			require.Equal(t, c.marked, marked)
			require.NoError(t, collect(t, cl, llm.Request{Model: "openai/gpt-5", Messages: c.history}).err)
			require.NotContains(t, r.bodies[1], "cache_control")
			r.refuse = func(body string) string {
				if strings.Contains(body, "cache_control") {
					return "messages.0.content.0.cache_control: Extra inputs are not permitted"
				}
				return ""
			}
			require.NoError(t, collect(t, cl, llm.Request{Model: "anthropic/claude-x", Messages: c.history}).err)
			require.NotContains(t, r.bodies[3], "cache_control", "refused")
		})
	}
}
