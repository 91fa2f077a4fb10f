package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/thread"
)

// What is written stands on stdout once, however it came: streamed in part, in two attempts,
// beside tool calls, or not at all.
func TestAnswerIsPrintedOnce(t *testing.T) {
	t.Parallel()
	const answer = "First.\n\nSecond, which is longer.\n\nThird."
	write := func(v *answerView, live *agent.Live, run *thread.Run, call events.ModelCallID, text string) {
		if call != "" {
			live.Asks(call)
		}
		live.Take(&llm.Delta{Text: text})
		require.NoError(t, v.tick(run, time.Now(), ""))
	}
	for name, test := range map[string]struct {
		streams func(v *answerView, live *agent.Live, run *thread.Run)
		want    string
		done    bool
	}{
		"in pieces": {func(v *answerView, live *agent.Live, run *thread.Run) {
			write(v, live, run, "f.1", answer[:12])
			write(v, live, run, "", answer[12:30])
			write(v, live, run, "", answer[30:])
		}, "  First.\n\n  Second, which is longer.\n\n  Third.\n\n", true},
		"its beginning": {func(v *answerView, live *agent.Live, run *thread.Run) {
			write(v, live, run, "f.1", answer[:12])
		}, "  First.\n\n  Second, which is longer.\n\n  Third.\n\n", true},
		"nothing that is complete": {func(v *answerView, live *agent.Live, run *thread.Run) {
			write(v, live, run, "f.1", answer[:5])
		}, "", false},
		"nothing": {func(*answerView, *agent.Live, *thread.Run) {}, "", false},
		"another text before": {func(v *answerView, live *agent.Live, run *thread.Run) {
			write(v, live, run, "f.1", "Not so.\n\nBut")
			write(v, live, run, "f.2", answer[:12])
		}, "  Not so.\n(broken off)\n\n  First.\n\n  Second, which is longer.\n\n  Third.\n\n", true},
		"another attempt": {func(v *answerView, live *agent.Live, run *thread.Run) {
			write(v, live, run, "f.1", "First.\n\nSecond, but")
			live.Take(&llm.Delta{Retry: &llm.Retry{}})
			live.Take(&llm.Delta{Sent: 2})
			write(v, live, run, "", answer)
		}, "  First.\n(broken off)\n\n  First.\n\n  Second, which is longer.\n\n  Third.\n\n", true},
		"words beside a call": {func(v *answerView, live *agent.Live, run *thread.Run) {
			write(v, live, run, "f.1", "I plan it.")
			live.Take(&llm.Delta{Fragment: `{"tasks":`, Index: 0})
			require.NoError(t, v.tick(run, time.Now(), ""))
			require.NoError(t, v.event(run, events.Envelope{Run: run.ID, Data: events.ModelCalled{ID: "f.1"}}))
			require.NoError(t, v.event(run, events.Envelope{Run: run.ID, Data: events.FacilitatorMessage{Content: "I plan it."}}))
			require.NoError(t, v.tick(run, time.Now(), ""))
		}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			th := thread.New()
			require.NoError(t, th.Apply(events.Envelope{
				Tenant: events.LocalTenant, Thread: "t", Run: "r", Seq: 1, Data: events.WorkflowStarted{Message: "Plan"},
			}))
			run := th.Current()
			out := &bytes.Buffer{}
			live := &agent.Live{Agent: events.FacilitatorID}
			d := &driver{app: &app{out: out, err: out, env: func(string) string { return "" }}}
			v := d.newAnswerView(func() []*agent.Live { return []*agent.Live{live} })
			test.streams(v, live, run)
			require.NoError(t, v.event(run, events.Envelope{Run: "r", Data: events.ModelCalled{ID: "f.2"}}))
			require.NoError(t, v.event(run, events.Envelope{Run: "r", Data: events.FinalAnswer{Content: answer}}))
			require.NoError(t, v.tick(run, time.Now(), ""))
			require.NoError(t, v.close())
			require.Equal(t, test.want, strings.TrimLeft(out.String(), "\n"))
			require.Equal(t, test.done, v.done)
		})
	}
}
