package responses_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/responses"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/llm/wire/wiretest"
)

// recording is what a recording must come out as.
type recording struct {
	text                     string
	textBytes, reasoningRune int
	calls                    []events.ToolCall
	finish                   events.FinishReason
	usage                    events.Usage
	blob                     int // characters of the encrypted reasoning that is kept
	phase                    string
	// For failures.
	kind    llm.ErrorKind
	message string
	wait    time.Duration
}

func tool(id, name, arguments string) events.ToolCall {
	return events.ToolCall{ID: events.CallID(id), Name: name, Arguments: arguments}
}

func used(in, out, reasoning int64) events.Usage {
	return events.Usage{InputTokens: in, OutputTokens: out, ReasoningTokens: reasoning}
}

var recordings = map[string]recording{
	"responses_openai_tool_turn1.sse": {calls: []events.ToolCall{tool("call_E9m0fralKLjUmND1MuTXjnqm", "weather", `{"latitude":"52.5200","longitude":"13.4050"}`)},
		finish: "tool_calls", usage: used(87, 339, 256), blob: 3172},
	"responses_openai_tool_turn2.sse": {text: "Berlin (52.5200, 13.4050): 15°C, wind 10 km/h.", finish: "stop", usage: used(458, 306, 256)},
	"responses_openai_parallel.sse": {calls: []events.ToolCall{tool("*", "add", `{"a":2,"b":3}`), tool("*", "multiply", `{"a":2,"b":3}`)},
		finish: "tool_calls", usage: used(109, 223, 128)},
	"responses_openai_phase_then_call.sse": {textBytes: 52, phase: "commentary", finish: "tool_calls", usage: used(63, 69, 26),
		calls: []events.ToolCall{tool("call_LabG58Uhrq9kZvR52BYKjToD", "get_capital", `{"country":"PotatoLand"}`)}},
	"responses_openai_summary_then_call.sse": {reasoningRune: 424, finish: "tool_calls", usage: used(63, 121, 64),
		calls: []events.ToolCall{tool("call_zgUaIBRPTwxxOusyyKw5NVMH", "weather", `{"location":"Florence, Italy"}`)}},
	"responses_openai_incomplete.sse":                 {textBytes: 76, finish: "length", usage: events.Usage{Estimated: true}},
	"responses_openai_failed_quota.sse":               {kind: llm.ErrQuota, message: "exceeded your current quota"},
	"responses_openai_failed_rate_limit.sse":          {kind: llm.ErrRateLimited, message: "Rate limit reached", wait: 11054 * time.Millisecond},
	"responses_openai_http400_orphan_reasoning.json":  {kind: llm.ErrBadRequest, message: "without its required following item"},
	"responses_openai_http400_encrypted_content.json": {kind: llm.ErrBadRequest, message: "could not be verified"},
	"responses_openai_cache_write.json":               {text: "OK", phase: "final_answer", finish: "stop", usage: events.Usage{InputTokens: 4020, CacheWriteInputTokens: 4012, OutputTokens: 5}},
	"responses_xai_tool.sse":                          {reasoningRune: 67, calls: []events.ToolCall{tool("*", "weather", "*")}, finish: "tool_calls", usage: events.Usage{InputTokens: 340, CachedInputTokens: 320, OutputTokens: 105, ReasoningTokens: 83}},
	"responses_xai_http400_key.json":                  {kind: llm.ErrAuthentication, message: "Incorrect API key provided."},
	"responses_openrouter_raw_reasoning.sse":          {text: "4", reasoningRune: 85, finish: "stop", usage: used(78, 37, 22)},
	"responses_copilot_id_rotation.sse":               {textBytes: 138, reasoningRune: 34, finish: "stop", usage: used(19, 105, 44)},
	"responses_lmstudio_tool.sse": {reasoningRune: 242, textBytes: 67, finish: "tool_calls", usage: events.Usage{InputTokens: 182, CachedInputTokens: 2, OutputTokens: 61, ReasoningTokens: 48},
		calls: []events.ToolCall{tool("call_2025306790300011", "weather", `{"location":"San Francisco"}`)}},
}

func client(t testing.TB, base string) *responses.Client {
	c := responses.New(responses.Config{Config: wire.Config{Provider: "test", BaseURL: base + "/v1", APIKey: "sk-secret-of-the-test"}})
	t.Cleanup(c.Close)
	return c
}

func ask(text string) llm.Request {
	return llm.Request{Model: "gpt-m", Messages: []events.Message{{Role: events.RoleUser, Content: text}}}
}

// Every recording comes out as it must, whole and in pieces.
//
// Proves R78.
func TestRecordings(t *testing.T) {
	for _, name := range wiretest.Recordings(t, "responses_") {
		t.Run(name, func(t *testing.T) {
			want, known := recordings[name]
			require.True(t, known, "the recording is asserted")
			status, header, body := wiretest.Recorded(t, name)
			want.check(t, wiretest.Collect(t, client(t, wiretest.Serve(t, status, header, body)), ask("hi")))
			for seed := range uint64(3) {
				cuts := random(seed, len(body))
				want.check(t, wiretest.Collect(t, client(t, wiretest.Serve(t, status, header, body, cuts...)), ask("hi")))
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
		require.Equal(t, want.kind == llm.ErrRateLimited, e.Retryable())
		return
	}
	require.NoError(t, got.Err)
	if want.text != "" {
		require.Equal(t, want.text, got.Text)
	}
	if want.textBytes > 0 {
		require.Len(t, []rune(got.Text), want.textBytes)
	}
	require.Len(t, []rune(got.Reasoning), want.reasoningRune)
	require.Equal(t, want.finish, got.Done.Reply.FinishReason)
	require.Len(t, got.Calls, len(want.calls))
	for i, call := range got.Calls {
		if want.calls[i].ID == "*" {
			call.ID = "*"
		}
		if want.calls[i].Arguments == "*" {
			require.True(t, gjson.Valid(call.Arguments))
			call.Arguments = "*"
		}
		require.Equal(t, want.calls[i], call)
		require.Equal(t, got.Calls[i].Arguments, got.Fragments[i])
	}
	if want.usage.Estimated {
		require.True(t, got.Done.Usage.Estimated)
		require.Positive(t, got.Done.Usage.OutputTokens)
	} else {
		require.Equal(t, want.usage, got.Done.Usage)
	}
	if want.blob > 0 {
		require.Len(t, gjson.GetBytes(got.Done.Reply.Extra, `parts.#(item).item.encrypted_content`).Str, want.blob)
	}
	if want.phase != "" {
		require.Equal(t, want.phase, gjson.GetBytes(got.Done.Reply.Extra, `parts.#(text).phase`).Str)
	}
}
