package openai_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// shape is what a fixture of testdata/wire must come out as. The number of a file
// is that of the shape it shows; the shapes are listed in the comments.
type shape struct {
	file      string
	text      string
	reasoning string
	extra     string
	calls     []events.ToolCall
	finish    events.FinishReason
	usage     events.Usage // zero: an estimate is expected, and nothing of a failure
	model     string       // empty: made-up-1

	// For failures.
	kind      llm.ErrorKind
	status    int // sent where the file is an error body; else expected
	code      string
	message   string
	permanent bool
}

func tool(id, name, arguments string) events.ToolCall {
	return events.ToolCall{ID: events.CallID(id), Name: name, Arguments: arguments}
}

// back is what is kept of fields that the endpoint wants back, inField of the field
// that reasoning came in.
func back(fields string) string {
	return `{"api":"chat","provider":"test","family":"m","parts":{"fields":` + fields + `}}`
}

func inField(name string) string {
	return `{"api":"chat","provider":"test","family":"m","parts":{"reasoning_field":"` + name + `"}}`
}

func calls(c ...events.ToolCall) []events.ToolCall { return c }

var (
	counted = events.Usage{InputTokens: 40, OutputTokens: 7}
	oneCall = calls(tool("x1", "one", `{"a":1}`))
)

// made stands for an id that the client makes.
const made = "(made)"

