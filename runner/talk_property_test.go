package runner_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/eventstest"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/thread"
)

// Over any sequence of messages, handoffs, steps, returns, exits and deaths of the process
// every message is answered once and in order, by whoever had the conversation, one
// session at most is open, and no history that a model is sent lacks a result.
func TestAnyConversation(t *testing.T) {
	longest := 4
	if race.Enabled {
		longest = 1
	}
	rapid.Check(t, func(rt *rapid.T) {
		model, tm := &thinker{t: t}, talkers()
		log, key := events.NewMemory(), events.ThreadKey{Tenant: events.LocalTenant, Thread: "7b2c5a60-93f0-4d7e-8f43-8c1a0c1f3e55"}
		texts := rapid.SliceOfN(rapid.SampledFrom([]string{"hello", "skill, please", "create skill", "more", "done", "cancel"}), 1, longest).Draw(rt, "texts")
		for i, text := range texts {
			job := runner.Job{Request: text, Team: tm, Thread: key.Thread, Message: &runner.Message{ID: events.MessageID(fmt.Sprint("m", i))}}
			dies := rapid.IntRange(0, 8).Draw(rt, "dies at append")
			after := rapid.Bool().Draw(rt, "after")
			mortal := eventstest.NewFailpoint(log, func(p eventstest.Point) error {
				if p.Append == dies && p.After == after {
					return errDied
				}
				return nil
			})
			if err := sayOnce(t, mortal, model, job); err != nil {
				require.ErrorIs(t, err, errDied)
				require.NoError(t, sayOnce(t, log, model, job))
			}
		}
		th, err := thread.Load(context.Background(), log, key, 0)
		require.NoError(t, err)
		require.Len(t, th.Runs, len(texts))
		active := false
		for i, run := range th.Runs {
			require.Equal(t, texts[i], run.Started.Message)
			require.Equal(t, events.StatusCompleted, run.Status, run.Reason)
			require.NotNil(t, run.FinalAnswer)
			want := "Facilitator here."
			switch texts[i] {
			case "create skill", "skill, please":
				active = true
			case "done", "cancel":
				active = false
			}
			if active {
				want = "Next?"
			}
			require.Equal(t, want, run.FinalAnswer.Content, "%v at %d", texts, i)
		}
		require.Equal(t, active, th.Handoffs.Active() != nil)
	})
}

// sayOnce starts the run of the message, or takes it up where it was started already, and
// waits for its end.
func sayOnce(t *testing.T, log events.Log, model *thinker, job runner.Job) error {
	t.Helper()
	r := newRunner(t, log, model)
	run, err := r.Start(t.Context(), job)
	var answered *runner.AnsweredError
	if errors.As(err, &answered) {
		run, err = r.Resume(t.Context(), "", answered.Run, runner.Terms{})
	}
	if err == nil {
		_, err = run.Wait()
	}
	if errors.Is(err, events.ErrRunOver) {
		return nil
	}
	return err
}
