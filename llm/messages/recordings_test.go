package messages_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/messages"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/llm/wire/wiretest"
)

// recording is what a recording must come out as.
type recording struct {
	text   string
	calls  []events.ToolCall
	finish events.FinishReason
	usage  events.Usage
	// blocks are the kinds of what is kept, in order; signature the length of the first.
	blocks    []string
	signature int
	// For failures.
	kind    llm.ErrorKind
	message string
	wait    time.Duration
	retried bool
	partial string // what streamed before
}

func tool(id, name, arguments string) events.ToolCall {
	return events.ToolCall{ID: events.CallID(id), Name: name, Arguments: arguments}
}

// searched adds searches of the provider, which charges for them.
func searched(n int64, u events.Usage) events.Usage {
	u.WebSearches = n
	return u
}

func used(in, out, reasoning int64) events.Usage {
	return events.Usage{InputTokens: in, OutputTokens: out, ReasoningTokens: reasoning}
}

var recordings = map[string]recording{
	"messages_parallel.sse": {text: "*", calls: []events.ToolCall{tool("*", "add", `{"a": 2, "b": 3}`), tool("*", "multiply", `{"a": 2, "b": 3}`)},
		finish: "tool_calls", usage: used(502, 137, 0)},
	"messages_thinking_turn1.sse": {calls: []events.ToolCall{tool("toolu_017cWttjFBXZWw8LkJbhpqm1", "weather", `{"location": "Florence, Italy"}`)},
		finish: "tool_calls", usage: used(424, 109, 0), blocks: []string{"thinking", "call"}, signature: 568},
	"messages_thinking_turn2.sse": {text: "*", finish: "stop", usage: used(548, 34, 0)},
	"messages_tool_no_args.sse": {calls: []events.ToolCall{tool("toolu_01EcJNDtgucTvxugUxuGcJmF", "best_language_to_learn", "{}")},
		finish: "tool_calls", usage: used(579, 41, 0)},
	"messages_text_before_thinking.sse":          {text: "*", finish: "stop", usage: used(34, 44, 0), blocks: []string{"text", "thinking", "text"}, signature: 284},
	"messages_redacted_thinking.sse":             {text: "*", finish: "stop", usage: used(92, 189, 0), blocks: []string{"redacted_thinking", "redacted_thinking", "text"}},
	"messages_thinking_omitted.sse":              {text: "2 + 2 = 4", finish: "stop", usage: used(13, 59, 48), blocks: []string{"thinking", "text"}, signature: 496},
	"messages_max_tokens.sse":                    {text: "#", finish: "length", usage: used(16, 1, 0)},
	"messages_web_search_citations.sse":          {text: "*", finish: "stop", usage: searched(1, used(9447, 114, 0)), blocks: []string{"server_tool_use", "web_search_tool_result", "*"}},
	"messages_pause_turn.sse":                    {text: "*", finish: "pause_turn", usage: searched(10, used(404500, 943, 261)), blocks: []string{"thinking", "text", "server_tool_use", "web_search_tool_result", "*"}},
	"messages_refusal.sse":                       {kind: llm.ErrRefused, message: "blocked under Anthropic's Usage Policy. (category: cyber)"},
	"messages_gateway_input_tokens_in_delta.sse": {text: "pong", finish: "stop", usage: used(61, 2, 0)},
	"messages_gateway_error_without_event.sse":   {kind: llm.ErrRateLimited, message: "Concurrency limit exceeded", retried: true},
	"messages_overloaded_midstream.sse":          {kind: llm.ErrServer, message: "Overloaded", retried: true, partial: "1. **Pouch**"},
	"messages_http429.json":                      {kind: llm.ErrRateLimited, message: "rate limit", retried: true, wait: 16 * time.Second},
	"messages_http529.json":                      {kind: llm.ErrServer, message: "Overloaded", retried: true},
	"messages_http400_prompt_too_long.json":      {kind: llm.ErrContextLength, message: "3333404 tokens > 200000"},
	"messages_http400_tool_use_order.json":       {kind: llm.ErrBadRequest, message: "without `tool_result` blocks"},
	"messages_cache_write_1h.json":               {text: "*", finish: "length", usage: events.Usage{InputTokens: 2073, CacheWriteInputTokens: 2056, CacheWrite1hInputTokens: 2056, OutputTokens: 100}},
}