var wireShapes = []shape{
	// 1: the end of the stream looks the same for a whole and for a cut reply.
	{file: "01_finish_without_done.sse", text: "All good.", finish: "stop"},
	{file: "01_done_without_finish.sse", text: "All good."},
	{file: "01_usage_at_the_end.sse", text: "All good.", usage: counted},
	{file: "01_cut.sse", kind: llm.ErrBrokenStream, message: "without a finish reason"},
	{file: "01_cut_inside_a_chunk.sse", kind: llm.ErrBrokenStream, message: "inside a chunk"},
	{file: "01_cut_with_usage_on_every_chunk.sse", kind: llm.ErrBrokenStream, message: "without a finish reason", usage: counted},
	{file: "01_nothing.sse", kind: llm.ErrBrokenStream, message: "without a finish reason"},
	// 2: an error inside a 200 stream.
	{file: "02_event_error.sse", kind: llm.ErrServer, code: "oops", message: "the model tripped"},
	{file: "02_error_not_first_key.sse", kind: llm.ErrServer, status: 502, code: "502", message: "upstream went away"},
	{file: "02_error_as_string.sse", kind: llm.ErrServer, message: "out of memory"},
	{file: "02_error_without_newline.sse", kind: llm.ErrServer, code: "x", message: "cut short"},
	{file: "02_error_after_comment.sse", kind: llm.ErrRateLimited, status: 429, code: "429", message: "no luck"},
	{file: "02_plain_text_event_error.sse", kind: llm.ErrServer, message: "backend exploded"},
	{file: "02_unframed_error.sse", kind: llm.ErrServer, code: "server_error", message: "bare line"},
	{file: "02_rate_limit_inside.sse", kind: llm.ErrRateLimited, code: "rate_limit_error", message: "Rate limit reached"},
	{file: "02_finish_reason_error.sse", kind: llm.ErrServer, message: "finished with an error"},
	// 3: fields of unexpected types.
	{file: "03_content_parts.sse", reasoning: "hm, so", text: "Well then.", finish: "stop"},
	{file: "03_arguments_object.sse", calls: calls(tool("c1", "plan", `{"city":"Oslo","days":3}`)), finish: "tool_calls"},
	// 4: comments, events, byte order mark, line ends.
	{file: "04_comments_and_events.sse", text: "calm", finish: "stop"},
	{file: "04_bom_and_crlf.sse", text: "Hi!", finish: "stop", model: "m"},
	{file: "04_last_line_without_newline.sse", text: "xy", finish: "stop"},
	{file: "04_event_of_two_data_lines.sse", text: "two lines", finish: "stop", model: "m"},
	// 5: calls without index, under the same one, under sparse ones.
	{file: "05_no_index.sse", calls: calls(tool("x1", "one", `{"a":1}`), tool("x2", "two", `{"b":2}`), tool("x3", "one", `{"a":3}`)), finish: "tool_calls"},
	{file: "05_same_index_new_id.sse", calls: calls(tool("x1", "one", `{"a":1}`), tool("x2", "two", `{"b":2}`)), finish: "tool_calls"},
	{file: "05_same_index_no_id.sse", calls: calls(tool(made, "one", `{"a":1}`), tool(made, "two", `{"b":2}`), tool(made, "two", `{"b":3}`)), finish: "tool_calls"},
	{file: "05_same_index_no_name.sse", calls: calls(tool("x1", "one", `{"a":1}`), tool(made, "one", `{"a":2}`)), finish: "tool_calls"},
	{file: "05_no_index_no_id.sse", calls: calls(tool(made, "one", `{"a":1}`), tool(made, "one", `{"a":2}`), tool(made, "two", `{"b":1}`)), finish: "tool_calls"},
	{file: "05_sparse_indices_from_1.sse", calls: calls(tool("x1", "one", `{"a":1}`), tool("x4", "two", `{"b":2}`)), finish: "tool_calls"},
	{file: "05_two_objects_in_one_fragment.sse", calls: calls(tool("x1", "one", `{"a":1}`), tool(made, "one", `{"a":2}`)), finish: "tool_calls"},
	{file: "05_interleaved.sse", calls: calls(tool("x1", "one", `{"a":"}"}`), tool("x2", "two", `{"b":2}`)), finish: "tool_calls"},
	// 6: empty values in continuations.
	{file: "06_empty_id_and_name.sse", calls: oneCall, finish: "tool_calls"},
	// 7: ids missing, or used before.
	{file: "07_no_ids.sse", calls: calls(tool(made, "one", `{"a":1}`), tool(made, "two", `{"b":1}`)), finish: "tool_calls"},
	{file: "07_duplicate_ids.sse", calls: calls(tool(made, "one", `{"a":1}`), tool("same", "two", `{"b":1}`), tool(made, "three", `{"c":1}`)), finish: "tool_calls"},
	// 8: the last delta repeats the arguments.
	{file: "08_last_delta_repeats.sse", calls: calls(tool("x1", "one", `{"a": "b"}`)), finish: "tool_calls"},
	{file: "08_repeat_spelled_otherwise.sse", calls: calls(tool("x1", "one", `{"a": "é", "n":1}`)), finish: "tool_calls"},
	{file: "08_repeat_of_the_unfinished.sse", calls: calls(tool("x1", "one", `{"a":"b"}`)), finish: "tool_calls"},
	{file: "08_empty_object_first.sse", calls: oneCall, finish: "tool_calls"},
	{file: "08_stray_brace.sse", calls: oneCall, finish: "tool_calls"},
	// 9: no arguments.
	{file: "09_arguments_absent.sse", calls: calls(tool("x1", "one", "{}"), tool("x2", "two", `{"b":1}`), tool("x3", "three", "{}")), finish: "tool_calls"},
	{file: "09_arguments_absent.json", calls: calls(tool("x1", "one", "{}")), finish: "tool_calls", usage: counted},
	// 10: calls count whatever the finish reason says.
	{file: "10_all_in_one_chunk.sse", calls: oneCall, finish: "tool_calls", usage: counted},
	{file: "10_finish_twice.sse", calls: oneCall, finish: "tool_calls", usage: counted},
	{file: "10_stop_beside_calls.sse", calls: oneCall, finish: "stop"},
	// 11: the last usage counts.
	{file: "11_on_every_chunk.sse", text: "ab", finish: "stop", usage: counted},
	{file: "11_twice_and_before_the_end.sse", text: "ab", finish: "stop", usage: counted},
	{file: "11_hidden_reasoning.sse", text: "a", finish: "stop",
		usage: events.Usage{InputTokens: 40, CachedInputTokens: 30, OutputTokens: 107, ReasoningTokens: 100}},
	{file: "11_null_and_never.sse", text: "a", finish: "stop"},
	// 12: reasoning in its many places.
	{file: "12_reasoning_content.sse", reasoning: "hm, so", text: "Well.", finish: "stop", extra: inField("reasoning_content")},
	{file: "12_reasoning.sse", reasoning: "hm, so", text: "Well.", finish: "stop", extra: inField("reasoning_content")},
	{file: "12_reasoning_details.sse", reasoning: "hm, so", text: "Well.", finish: "stop",
		extra: back(`{"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"SIG","text":"hm, so"}]}`)},
	{file: "12_think_tags.sse", reasoning: "hm, so", text: "Well.", finish: "stop"},
	{file: "12_think_tags_in_mid_text.sse", reasoning: "hm, so", text: "First. Well, 1 < 2.", finish: "stop"},
	{file: "12_think_never_closed.sse", text: "The tag <think> is never closed.", finish: "stop"},
	{file: "12_think_quoted.sse", text: "Write `<think>` first.", finish: "stop"},
	// 13: what must go back unchanged.
	{file: "13_extra_on_the_call.sse", finish: "stop", extra: back(`{"extra_content":{"google":{"thought_signature":"S2"}}}`), calls: calls(
		events.ToolCall{ID: "x1", Name: "one", Arguments: `{"a":1}`, Extra: []byte(back(`{"extra_content":{"google":{"thought_signature":"S1=="}}}`))},
		tool("x2", "two", `{"b":1}`))},
	{file: "13_extra_inside_the_function.sse", finish: "tool_calls", calls: calls(
		events.ToolCall{ID: "x1", Name: "one", Arguments: `{"a":1}`, Extra: []byte(back(`{"function":{"provider_specific_fields":{"thought_signature":"S3"}}}`))})},
	{file: "13_encrypted_reasoning.sse", finish: "tool_calls", calls: oneCall,
		extra: back(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"AAA=","id":"x1","index":0},{"type":"reasoning.encrypted","data":"BBB=","index":1}]}`)},
	// 14: null, empty and absent content; the role in every chunk.
	{file: "14_null_content.sse", calls: oneCall, finish: "tool_calls"},
	// 15: chunks without choices, changing names.
	{file: "15_filter_results_first.sse", text: "xy", finish: "stop", model: "second-name"},
	{file: "15_second_choice.sse", text: "a", finish: "stop"},
	// 16: results that are no answer.
	{file: "16_length_without_content.sse", finish: "length", usage: counted},
	{file: "16_length_in_arguments.sse", calls: calls(tool("x1", "one", `{"text":"abc`)), finish: "length"},
	{file: "16_content_filter.sse", text: "I", finish: "content_filter"},
	{file: "16_refusal.sse", text: "I will not.", finish: "stop"},
	// 17: error bodies.
	{file: "17_error_number_code.json", status: 429, kind: llm.ErrRateLimited, code: "429", message: "Provider returned error: busy upstream"},
	{file: "17_error_string.json", status: 404, kind: llm.ErrModelNotFound, message: "model 'tiny' not found, try pulling it first"},
	{file: "17_detail.json", status: 401, kind: llm.ErrAuthentication, message: "Invalid API Key"},
	{file: "17_detail_list.json", status: 422, kind: llm.ErrBadRequest, message: "extra fields not permitted"},
	{file: "17_array.json", status: 400, kind: llm.ErrAuthentication, code: "400", message: "API key not valid. Please pass a valid API key."},
	{file: "17_html.json", status: 502, kind: llm.ErrServer, message: "502 Bad Gateway"},
	{file: "17_empty.json", status: 503, kind: llm.ErrServer, message: "Service Unavailable"},
	{file: "17_html.json", status: 404, kind: llm.ErrModelNotFound, message: "is the base URL right?"},
	{file: "17_object_error.json", status: 404, kind: llm.ErrModelNotFound, code: "404", message: "The model `x` does not exist."},
	{file: "17_quota.json", status: 429, kind: llm.ErrQuota, code: "insufficient_quota", message: "exceeded your current quota", permanent: true},
	{file: "17_no_tools.json", status: 400, kind: llm.ErrNoTools, code: "api_error", message: "does not support tools"},
	{file: "17_html.json", status: 308, kind: llm.ErrUnreachable, message: "redirects", permanent: true},
	// 18: see TestRetryAfterInAllItsSpellings.
	{file: "18_too_many.json", status: 429, kind: llm.ErrRateLimited, code: "rate_limit_exceeded", message: "slow down"},
	// 19: a prompt over the window.
	{file: "19_context.json", status: 400, kind: llm.ErrContextLength, code: "context_length_exceeded", message: "8192 tokens"},
	{file: "19_local_context.json", status: 400, kind: llm.ErrContextLength, code: "400", message: "available context size"},
	// 20: parameters that are ignored, "stream" among them. 21: see request_test.go and timeout_test.go.
	{file: "20_stream_ignored.json", reasoning: "hm", text: "Whole.", calls: oneCall, finish: "stop", usage: counted},
}

