package runner_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/thread"
)

// echo is a model that repeats what it was told last. A message that is "wait" it answers
// once it may go on.
type echo struct {
	t testing.TB
	// asked gets the message that is to wait, once it is being answered.
	asked, goOn chan struct{}
}

func newEcho(t testing.TB) *echo {
	return &echo{t: t, asked: make(chan struct{}, 100), goOn: make(chan struct{}, 100)}
}

func (m *echo) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	requireValid(m.t, req.Messages)
	last := req.Messages[len(req.Messages)-1].Content
	return func(yield func(llm.Delta, error) bool) {
		if strings.HasPrefix(last, "wait") {
			m.asked <- struct{}{}
			select {
			case <-m.goOn:
			case <-ctx.Done():
				yield(llm.Delta{}, context.Cause(ctx))
				return
			}
		}
		reply := events.Reply{Text: "re: " + last, FinishReason: events.FinishStop}
		if yield(llm.Delta{Text: reply.Text}, nil) {
			yield(llm.Delta{Done: &llm.Completion{Reply: reply, Model: "sim", Provider: "sim", Attempts: 1}}, nil)
		}
	}
}

// post is a message to a thread of the pair.
func post(th events.ThreadID, id, text string) runner.Job {
	return runner.Job{Thread: th, Request: text, Team: thePair, Message: &runner.Message{ID: events.MessageID(id)}}
}

var thePair = pair()

const chat events.ThreadID = "7b2c5a60-93f0-4d7e-8f43-8c1a0c1f3e55"

var chatKey = events.ThreadKey{Tenant: events.LocalTenant, Thread: chat}

// idle waits until the thread has this many runs that are over, and nobody holds it.
func idle(t testing.TB, r *runner.Runner, runs int) *thread.Thread {
	t.Helper()
	for {
		th, err := thread.Load(t.Context(), r.Log(), chatKey, 0)
		require.NoError(t, err)
		if len(th.Runs) >= runs && th.Quiet() {
			require.Len(t, th.Runs, runs)
			return th
		}
		require.NoError(t, r.Log().Wait(t.Context(), chatKey, th.Seq))
	}
}

// exchanges are what was asked and answered in the thread.
func exchanges(th *thread.Thread) (list []string) {
	for _, run := range th.Runs {
		answer := string(run.Status)
		if run.FinalAnswer != nil {
			answer = run.FinalAnswer.Content
		}
		list = append(list, run.Started.Message+" → "+answer)
	}
	return list
}

func send(t testing.TB, r *runner.Runner, job runner.Job) runner.Receipt {
	t.Helper()
	receipt, err := r.Send(t.Context(), job)
	require.NoError(t, err)
	require.NoError(t, receipt.Stalled)
	return receipt
}

// A message to a quiet thread starts a run, also of the team that its log has; the same id
// counts once.
func TestSendToAQuietThread(t *testing.T) {
	log := events.NewMemory()
	r := newRunner(t, log, newEcho(t))
	job := post(chat, "m1", "hello")
	job.Team = nil
	_, err := r.Send(t.Context(), job)
	var wrong *runner.InputError
	require.ErrorAs(t, err, &wrong)
	require.Contains(t, wrong.Message, "is new: name the team")

	first := send(t, r, post(chat, "m1", "hello"))
	require.Equal(t, runner.Receipt{Message: "m1", Delivery: events.DeliveryStart, RunID: first.Run.ID(), Run: first.Run}, first)
	result, err := first.Run.Wait()
	require.NoError(t, err)
	require.Equal(t, "re: hello", result.Answer)

	r = newRunner(t, log, newEcho(t)) // another process, which does not know the team
	again := send(t, r, job)
	require.Equal(t, runner.Receipt{Message: "m1", Delivery: events.DeliveryStart, RunID: first.RunID, Duplicate: true}, again)
	second := send(t, r, runner.Job{Thread: chat, Request: "more"})
	require.NotEmpty(t, second.Message)
	_, err = second.Run.Wait()
	require.NoError(t, err)
	require.Equal(t, []string{"hello → re: hello", "more → re: more"}, exchanges(idle(t, r, 2)))
}

// Vars fill the template of the team that a message names, and only where it starts a run: what
// waits, or answers, has no template.
func TestSendWithVars(t *testing.T) {
	model, tm := newEcho(t), pair()
	tm.Request = "{{request}} in {{city}}"
	r := newRunner(t, events.NewMemory(), model)
	refused := func(job runner.Job, why string) {
		t.Helper()
		_, err := r.Send(t.Context(), job)
		var wrong *runner.InputError
		require.ErrorAs(t, err, &wrong)
		require.Contains(t, wrong.Message, why)
	}
	job := runner.Job{Thread: chat, Request: "wait", Team: tm, Vars: texts{"city": "Kyoto"}}
	refused(runner.Job{Thread: chat, Request: "wait", Team: tm}, "needs a value for city")
	first := send(t, r, job)
	<-model.asked
	refused(job, "is busy: send the message without vars")
	refused(runner.Job{Thread: chat, Request: "more", Vars: job.Vars}, "name the team")
	send(t, r, runner.Job{Thread: chat, Request: "more"})
	model.goOn <- struct{}{}
	_, err := first.Run.Wait()
	require.NoError(t, err)
	require.Equal(t, []string{"wait → re: wait in Kyoto", "more → re: more"}, exchanges(idle(t, r, 2)))
}

