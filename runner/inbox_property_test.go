package runner_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/eventstest"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/thread"
)

// asker is a model that answers by what it reads: "ask" it answers with a question to the
// user, "twice" with two at once, "hand over" with a handoff. It checks every history that it
// is sent.
type asker struct {
	t     testing.TB
	asked atomic.Int64
}

func (m *asker) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	requireValid(m.t, req.Messages)
	id := m.asked.Add(1)
	last := req.Messages[len(req.Messages)-1]
	reply := events.Reply{Text: "re: " + last.Content, FinishReason: events.FinishStop}
	call := func(calls ...events.ToolCall) {
		for i := range calls {
			calls[i].ID = events.CallID(fmt.Sprintf("c%d_%d", id, i))
		}
		reply = events.Reply{ToolCalls: calls, FinishReason: events.FinishToolCalls}
	}
	talks := strings.Contains(req.Messages[0].Content, alphaTalks)
	switch {
	case last.Role == events.RoleTool:
	case talks && last.Content == "done":
		call(giveBack("completed", "ok"))
	case talks:
	case last.Content == "ask":
		call(askUser("Which?"))
	case last.Content == "twice":
		call(askUser("Which?"), create("beta"), askUser("When?"))
	case last.Content == "hand over":
		call(askUser("Really?"), handoff("alpha"))
	}
	return func(yield func(llm.Delta, error) bool) {
		for i := range reply.ToolCalls {
			if !yield(llm.Delta{Index: i, Call: &reply.ToolCalls[i]}, nil) {
				return
			}
		}
		if reply.Text != "" && !yield(llm.Delta{Text: reply.Text}, nil) {
			return
		}
		yield(llm.Delta{Done: &llm.Completion{Reply: reply, Model: "sim", Provider: "sim", Attempts: 1}}, nil)
	}
}

// office is a thread with the process that works on it, which may die: another one then goes
// on.
type office struct {
	t      *testing.T
	model  *asker
	team   runner.Job
	log    *events.Memory
	r      *runner.Runner
	deaths int
}

func newOffice(t *testing.T) *office {
	return &office{t: t, model: &asker{t: t}, team: runner.Job{Thread: chat, Team: talkers()}, log: events.NewMemory()}
}

// open begins a process that dies at its nth append, 0 for never.
func (o *office) open(dies int, after bool) *eventstest.Failpoint {
	log := eventstest.NewFailpoint(o.log, func(eventstest.Point) error { return nil })
	if dies > 0 {
		log = eventstest.NewFailpoint(o.log, eventstest.FailAt(eventstest.Point{Append: dies, After: after}, errDied))
	}
	o.r = newRunner(o.t, log, o.model)
	return log
}

// until does it again, in another process, until no process has died of it.
func (o *office) until(do func(*runner.Conversation) error) {
	for {
		err := do(o.r.Conversation(o.team))
		if !errors.Is(err, errDied) {
			require.NoError(o.t, err)
			return
		}
		require.NoError(o.t, ignoreDeath(o.r.Shutdown(o.t.Context())))
		o.deaths++
		o.open(0, false)
	}
}

func ignoreDeath(err error) error {
	if errors.Is(err, errDied) {
		return nil
	}
	return err
}

// say sends a message and waits for what this process drives for it.
func (o *office) say(text string, message runner.Message) {
	o.until(func(c *runner.Conversation) error {
		receipt, err := c.Deliver(o.t.Context(), text, message)
		if errors.Is(err, runner.ErrNothingAsked) {
			return nil
		}
		if err == nil && receipt.Stalled != nil {
			err = receipt.Stalled
		}
		if err == nil && receipt.Run != nil {
			_, err = receipt.Run.Wait()
		}
		return err
	})
}

// settle has the thread come to rest: the queue is drained, by other processes if this one
// dies, and all questions are answered.
func (o *office) settle() *thread.Thread {
	for i := 0; ; i++ {
		th := load(o.t, o.log)
		switch open := th.Inputs(); {
		case len(open) > 0:
			o.say("Nara", runner.Message{ID: events.MessageID(fmt.Sprint("settle", i)), InputID: open[0].InputID})
		case th.Quiet():
			return th
		case len(th.Queue()) > 0:
			queued := th.Queue()[0]
			o.say(queued.Content, runner.Message{ID: queued.MessageID}) // a duplicate: it has the queue drained
		default:
			o.say(th.Current().Started.Message, runner.Message{ID: th.Current().Started.MessageID})
		}
		o.await()
	}
}

// await waits until nothing is driven here any more.
func (o *office) await() {
	for runs := o.r.Runs(); len(runs) > 0; runs = o.r.Runs() {
		_, _ = runs[0].Wait()
	}
}

