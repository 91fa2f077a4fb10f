package sim_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
)

// httpClient is a small client of the chat completions format that tries again
// whatever fails.
type httpClient struct {
	http  *http.Client
	url   string
	key   string
	run   string
	tries int // per request; 1 does not retry
	seen  map[string]int
}

type httpFailure struct {
	status int
	body   string
	header http.Header
}

func (f *httpFailure) Error() string { return fmt.Sprintf("HTTP %d: %s", f.status, f.body) }

var errUnfinished = errors.New("the stream ended without being whole")

func startServer(t *testing.T, options sim.Options) (*sim.Server, *httpClient) {
	t.Helper()
	server := sim.NewServer(options)
	listener := httptest.NewServer(server)
	client := &httpClient{http: &http.Client{Transport: &http.Transport{}}, url: listener.URL, tries: 1, seen: map[string]int{}}
	t.Cleanup(func() {
		client.http.CloseIdleConnections()
		listener.Close()
	})
	return server, client
}

func (c *httpClient) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		var err error
		for range c.tries {
			var done *llm.Completion
			if done, err = c.once(ctx, req); err == nil && (done.Reply.Text != "" || len(done.Reply.ToolCalls) > 0) {
				yield(llm.Delta{Done: done}, nil)
				return
			}
			if err == nil {
				c.seen["empty"]++
				err = errUnfinished
			}
		}
		yield(llm.Delta{}, err)
	}
}

func (c *httpClient) once(ctx context.Context, req llm.Request) (*llm.Completion, error) {
	resp, err := c.post(ctx, req, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		return nil, &httpFailure{resp.StatusCode, string(body), resp.Header}
	}
	return readStream(resp.Body)
}

func (c *httpClient) post(ctx context.Context, req llm.Request, stream bool) (*http.Response, error) {
	body := map[string]any{
		"model": req.Model, "messages": wireMessages(req.Messages), "stream": stream,
		"stream_options": map[string]any{"include_usage": true},
	}
	if req.ToolChoice != "" {
		body["tool_choice"] = string(req.ToolChoice)
	}
	var tools []any
	for _, t := range req.Tools {
		tools = append(tools, map[string]any{"type": "function", "function": map[string]any{
			"name": t.Name, "description": t.Description, "parameters": t.Parameters,
		}})
	}
	if tools != nil {
		body["tools"] = tools
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v1/chat/completions", bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	if c.key != "" {
		post.Header.Set("Authorization", "Bearer "+c.key)
	}
	if c.run != "" {
		post.Header.Set(sim.RunHeader, c.run)
	}
	return c.http.Do(post)
}

func wireMessages(messages []events.Message) []any {
	var list []any
	for _, m := range messages {
		wire := map[string]any{"role": m.Role, "content": m.Content}
		if m.ToolCallID != "" {
			wire["tool_call_id"] = m.ToolCallID
		}
		var calls []any
		for _, call := range m.ToolCalls {
			calls = append(calls, map[string]any{"id": call.ID, "type": "function",
				"function": map[string]any{"name": call.Name, "arguments": call.Arguments}})
		}
		if calls != nil {
			wire["tool_calls"] = calls
		}
		list = append(list, wire)
	}
	return list
}

// wireChunk is one chunk of a stream.
type wireChunk struct {
	Choices []struct {
		Delta struct {
			Role      string
			Content   string
			ToolCalls []struct {
				Index    int
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Details    struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	Error *struct{ Message string }
}

func readStream(body io.Reader) (*llm.Completion, error) {
	done, finished := &llm.Completion{}, false
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			finished = true
			break
		}
		var chunk wireChunk
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			return nil, err
		}
		if chunk.Error != nil {
			return nil, errors.New(chunk.Error.Message)
		}
		fold(done, chunk)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if !finished {
		return nil, errUnfinished
	}
	return done, nil
}

func fold(done *llm.Completion, chunk wireChunk) {
	if u := chunk.Usage; u != nil {
		done.Usage = events.Usage{InputTokens: u.Prompt, OutputTokens: u.Completion, CachedInputTokens: u.Details.Cached}
	}
	for _, choice := range chunk.Choices {
		done.Reply.Text += choice.Delta.Content
		if choice.FinishReason != "" {
			done.Reply.FinishReason = events.FinishReason(choice.FinishReason)
		}
		for _, call := range choice.Delta.ToolCalls {
			if call.Index == len(done.Reply.ToolCalls) {
				done.Reply.ToolCalls = append(done.Reply.ToolCalls, events.ToolCall{ID: events.CallID(call.ID), Name: call.Function.Name})
			}
			done.Reply.ToolCalls[call.Index].Arguments += call.Function.Arguments
		}
	}
}

func hello() llm.Request {
	return llm.Request{Model: "sim", Messages: []events.Message{{Role: events.RoleUser, Content: "Explain tides in a few words."}}}
}

func requireStatus(t *testing.T, err error, status int) *httpFailure {
	t.Helper()
	var failure *httpFailure
	require.ErrorAs(t, err, &failure)
	require.Equal(t, status, failure.status)
	return failure
}

const patience = time.Minute

// settled gives the report once all requests have ended: a client has its reply
// whole a moment before the server has noted so.
func settled(t *testing.T, server *sim.Server) sim.Report {
	t.Helper()
	require.Eventually(t, func() bool { return server.Report().InFlight == 0 }, patience, time.Millisecond)
	return server.Report()
}
