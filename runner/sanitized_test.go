package runner_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// scripted is a reply of [heardModel]: a text, or calls.
type scripted struct {
	text  string
	calls []events.ToolCall
}

// heardMessage is a message as a model reads it.
type heardMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// heardModel answers over HTTP what was scripted for the agent whose system prompt begins so,
// or what it thinks of the messages, and keeps what it was sent.
type heardModel struct {
	think func(who string, messages []heardMessage) scripted

	mu      sync.Mutex // guards what follows
	replies map[string][]scripted
	bodies  map[string][]string
	calls   int
}

func (m *heardModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var request struct {
		Messages []heardMessage `json:"messages"`
	}
	_ = json.Unmarshal(body, &request)
	m.mu.Lock()
	defer m.mu.Unlock()
	reply := scripted{text: "Nothing was scripted."}
	for who := range m.replies {
		if strings.Contains(request.Messages[0].Content, who) {
			m.bodies[who] = append(m.bodies[who], string(body))
			if m.think != nil {
				reply = m.think(who, request.Messages)
			} else if len(m.replies[who]) > 0 {
				reply, m.replies[who] = m.replies[who][0], m.replies[who][1:]
			}
		}
	}
	delta, finish := map[string]any{"content": reply.text}, "stop"
	if len(reply.calls) > 0 {
		var calls []any
		for i, c := range reply.calls {
			m.calls++
			calls = append(calls, map[string]any{"index": i, "id": fmt.Sprintf("%s%d", c.Name, m.calls), "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Arguments}})
		}
		delta, finish = map[string]any{"tool_calls": calls}, "tool_calls"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choice := range []map[string]any{{"index": 0, "delta": delta}, {"index": 0, "delta": map[string]any{}, "finish_reason": finish}} {
		chunk, _ := json.Marshal(map[string]any{"id": "x", "object": "chat.completion.chunk", "choices": []any{choice}})
		fmt.Fprintf(w, "data: %s\n\n", chunk)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// secrets are what no target may read, in the words of the user below.
var secrets = []string{"ann@example.org", "4111", "hunter2", "K-123456", "7700", "bob@example.com"}

// Proves R61 and R39 over real HTTP: whatever way a text goes to another agent, by a handoff
// with its messages, a trigger, a question, a delegation, or because the target looks it up, the
// target's model receives placeholders; the same ones in every process, from the log alone. What
// comes of it is restored from the log.
func TestTargetsReadPlaceholders(t *testing.T) {
	const alpha, beta = "You are Alpha", "You are Beta"
	ask := llmtest.Call("ask_specialists", args{"question": "Is ann@example.org with hunter2 known?", "specialists": []string{"beta"}})
	over := llmtest.Call("handoff_conversation", args{
		"target": "alpha", "reason": "asks for ann@example.org", "summary": "K-123456 logs in with hunter2", "recent_message_count": 4,
		"handoff_metadata": args{"card": 4111111111111111, "phone": "+44 7700 900123", "token": "hunter2"},
	})
	model := &heardModel{bodies: map[string][]string{}, replies: map[string][]scripted{
		boss:  {{text: "Noted: hunter2, and [EMAIL_1] too."}, {calls: []events.ToolCall{ask}}, {calls: []events.ToolCall{over}}, {text: "You left."}},
		alpha: {{calls: []events.ToolCall{llmtest.Call("read_thread", args{})}}, {text: "I write to [EMAIL_2], not to [EMAIL_1]."}, {text: "No."}},
		beta:  {{text: "Yes, [EMAIL_2] is."}, {text: "Paid for [EMAIL_2] and [EMAIL_3]."}, {text: "Maybe."}},
	}}
	server := httptest.NewServer(model)
	defer server.Close()
	tm := twoTalkers(func(tm *team.Team) {
		tm.Handoff.ShareMessages, tm.Sanitize = true, map[string]string{"customer": `K-\d{6}`}
	})
	k := &talk{t: t}
	path := filepath.Join(t.TempDir(), "store.db")
	inAnotherProcess := func(do func(r *runner.Runner)) { // nothing but the file is left of the one before
		log, err := sqlite.Open(t.Context(), path)
		require.NoError(t, err)
		defer log.Close()
		k.log = log
		client := openai.New(openai.Config{Config: wire.Config{Provider: "sim", BaseURL: server.URL + "/v1", IdleTimeout: time.Minute}})
		r, err := runner.New(runner.Config{Log: log, Models: endpointModels{&llm.Endpoint{Name: "sim", Client: client, Limiter: llm.NewLimiter(llm.LimiterConfig{})}}})
		require.NoError(t, err)
		do(r)
	}
	for _, text := range []string{
		"I am ann@example.org, card 4111 1111 1111 1111, password: hunter2, customer K-123456. What is [EMAIL_1]?",
		"Make me a skill and call me at +44 7700 900123",
		"cancel",
		"pay invoice for ann@example.org to bob@example.com",
	} {
		inAnotherProcess(func(r *runner.Runner) {
			run, err := r.Start(t.Context(), runner.Job{Request: text, Team: tm, Thread: k.thread, Message: &runner.Message{}})
			require.NoError(t, err)
			_, err = run.Wait()
			require.NoError(t, err)
			k.thread = run.Key().Thread
		})
	}
	inAnotherProcess(func(r *runner.Runner) {
		th := k.fold()
		messages := th.Messages(0, 0)
		require.Contains(t, th.Values.Restore(messages[len(messages)-1].Content), "Paid for ann@example.org and bob@example.com.")
		var answers []string
		for _, env := range k.envs() {
			if e, ok := env.Data.(events.FinalAnswer); ok {
				answers = append(answers, th.Values.Restore(e.Content))
			}
			if e, ok := env.Data.(events.ValuesReplaced); ok {
				body, err := events.Encode(env)
				require.NoError(t, err)
				require.Contains(t, string(body), e.Values[0].Original)
				require.NotContains(t, string(events.ForViewers(body)), e.Values[0].Original)
			}
		}
		require.Equal(t, "I write to ann@example.org, not to [EMAIL_1].", answers[1])
		_, replies, err := r.Delegate(t.Context(), runner.Job{Team: tm}, facilitator.Delegation{Question: "Who is ann@example.org?", Strategy: facilitator.Sequential})
		require.NoError(t, err)
		require.Len(t, replies, 2)
	})
	require.Len(t, model.bodies[alpha], 3)
	require.Len(t, model.bodies[beta], 3)
	for _, who := range []string{alpha, beta} {
		for _, body := range model.bodies[who] {
			for _, secret := range secrets {
				at := strings.Index(body, secret)
				require.Negative(t, at, "%s reads %s: %s", who, secret, body[max(0, at-200):min(len(body), max(0, at)+100)])
			}
		}
	}
	require.Contains(t, model.bodies[alpha][1], "What is [TEXT_1]?")
	require.Contains(t, model.bodies[alpha][0], "[CUSTOMER_1] logs in with [PASSWORD_1]")
	require.Contains(t, model.bodies[beta][0], "Is [EMAIL_2] with [PASSWORD_1] known?")
	require.Contains(t, model.bodies[beta][1], "pay invoice for [EMAIL_2] to [EMAIL_3]")
	require.Contains(t, model.bodies[boss][0], "hunter2") // to whom it was said
}
