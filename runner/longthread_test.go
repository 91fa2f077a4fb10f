package runner_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/runner"
)

// narrow is a model whose window nobody knows: it refuses what is too long for it.
type narrow struct {
	*thinker
	mu sync.Mutex // guards what follows
	// refused counts the requests that were too long. summarized are what it was asked to
	// summarize, answered what it answered otherwise.
	refused              int
	summarized, answered [][]events.Message
}

// narrowBytes is more than a part of a history that is summarized at once, and the prompts.
const narrowBytes = 40_000

func (m *narrow) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	size := 0
	for _, message := range req.Messages {
		size += len(message.Content)
	}
	last := req.Messages[len(req.Messages)-1].Content
	switch {
	case size > narrowBytes:
		m.refused++
		return func(yield func(llm.Delta, error) bool) {
			yield(llm.Delta{}, &llm.Error{Kind: llm.ErrContextLength, Message: "too long"})
		}
	case strings.Contains(last, "Summarize the work above"):
		m.summarized = append(m.summarized, req.Messages)
		reply := events.Reply{Text: fmt.Sprintf("summary %d", len(m.summarized)), FinishReason: events.FinishStop}
		return func(yield func(llm.Delta, error) bool) {
			yield(llm.Delta{Done: &llm.Completion{Reply: reply, Model: "sim", Provider: "sim", Attempts: 1}}, nil)
		}
	}
	m.answered = append(m.answered, req.Messages)
	return m.thinker.Stream(ctx, req)
}

// A thread that is longer than the window of a model goes on: all that was said is in what
// the model was asked to summarize, and it answers the user's newest message in its words, be
// it the facilitator or a specialist that has the conversation.
func TestThreadLongerThanTheWindow(t *testing.T) {
	for name, opening := range map[string]string{"facilitator": "hello", "session": "create skill"} {
		t.Run(name, func(t *testing.T) {
			model := &narrow{thinker: &thinker{t: t}}
			r := newRunner(t, events.NewMemory(), model)
			talk := r.Conversation(runner.Job{Team: talkers()})
			say := func(text string) {
				receipt, err := talk.Send(t.Context(), text)
				require.NoError(t, err)
				result, err := receipt.Run.Wait()
				require.NoError(t, err)
				require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
				where, err := talk.Context(t.Context())
				require.NoError(t, err)
				require.Equal(t, name == "session", where.Handoff != nil)
			}
			say(opening)
			var marks []string
			for i := range 10 {
				marks = append(marks, fmt.Sprintf("begin-%d", i), fmt.Sprintf("end-%d", i))
				say(marks[2*i] + strings.Repeat(" temple", 1000) + " " + marks[2*i+1])
			}
			require.Positive(t, model.refused)
			say("And now?")
			newest := model.answered[len(model.answered)-1]
			var read strings.Builder
			for _, messages := range append(model.summarized, newest) {
				for _, message := range messages {
					read.WriteString(message.Content)
				}
			}
			for _, mark := range marks {
				require.Contains(t, read.String(), mark)
			}
			require.Contains(t, fmt.Sprint(newest), "summary")
			for _, messages := range model.answered {
				said := 0
				for _, message := range messages {
					if message.Role == events.RoleUser && !strings.HasPrefix(message.Content, "Summary of") {
						said++
					}
				}
				require.Positive(t, said, "the user's message is there in its own words")
			}
		})
	}
}
