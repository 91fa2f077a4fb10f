package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	lib "github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/wire"
)

const benchChunks = 25

// benchBody is a reply of 25 chunks as OpenAI writes them, with usage and [DONE].
func benchBody() []byte {
	var b bytes.Buffer
	for i := range benchChunks {
		fmt.Fprintf(&b, `data: {"id":"chatcmpl-C2QD1kGWsTW5OWiqAtOSFEAOfPfQH","object":"chat.completion.chunk","created":1754693439,"model":"gpt-4o-2024-08-06",`+
			`"service_tier":"default","system_fingerprint":"fp_07871e2ad8","choices":[{"index":0,"delta":{"content":" word%d and"},"logprobs":null,"finish_reason":null}],"usage":null}`+"\n\n", i)
	}
	b.WriteString(`data: {"id":"c","object":"chat.completion.chunk","model":"gpt-4o","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n")
	b.WriteString(`data: {"id":"c","object":"chat.completion.chunk","model":"gpt-4o","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":25,"total_tokens":35}}` + "\n\n")
	b.WriteString("data: [DONE]\n\n")
	return b.Bytes()
}

// memory answers from memory, so that only the client is measured.
type memory []byte

func (m memory) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = r.Body.Close()
	return m.Do(r)
}

func (m memory) Do(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(m)),
	}, nil
}

func readWithLibrary(ctx context.Context, client *lib.Client) (string, error) {
	stream, err := client.CreateChatCompletionStream(ctx, lib.ChatCompletionRequest{
		Model: "m", Messages: []lib.ChatCompletionMessage{{Role: "user", Content: "hi"}}, StreamOptions: &lib.StreamOptions{IncludeUsage: true},
	})
	if err != nil {
		return "", err
	}
	defer func() { _ = stream.Close() }()
	var text strings.Builder
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return text.String(), nil
		}
		if err != nil {
			return "", err
		}
		if len(chunk.Choices) > 0 {
			text.WriteString(chunk.Choices[0].Delta.Content)
		}
	}
}

func readWithOurs(ctx context.Context, client *Client) (string, error) {
	var text strings.Builder
	for d, err := range client.Stream(ctx, llm.Request{Model: "m", Messages: []events.Message{{Role: events.RoleUser, Content: "hi"}}}) {
		if err != nil {
			return "", err
		}
		text.WriteString(d.Text)
	}
	return text.String(), nil
}

// BenchmarkReadReply reads one reply of 25 chunks, whole calls from memory: what
// the client itself costs, beside the library.
func BenchmarkReadReply(b *testing.B) {
	body := memory(benchBody())
	cfg := lib.DefaultConfig("k")
	cfg.HTTPClient = body
	library := lib.NewClientWithConfig(cfg)
	ours := New(Config{})
	ours.SetTransport(body)
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := readWithLibrary(b.Context(), library)
			require.NoError(b, err)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchChunks, "ns/chunk")
	})
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := readWithOurs(b.Context(), ours)
			require.NoError(b, err)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchChunks, "ns/chunk")
	})
}

// BenchmarkOverHTTP is the same over a connection, chunk by chunk; the server's own
// work is in both.
func BenchmarkOverHTTP(b *testing.B) {
	body := benchBody()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for chunk := range bytes.SplitAfterSeq(body, []byte("\n\n")) {
			_, _ = w.Write(chunk)
			w.(http.Flusher).Flush()
		}
	}))
	defer server.Close()
	cfg := lib.DefaultConfig("k")
	cfg.BaseURL = server.URL
	library := lib.NewClientWithConfig(cfg)
	ours := New(Config{Config: wire.Config{BaseURL: server.URL}})
	defer ours.Close()
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			_, err := readWithLibrary(b.Context(), library)
			require.NoError(b, err)
		}
	})
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			_, err := readWithOurs(b.Context(), ours)
			require.NoError(b, err)
		}
	})
}

// A reader that costs more than a third of the library's has lost its reason.
func TestReadingIsCheap(t *testing.T) {
	body := memory(benchBody())
	cfg := lib.DefaultConfig("k")
	cfg.HTTPClient = body
	library := lib.NewClientWithConfig(cfg)
	ours := New(Config{})
	ours.SetTransport(body)
	expected, err := readWithLibrary(t.Context(), library)
	require.NoError(t, err)
	got, err := readWithOurs(t.Context(), ours)
	require.NoError(t, err)
	require.Equal(t, expected, got)
	race.Skip(t, "times")
	timed := func(least time.Duration, read func()) time.Duration {
		start := time.Now()
		for range 20 {
			read()
		}
		return min(least, time.Since(start))
	}
	theirs, mine := time.Hour, time.Hour
	for range 100 { // in turns, so that what else the machine does meets both
		theirs = timed(theirs, func() { _, _ = readWithLibrary(t.Context(), library) })
		mine = timed(mine, func() { _, _ = readWithOurs(t.Context(), ours) })
	}
	require.Less(t, float64(mine)/float64(theirs), 0.5, "ours %s, the library %s", mine, theirs)
}

// BenchmarkEncodeRequest writes the request of a long history with tools.
func BenchmarkEncodeRequest(b *testing.B) {
	req := llm.Request{Model: "m"}
	for i := range 20 {
		req.Tools = append(req.Tools, llm.Tool{Name: fmt.Sprint("tool", i), Description: strings.Repeat("d", 200), Parameters: []byte(`{"type":"object","properties":{"a":{"type":"string"}}}`)})
		req.Messages = append(req.Messages, events.Message{Role: events.RoleUser, Content: strings.Repeat("some text with \"quotes\"\n", 40)},
			events.Message{Role: events.RoleAssistant, ToolCalls: []events.ToolCall{{ID: "c", Name: "tool1", Arguments: `{"a":"b"}`}}},
			events.Message{Role: events.RoleTool, ToolCallID: "c", Content: strings.Repeat("result ", 100)})
	}
	var out []byte
	cfg := Config{}.withDefaults()
	b.ReportAllocs()
	for b.Loop() {
		out = appendRequest(out[:0], &req, nil, &cfg, llm.Kept{}, 0)
	}
	b.SetBytes(int64(len(out)))
}