func client(t testing.TB, base string) *messages.Client {
	c := messages.New(messages.Config{Config: wire.Config{Provider: "test", BaseURL: base + "/v1", APIKey: "sk-secret-of-the-test"}})
	t.Cleanup(c.Close)
	return c
}

func ask(text string) llm.Request {
	return llm.Request{Model: "claude-m", Messages: []events.Message{{Role: events.RoleUser, Content: text}}}
}

// Every recording comes out as it must, whole and in pieces.
//
// Proves R78.
func TestRecordings(t *testing.T) {
	for _, name := range wiretest.Recordings(t, "messages_") {
		t.Run(name, func(t *testing.T) {
			want, known := recordings[name]
			require.True(t, known, "the recording is asserted")
			status, header, body := wiretest.Recorded(t, name)
			want.check(t, wiretest.Collect(t, client(t, wiretest.Serve(t, status, header, body)), ask("hi")))
			for seed := range uint64(3) {
				want.check(t, wiretest.Collect(t, client(t, wiretest.Serve(t, status, header, body, random(seed, len(body))...)), ask("hi")))
			}
		})
	}
}

// random cuts a body at forty places.
func random(seed uint64, length int) []int {
	r := rand.New(rand.NewPCG(seed, 1))
	at, cuts := 0, []int{}
	for range 40 {
		at += 1 + r.IntN(length/20+1)
		if at < length {
			cuts = append(cuts, at)
		}
	}
	return cuts
}

func (want recording) check(t *testing.T, got wiretest.Result) {
	t.Helper()
	if want.kind != "" {
		var e *llm.Error
		require.True(t, errors.As(got.Err, &e), "%v", got.Err)
		require.Equal(t, want.kind, e.Kind)
		require.Contains(t, e.Message, want.message)
		require.Equal(t, want.wait, e.RetryAfter)
		require.Equal(t, want.retried, e.Retryable())
		require.Contains(t, got.Text, want.partial)
		return
	}
	require.NoError(t, got.Err)
	if want.text == "*" {
		require.NotEmpty(t, got.Text)
	} else {
		require.Equal(t, want.text, got.Text)
	}
	require.Equal(t, want.finish, got.Done.Reply.FinishReason)
	require.Len(t, got.Calls, len(want.calls))
	for i, call := range got.Calls {
		if want.calls[i].ID == "*" {
			call.ID = "*"
		}
		require.Equal(t, want.calls[i], call)
	}
	require.Equal(t, want.usage, got.Done.Usage)
	want.checkKept(t, got.Done.Reply.Extra)
}

func (want recording) checkKept(t *testing.T, extra []byte) {
	t.Helper()
	if want.blocks == nil {
		require.Empty(t, extra)
		return
	}
	signature := -1
	for i, p := range gjson.GetBytes(extra, "parts").Array() {
		kind := p.Get("block.type").Str
		switch {
		case p.Get("text").Exists():
			kind = "text"
		case p.Get("call").Exists():
			kind = "call"
		case kind == "thinking" && signature < 0:
			signature = len(p.Get("block.signature").Str)
		case kind == "redacted_thinking":
			require.NotEmpty(t, p.Get("block.data").Str)
		case kind == "server_tool_use":
			require.NotEmpty(t, p.Get("block.input.query").Str, "the input that streamed is part of it")
		}
		if i < len(want.blocks) && want.blocks[i] != "*" {
			require.Equal(t, want.blocks[i], kind)
		}
	}
	if last := want.blocks[len(want.blocks)-1]; last != "*" {
		require.Len(t, gjson.GetBytes(extra, "parts").Array(), len(want.blocks))
	}
	if want.signature > 0 {
		require.Equal(t, want.signature, signature)
	}
}