func TestShapesOfTheWire(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range wireShapes {
		seen[w.file] = true
		t.Run(w.file+strconv.Itoa(w.status), func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join("testdata", "wire", w.file))
			require.NoError(t, err)
			status, contentType := http.StatusOK, "text/event-stream; charset=utf-8"
			if strings.HasSuffix(w.file, ".json") {
				contentType = "application/json"
				if w.kind != "" {
					status = w.status
				}
			}
			req := ask("hi")
			req.Messages = append(req.Messages,
				events.Message{Role: events.RoleAssistant, ToolCalls: calls(tool("seen_before", "x", "{}"))},
				events.Message{Role: events.RoleTool, ToolCallID: "seen_before", Content: "y"})
			w.check(t, collect(t, serve(t, status, contentType, body), req))
		})
	}
	files, err := os.ReadDir(filepath.Join("testdata", "wire"))
	require.NoError(t, err)
	for _, f := range files {
		require.True(t, seen[f.Name()], "the fixture %s is asserted", f.Name())
	}
}

func (w shape) check(t *testing.T, got result) {
	t.Helper()
	if w.kind != "" {
		var e *llm.Error
		require.True(t, errors.As(got.err, &e), "%v", got.err)
		require.Equal(t, w.kind, e.Kind, "%v", e)
		require.Equal(t, w.status, e.Status)
		require.Equal(t, w.code, e.Code)
		require.Contains(t, e.Message, w.message)
		require.Equal(t, w.permanent, e.Permanent)
		require.Equal(t, "test", e.Provider)
		require.Equal(t, "m", e.Model)
		if w.usage == (events.Usage{}) {
			require.Nil(t, e.Usage)
		} else {
			require.Equal(t, &w.usage, e.Usage)
		}
		return
	}
	require.NoError(t, got.err)
	reply := got.done.Reply
	require.Equal(t, w.text, reply.Text)
	require.Equal(t, w.reasoning, reply.Reasoning)
	if !strings.Contains(w.file, "never_closed") { // there the text was taken for reasoning on the way
		require.Equal(t, w.text, got.text)
		require.Equal(t, w.reasoning, got.reasoning)
	}
	require.Equal(t, w.extra, string(reply.Extra))
	require.Equal(t, w.finish, reply.FinishReason)
	w.checkCalls(t, reply.ToolCalls)
	if w.usage == (events.Usage{}) {
		require.True(t, got.done.Usage.Estimated)
		require.Positive(t, got.done.Usage.InputTokens)
	} else {
		require.Equal(t, w.usage, got.done.Usage)
	}
	if w.model == "" {
		w.model = "made-up-1"
	}
	require.Equal(t, w.model, got.done.Model)
	require.Equal(t, "test", got.done.Provider)
	require.Equal(t, 1, got.done.Attempts)
	require.Positive(t, got.done.FirstToken)
	require.GreaterOrEqual(t, got.done.Total, got.done.FirstToken)
}

func (w shape) checkCalls(t *testing.T, got []events.ToolCall) {
	t.Helper()
	require.Len(t, got, len(w.calls))
	ids := map[events.CallID]bool{"seen_before": true}
	for i, call := range got {
		require.False(t, ids[call.ID], "the id %s is unique", call.ID)
		ids[call.ID] = true
		want := w.calls[i]
		if want.ID == made {
			require.Regexp(t, `^[a-zA-Z0-9]{9}$`, string(call.ID))
			want.ID = call.ID
		}
		require.Equal(t, want, call)
	}
}
