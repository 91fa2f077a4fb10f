package wire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/messages"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/responses"
	"github.com/convene-run/convene/llm/wire"
)

// answers answers from memory.
type answers []byte

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = r.Body.Close()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(a)),
	}, nil
}

// readers are the clients of all APIs, answered with a body.
func readers(body []byte) map[string]llm.Client {
	cfg := wire.Config{Provider: "test", BaseURL: "http://test/v1", MaxReplyBytes: 1 << 16}
	chat := openai.New(openai.Config{Config: cfg})
	responded := responses.New(responses.Config{Config: cfg})
	messaged := messages.New(messages.Config{Config: cfg})
	for _, conn := range []*wire.Conn{chat.Conn, responded.Conn, messaged.Conn} {
		conn.SetTransport(answers(body))
	}
	return map[string]llm.Client{"chat": chat, "responses": responded, "messages": messaged}
}

// said is all that a reply says, however many deltas that took.
func said(t require.TestingT, client llm.Client) string {
	var text, reasoning, rest strings.Builder
	fragments := map[int]string{}
	for delta, err := range client.Stream(context.Background(), llm.Request{Model: "m", Messages: []events.Message{{Role: events.RoleUser, Content: "hi"}}}) {
		if err == nil {
			require.NotEqual(t, llm.Delta{Index: delta.Index}, delta, "a delta brings something")
		}
		text.WriteString(delta.Text)
		reasoning.WriteString(delta.Reasoning)
		fragments[delta.Index] += delta.Fragment
		switch {
		case err != nil:
			fmt.Fprintf(&rest, "error %s\n", llm.KindOf(err))
		case delta.Call != nil:
			fmt.Fprintf(&rest, "call %q %q with %s, extra %s behind %d %d\n", delta.Call.Name, delta.Call.Arguments, delta.Call.Extra, delta.Extra, text.Len(), reasoning.Len())
		case delta.Done != nil:
			delta.Done.FirstToken, delta.Done.Total = 0, 0
			for i := range delta.Done.Reply.ToolCalls {
				delta.Done.Reply.ToolCalls[i].ID = "" // made where there is none
			}
			done, err := json.Marshal(delta.Done)
			require.NoError(t, err)
			rest.Write(done)
		}
	}
	return fmt.Sprintf("text %q\nreasoning %q\nfragments %v\n%s", text.String(), reasoning.String(), fragments, rest.String())
}

// unlike gives a stream that says the same by documents of which none is spaced like the one
// before, so that each of them is parsed.
func unlike(body []byte) []byte {
	var out []byte
	for i, line := range bytes.SplitAfter(body, []byte("\n")) {
		if rest, found := bytes.CutPrefix(line, []byte("data: {")); found {
			out = append(append(out, "data: {"...), strings.Repeat(" ", 1+i/2%2)...)
			line = rest
		}
		out = append(out, line...)
	}
	return out
}

func requireSame(t require.TestingT, body []byte) {
	parsed := readers(unlike(body))
	for api, reader := range readers(body) {
		require.Equal(t, said(t, parsed[api]), said(t, reader), "%s\n%s", api, body)
	}
}

// shapes are documents of all APIs; TEXT stands for the text, NUMBER for a number.
var shapes = []string{
	`{"id":"c","created":1,"model":"m","service_tier":"default","choices":[{"index":0,"delta":{"content":"TEXT"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"TEXT"}`,
	`{"choices":[{"index":0,"delta":{"role":"assistant","content":"TEXT","reasoning_content":null,"tool_calls":[]}}]}`,
	`{"choices":[{"delta":{"reasoning_content":"TEXT","content":""}}],"obfuscation":"TEXT"}`,
	`{"choices":[{"delta":{"reasoning":"TEXT","reasoning_content":"TEXT"}}]}`,
	`{"choices":[{"delta":{"reasoning":"TEXT","reasoning_details":[{"type":"reasoning.text","text":"TEXT"}]}}]}`,
	`{"choices":[{"delta":{"content":"TEXT","refusal":"TEXT"}}]}`,
	`{"choices":[{"delta":{"content":"TEXT","content":"TEXT"}}]}`,
	`{"choices":[{"delta":{"content":["TEXT",{"text":"TEXT"}]}}]}`,
	`{"choices":[{"delta":{"content":"TEXT"}},{"index":1,"delta":{"content":"TEXT"}}]}`,
	`{"choices":[{"delta":{"tool_calls":[{"index":NUMBER,"id":"TEXT","function":{"name":"n","arguments":"{"}}]}}]}`,
	`{"choices":[{"delta":{"tool_calls":[{"index":NUMBER,"function":{"arguments":"TEXT"}}]}}]}`,
	`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"","arguments":"TEXT"}}]}}]}`,
	`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"TEXT"}},{"index":0,"function":{"arguments":"}"}}]}}]}`,
	`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"TEXT"},"extra_content":"TEXT"}]}}]}`,
	`{"choices":[{"delta":{"function_call":{"name":"n","arguments":"TEXT"}}}]}`,
	`{"choices":[{"delta":{"content":"TEXT"}}],"usage":{"prompt_tokens":NUMBER,"completion_tokens":NUMBER}}`,
	`{"choices":[{"delta":{"content":"TEXT"},"finish_reason":"stop"}]}`,
	`{"choices":[],"usage":{"prompt_tokens":NUMBER,"completion_tokens":NUMBER}}`,
	`{"error":"TEXT"}`,
	`{"type":"response.output_item.added","output_index":NUMBER,"item":{"type":"function_call","call_id":"c","name":"n"}}`,
	`{"type":"response.output_text.delta","sequence_number":NUMBER,"item_id":"TEXT","output_index":NUMBER,"delta":"TEXT","obfuscation":"TEXT"}`,
	`{"type":"response.reasoning_text.delta","sequence_number":NUMBER,"delta":"TEXT"}`,
	`{"type":"response.function_call_arguments.delta","output_index":NUMBER,"delta":"TEXT"}`,
	`{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":NUMBER,"output_tokens":NUMBER}}}`,
	`{"type":"content_block_start","index":NUMBER,"content_block":{"type":"text","text":"TEXT"}}`,
	`{"type":"content_block_start","index":NUMBER,"content_block":{"type":"tool_use","id":"i","name":"n","input":{}}}`,
	`{"type":"content_block_delta","index":NUMBER,"delta":{"type":"text_delta","text":"TEXT"}}`,
	`{"type":"content_block_delta","index":NUMBER,"delta":{"type":"thinking_delta","thinking":"TEXT"}}`,
	`{"type":"content_block_delta","index":NUMBER,"delta":{"type":"input_json_delta","partial_json":"TEXT"}}`,
	`{"type":"content_block_stop","index":NUMBER}`,
	`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":NUMBER}}`,
}