// A process that dies before or after any append, in every state of queue and input, is
// followed by another that goes on: each message is answered once, in order, and no question
// is asked twice.
func TestInboxSurvivesDeathAtEveryAppend(t *testing.T) {
	talk := func(o *office) []string {
		o.say("twice", runner.Message{ID: "m1"})
		o.say("two", runner.Message{ID: "m2", Delivery: events.DeliveryQueue})
		o.say("Nara", runner.Message{ID: "m3", InputID: "i2"})
		o.say("Kyoto", runner.Message{ID: "m4", InputID: "i1"})
		o.say("hand over", runner.Message{ID: "m5", Delivery: events.DeliveryQueue})
		th := o.settle()
		return append(exchanges(th), fmt.Sprint(len(th.Messages(0, 0))))
	}
	undisturbed := newOffice(t)
	log := undisturbed.open(0, false)
	want := talk(undisturbed)
	require.Equal(t, "two → re: two", want[1])
	require.NoError(t, undisturbed.r.Shutdown(t.Context()))

	from, every := race.Every(5, 1)
	for at := from; at <= log.Appends(); at += every {
		for _, after := range []bool{false, true} {
			o := newOffice(t)
			o.open(at, after)
			require.Equal(t, want, talk(o), "append %d after=%v", at, after)
			require.NoError(t, ignoreDeath(o.r.Shutdown(t.Context())))
			for _, env := range envsOf(t, o.log) {
				if warning, ok := env.Data.(events.Warning); ok {
					require.NotEqual(t, events.WarnOutcomeUnknown, warning.Code)
				}
			}
		}
	}
}

// Over any sequence of messages, steering, answers, handoffs, exits, cancellations and deaths
// every message that was taken has one run, in the order of the log; what was steered or
// answered is in its run; the thread comes to rest; and no history that a model is sent lacks
// a result.
func TestAnyInbox(t *testing.T) {
	longest := 10
	if race.Enabled {
		longest = 4
	}
	rapid.Check(t, func(rt *rapid.T) {
		o := newOffice(t)
		restart := func() {
			if o.r != nil {
				require.NoError(t, ignoreDeath(o.r.Shutdown(t.Context())))
			}
			o.open(rapid.IntRange(0, 12).Draw(rt, "dies at"), rapid.Bool().Draw(rt, "after"))
		}
		restart()
		o.say("hello", runner.Message{ID: "m0"})
		for i := range rapid.IntRange(1, longest).Draw(rt, "steps") {
			id := events.MessageID(fmt.Sprint("m", i+1))
			text := rapid.SampledFrom([]string{"hello", "ask", "twice", "hand over", "create skill", "done", "cancel"}).Draw(rt, "text")
			switch rapid.SampledFrom([]string{"say", "say", "queue", "steer", "answer", "hand off", "leave", "cancel", "restart"}).Draw(rt, "what") {
			case "say":
				o.say(text, runner.Message{ID: id})
			case "queue":
				o.say(text, runner.Message{ID: id, Delivery: events.DeliveryQueue})
			case "steer":
				o.say(text, runner.Message{ID: id, Delivery: events.DeliverySteer})
			case "answer":
				if open := load(t, o.log).Inputs(); len(open) > 0 {
					o.say(text, runner.Message{ID: id, InputID: rapid.SampledFrom(open).Draw(rt, "input").InputID})
				}
			case "hand off":
				o.until(func(c *runner.Conversation) error {
					_, err := c.HandOff(t.Context(), to("alpha"))
					var rejected *conversation.RejectedError
					if errors.As(err, &rejected) || errors.Is(err, runner.ErrBusy) {
						return nil
					}
					return err
				})
			case "leave":
				o.until(func(c *runner.Conversation) error {
					if err := c.Return(t.Context(), conversation.Caller{UserID: "ann"}); !errors.Is(err, conversation.ErrNoHandoff) && !errors.Is(err, runner.ErrBusy) {
						return err
					}
					return nil
				})
			case "cancel":
				o.until(func(*runner.Conversation) error {
					if current := load(t, o.log).Current(); !current.Status.Over() {
						if err := o.r.Cancel(t.Context(), "", current.ID, "enough"); !errors.Is(err, events.ErrRunOver) {
							return err
						}
					}
					return nil
				})
			case "restart":
				restart()
			}
		}
		o.await()
		requireAllAnswered(t, o.settle(), envsOf(t, o.log))
		require.NoError(t, ignoreDeath(o.r.Shutdown(t.Context())))
	})
}

// requireAllAnswered checks what a thread at rest has done with what was sent to it.
func requireAllAnswered(t testing.TB, th *thread.Thread, envs []events.Envelope) {
	t.Helper()
	var sent, started []events.MessageID
	for _, env := range envs {
		switch e := env.Data.(type) {
		case events.UserMessage:
			taken := th.Sent(e.MessageID)
			switch {
			case e.Synthetic || taken == nil || slices.Contains(sent, e.MessageID):
			case env.Run == "" || taken.Run.ID != env.Run && th.Run(env.Run).Cancelled: // one that hears nothing more leaves it to another
				sent = append(sent, e.MessageID)
			default:
				require.Equal(t, env.Run, taken.Run.ID)
			}
		case events.WorkflowStarted:
			if e.MessageID != "" {
				started = append(started, e.MessageID)
			}
		}
	}
	require.Equal(t, sent, started)
	for _, run := range th.Runs {
		require.True(t, run.Status.Over())
		for _, input := range run.Inputs() {
			require.True(t, input.Settled || run.Cancelled, "%s of a run that is %s", input.InputID, run.Status)
		}
	}
}