// Messages to a busy thread wait in order and are told their place; beyond 32 they are not
// taken; one that is to start a run and nothing else is refused.
func TestQueue(t *testing.T) {
	model := newEcho(t)
	r := newRunner(t, events.NewMemory(), model)
	first := send(t, r, post(chat, "m0", "wait"))
	<-model.asked
	want := []string{"wait → re: wait"}
	for i := 1; i <= runner.MaxQueued; i++ {
		text := fmt.Sprint("message ", i)
		receipt := send(t, r, post(chat, fmt.Sprint("m", i), text))
		require.Equal(t, runner.Receipt{Message: events.MessageID(fmt.Sprint("m", i)), Delivery: events.DeliveryQueue, Place: i}, receipt)
		want = append(want, text+" → re: "+text)
	}
	_, err := r.Send(t.Context(), post(chat, "m33", "one too many"))
	require.ErrorIs(t, err, runner.ErrQueueFull)
	job := post(chat, "m34", "now or never")
	job.Message.Delivery = events.DeliveryStart
	_, err = r.Send(t.Context(), job)
	require.ErrorIs(t, err, runner.ErrBusy)
	require.ErrorContains(t, err, string(first.RunID))
	again := send(t, r, post(chat, "m7", "message 7"))
	require.Equal(t, runner.Receipt{Message: "m7", Delivery: events.DeliveryQueue, Place: 7, Duplicate: true}, again)

	model.goOn <- struct{}{}
	require.Equal(t, want, exchanges(idle(t, r, 1+runner.MaxQueued)))
	require.NoError(t, r.Shutdown(t.Context()))
}

// A queue outlives the process that was to answer it: the next message has it drained first.
func TestQueueOutlivesItsProcess(t *testing.T) {
	log, model := events.NewMemory(), newEcho(t)
	r := newRunner(t, log, model)
	send(t, r, post(chat, "m0", "wait"))
	<-model.asked
	send(t, r, post(chat, "m1", "one"))
	send(t, r, post(chat, "m2", "two"))
	r.Runs()[0].Halt()
	require.NoError(t, r.Shutdown(t.Context()))

	model.goOn <- struct{}{}
	r = newRunner(t, log, model)
	job := post(chat, "m3", "three")
	job.Team = nil
	receipt := send(t, r, job)
	require.Equal(t, 3, receipt.Place)
	require.Equal(t, []string{"wait → re: wait", "one → re: one", "two → re: two", "three → re: three"}, exchanges(idle(t, r, 4)))
	require.NoError(t, r.Shutdown(t.Context()))
}

// A message that is to steer reaches the run under way.
func TestSteerBySending(t *testing.T) {
	model := newEcho(t)
	r := newRunner(t, events.NewMemory(), model)
	first := send(t, r, post(chat, "m0", "wait"))
	<-model.asked
	job := post(chat, "m1", "and fast")
	job.Message.Delivery = events.DeliverySteer
	receipt := send(t, r, job)
	require.Equal(t, runner.Receipt{Message: "m1", Delivery: events.DeliverySteer, RunID: first.RunID}, receipt)
	require.True(t, send(t, r, job).Duplicate)
	model.goOn <- struct{}{}
	th := idle(t, r, 1)
	require.Contains(t, th.Current().FinalAnswer.Content, "re: The user wrote while you were answering: and fast",
		"what comes while the last reply is being written is answered, too")
	var texts []string
	for _, m := range th.Messages(0, 0) {
		texts = append(texts, m.Content)
	}
	require.Equal(t, []string{"wait", "and fast", "re: wait"}, texts[:3])
}

// What the user says to a specialist that is just giving the conversation back is read by whom
// it goes to.
func TestSteeringAtAReturn(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	_, _, _ = k.say(llmtest.Script(t, llmtest.Agent(alphaTalks, llmtest.Says("Which one?"))), "create skill")
	script := llmtest.Script(t,
		llmtest.Agent(alphaTalks, llmtest.Calls("", giveBack("completed", "ok"))),
		llmtest.Agent(boss, llmtest.Says("Both done.")))
	steering := stage(script, alphaTalks, 1, func(ctx context.Context, req llm.Request, yield func(llm.Delta, error) bool) {
		_, err := k.log.Post(ctx, k.key(), events.Envelope{Run: req.Run, Data: events.UserMessage{Content: "and the weather?"}})
		require.NoError(t, err)
		for delta, err := range script.Stream(ctx, req) {
			if !yield(delta, err) {
				return
			}
		}
	})
	_, by, _ := k.say(steering, "The first")
	require.Equal(t, events.FacilitatorID, by)
	require.Contains(t, said(script.Requests(boss)[0].Messages), "user: and the weather?")
}

// An answer where nothing was asked is refused.
func TestAnswerWhereNothingWasAsked(t *testing.T) {
	r := newRunner(t, events.NewMemory(), newEcho(t))
	for _, message := range []runner.Message{{Delivery: events.DeliveryAnswer}, {InputID: "i1"}} {
		_, err := r.Send(t.Context(), runner.Job{Thread: chat, Request: "yes", Team: thePair, Message: &message})
		require.ErrorIs(t, err, runner.ErrNothingAsked)
		require.ErrorContains(t, err, "send it as an ordinary message")
	}
	for _, message := range []runner.Message{{Delivery: "soon"}, {InputID: "i1", Delivery: events.DeliveryQueue}} {
		_, err := r.Send(t.Context(), runner.Job{Thread: chat, Request: "yes", Team: thePair, Message: &message})
		var wrong *runner.InputError
		require.ErrorAs(t, err, &wrong)
	}
}

// load folds the thread of these tests.
func load(t testing.TB, log events.Log) *thread.Thread {
	t.Helper()
	th, err := thread.Load(t.Context(), log, chatKey, 0)
	require.NoError(t, err)
	return th
}

func envsOf(t testing.TB, log events.Log) []events.Envelope {
	t.Helper()
	envs, err := log.Read(t.Context(), chatKey, 0, 0)
	require.NoError(t, err)
	return envs
}