// numbers are such, but for the last.
var numbers = []string{"0", "1", "2", "10", "01"}

// texts stand between quotes as they are, some of which no JSON allows.
var texts = []string{
	"", " ", "a", "word ", "東京", `\"`, `\\`, `\n`, `\/`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, `\u12`, `\u12"`, `\u12g4`, `\u12G4`, `\r\t\b\f`, `\x`, `{\"a\":`, `}`, `{}`,
	`a"`, "\x01", "\xff", "<think>", "</think>", "<", "think>", "`<think>",
}

// written fills the places of a shape in turn.
func written(shape string, numbers, texts func() string) string {
	var out strings.Builder
	for shape != "" {
		text, number := strings.Index(shape, "TEXT"), strings.Index(shape, "NUMBER")
		switch {
		case text < 0 && number < 0:
			return "data: " + out.String() + shape + "\n\n"
		case number < 0 || text >= 0 && text < number:
			out.WriteString(shape[:text] + texts())
			shape = shape[text+len("TEXT"):]
		default:
			out.WriteString(shape[:number] + numbers())
			shape = shape[number+len("NUMBER"):]
		}
	}
	return out.String()
}

// A document that is compared with the one before says what it would say if it were parsed.
func TestRepeatsSayTheSame(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "openai", "testdata", "wire", "*.sse"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		requireSame(t, body)
	}
	const end = "data: [DONE]\n\n"
	always := func(s string) func() string { return func() string { return s } }
	for _, shape := range shapes {
		first := written(shape, always("0"), always("x"))
		for _, number := range numbers[1:] {
			requireSame(t, []byte(first+written(shape, always(number), always("y"))+end))
		}
		for _, text := range texts {
			requireSame(t, []byte(first+written(shape, always("0"), always(text))+first+end))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string, from []string) func() string {
			return func() string { return rapid.SampledFrom(from).Draw(t, label) }
		}
		var body strings.Builder
		for range rapid.IntRange(1, 8).Draw(t, "shapes") {
			shape := draw("shape", shapes)()
			for range rapid.IntRange(1, 4).Draw(t, "times") {
				body.WriteString(written(shape, draw("number", numbers), draw("text", texts)))
			}
		}
		requireSame(t, []byte(body.String()+end))
	})
}

// Whatever comes, documents that are compared say what they would say if they were parsed. An
// input is read six times, so that the minute for which each new one is made smaller by default
// leaves no time to look for others: fuzz with -fuzzminimizetime 100x, as make fuzz does.
func FuzzRepeats(f *testing.F) {
	for _, shape := range shapes {
		f.Add(strings.ReplaceAll(shape, "NUMBER", "1"), `a\n`, `\ud83d\ude00b`)
	}
	f.Fuzz(func(t *testing.T, shape, first, second string) {
		var body strings.Builder
		for _, text := range []string{first, second, first + second} {
			body.WriteString("data: " + strings.ReplaceAll(shape, "TEXT", text) + "\n\n")
		}
		requireSame(t, []byte(body.String()+"data: [DONE]\n\n"))
	})
}

// A token costs nothing but the room that its text takes: neither memory nor a delta of its own.
func TestTokensAreCheap(t *testing.T) {
	for api, shape := range map[string]string{
		"chat":      `{"id":"c","choices":[{"index":0,"delta":{"content":"a\"b"},"finish_reason":null}],"obfuscation":"%0[2]*[1]d"}`,
		"responses": `{"type":"response.output_text.delta","sequence_number":%[1]d,"item_id":"%[1]d","output_index":0,"delta":"a\nb","obfuscation":"%0[2]*[1]d"}`,
		"messages":  `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"%[1]d%[2]d"}}`,
	} {
		body := func(tokens int) []byte {
			var b bytes.Buffer
			for i := range tokens {
				line := fmt.Sprintf(shape, i, 1+i%7)
				if api == "messages" && i > 0 {
					line = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a b"}}`
				}
				fmt.Fprintf(&b, "data: %s\n\n", line)
			}
			return b.Bytes()
		}
		cost := func(tokens int) (allocated float64, deltas int) {
			reader := readers(body(tokens))[api]
			read := func() {
				for delta := range reader.Stream(context.Background(), llm.Request{Model: "m"}) {
					if delta.Text != "" {
						deltas++
					}
				}
			}
			read()
			return testing.AllocsPerRun(1, read), deltas / 3
		}
		few, fewDeltas := cost(1000)
		many, manyDeltas := cost(3000)
		require.Less(t, manyDeltas-fewDeltas, 100, "%s: deltas of 2,000 tokens", api)
		require.Less(t, many-few, 200.0, "%s: allocations for 2,000 tokens", api)
	}
}
