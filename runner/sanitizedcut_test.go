package runner_test

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// Proves R61, R73 over real HTTP: whenever the process dies while a conversation with personal
// data is handed over, before or after any append, the one that takes it up has the same
// placeholders for the same values, and neither sent a target anything else.
func TestPlaceholdersSurviveDeathAtEveryAppend(t *testing.T) {
	race.Processes(t)
	undisturbed := dying(0, false)
	want := handOverSecrets(t, undisturbed)
	require.Equal(t, []string{"I write to ann@example.org and bob@example.com.", "I write to ann@example.org and bob@example.com."}, want.answers)
	require.Equal(t, map[string]string{
		"[EMAIL_1]": "ann@example.org", "[CARD_1]": "4111 1111 1111 1111", "[PASSWORD_1]": "hunter2", "[CUSTOMER_1]": "K-123456", "[EMAIL_2]": "bob@example.com",
	}, want.values)
	for at := 1; at <= undisturbed.Appends(); at++ {
		for _, after := range []bool{false, true} {
			require.Equal(t, want, handOverSecrets(t, dying(at, after)), "append %d after=%v", at, after)
		}
	}
	t.Logf("%d appends", undisturbed.Appends())
}

// handedOver is what must be the same whenever the process died: what placeholders stand for,
// the answers with the values put back, and what the target read last.
type handedOver struct {
	values  map[string]string
	answers []string
	read    []heardMessage
}

// handOverSecrets has two messages with personal data answered by a specialist that a question
// and a handoff lead to, in a process that may die, and then in one that does not.
func handOverSecrets(t *testing.T, dying mortal) (got handedOver) {
	t.Helper()
	const alpha, beta = "You are Alpha", "You are Beta"
	model := &heardModel{bodies: map[string][]string{}, replies: map[string][]scripted{boss: nil, alpha: nil, beta: nil}}
	model.think = func(who string, messages []heardMessage) scripted {
		last := messages[len(messages)-1]
		switch {
		case who == beta:
			return scripted{text: "Yes, [EMAIL_1] is known."}
		case who == boss && last.Role == "user":
			return scripted{calls: []events.ToolCall{llmtest.Call("ask_specialists", args{"question": "Is ann@example.org with hunter2 known?", "specialists": []string{"beta"}})}}
		case who == boss:
			return scripted{calls: []events.ToolCall{llmtest.Call("handoff_conversation", args{
				"target": "alpha", "reason": "asks for ann@example.org", "summary": "K-123456 logs in with hunter2", "recent_message_count": 4,
			})}}
		case last.Role != "tool":
			return scripted{calls: []events.ToolCall{llmtest.Call("read_thread", args{})}}
		}
		got.read = messages
		return scripted{text: "I write to [EMAIL_1] and [EMAIL_2]."}
	}
	server := httptest.NewServer(model)
	defer server.Close()
	client := openai.New(openai.Config{Config: wire.Config{Provider: "sim", BaseURL: server.URL + "/v1", IdleTimeout: time.Minute}})
	k := &talk{t: t, log: dying, thread: chat}
	process := func() *runner.Runner {
		return newWith(t, runner.Config{Log: k.log, Models: endpointModels{&llm.Endpoint{Name: "sim", Client: client, Limiter: llm.NewLimiter(llm.LimiterConfig{})}}})
	}
	r, tm := process(), twoTalkers(func(tm *team.Team) {
		tm.Handoff.ShareMessages, tm.Sanitize = true, map[string]string{"customer": `K-\d{6}`}
	})
	for i, text := range []string{
		"I am ann@example.org, card 4111 1111 1111 1111, password: hunter2, customer K-123456. Have somebody write to me and to bob@example.com.",
		"And once more, please",
	} {
		job := runner.Job{Request: text, Team: tm, Thread: k.thread, Message: &runner.Message{ID: events.MessageID(fmt.Sprint("m", i))}}
		r = k.throughDeaths(r, job, process)
	}
	for _, who := range []string{alpha, beta} {
		require.NotEmpty(t, model.bodies[who])
		for _, body := range model.bodies[who] {
			for _, secret := range secrets {
				require.NotContains(t, body, secret, who)
			}
		}
	}
	th := k.fold()
	got.values = map[string]string{}
	for _, replaced := range of[events.ValuesReplaced](k) {
		for _, value := range replaced.Values {
			require.NotContains(t, got.values, value.Placeholder)
			got.values[value.Placeholder] = value.Original
		}
	}
	for _, answer := range of[events.FinalAnswer](k) {
		got.answers = append(got.answers, th.Values.Restore(answer.Content))
	}
	return got
}
