package thread

import (
	"fmt"
	"slices"
	"time"

	"github.com/convene-run/convene/events"
)

// MaxQueued bounds the messages of a thread that wait for their turn: more than anybody
// types ahead, few enough to be answered one after the other. A further one is not taken.
const MaxQueued = 32

// Sent is what became of a user's message.
type Sent struct {
	events.UserMessage
	Time time.Time
	// Run is the run that took it, nil while it is queued.
	Run *Run
}

// Input is a request for input with its answer.
type Input struct {
	events.InputRequested
	Run *Run
	// Agent and Actor are who asks.
	Agent events.AgentID
	Actor ActorID
	// Answer is the first answer, nil while the input is open.
	Answer *events.UserMessage
	// Settled is set once the call that asked has its result, or nobody wants it any more.
	Settled bool
}

// Sent gives a user's message by its id, nil if the thread has none.
func (t *Thread) Sent(id events.MessageID) *Sent { return t.sent[id] }

// Queue are the messages that wait for a run of their own, in order. Do not change it.
func (t *Thread) Queue() []*Sent { return t.queue }

// Place is the place of a message in the queue, from 1; 0 if it is not queued.
func (t *Thread) Place(id events.MessageID) int {
	return 1 + slices.IndexFunc(t.queue, func(m *Sent) bool { return m.MessageID == id })
}

// Inputs are the requests for input that nobody has answered: that of a person who answers
// beside the agents, and behind it those of the run under way, in order.
func (t *Thread) Inputs() (open []*Input) {
	if beside := t.Beside(); beside != nil {
		open = append(open, beside)
	}
	if run := t.Current(); run != nil && !run.Status.Over() {
		open = append(open, run.Open()...)
	}
	return open
}

// Beside is the open request to the person who answers beside the agents, nil for none. It
// outlives its run; a later one takes its place.
func (t *Thread) Beside() *Input {
	person := t.Handoffs.Person()
	if person == nil || t.beside == nil || t.beside.HandoffID != person.ID || t.beside.Answer != nil {
		return nil
	}
	return t.beside
}

// Input gives a request for input by its id, nil if there is none.
func (t *Thread) Input(id events.InputID) *Input {
	for _, run := range slices.Backward(t.Runs) {
		for _, input := range run.inputs {
			if input.InputID == id {
				return input
			}
		}
	}
	return nil
}

// NextInput is the id that the next request for input of the thread will have.
func (t *Thread) NextInput() events.InputID {
	return events.InputID(fmt.Sprintf("i%d", t.inputs+1))
}

// enqueue takes a message that belongs to no run. One that the thread has already, or for
// which there is no room, changes nothing.
func (t *Thread) enqueue(env events.Envelope, e events.UserMessage) {
	if e.MessageID == "" || t.sent[e.MessageID] != nil || len(t.queue) >= MaxQueued {
		return
	}
	if e.InputID != "" { // it is the person's who answers beside the agents, or comes too late
		beside := t.Beside()
		if beside == nil || !e.Answers(beside.InputID, beside.For) {
			return
		}
		beside.Answer = &e
	}
	m := &Sent{UserMessage: e, Time: env.Time}
	t.sent[e.MessageID] = m
	t.queue = append(t.queue, m)
}

// dequeue gives a message to the run that it starts.
func (t *Thread) dequeue(id events.MessageID, run *Run) {
	t.answered[id] = run
	if m := t.sent[id]; m != nil {
		m.Run = run
	}
	t.queue = slices.DeleteFunc(slices.Clone(t.queue), func(m *Sent) bool { return m.MessageID == id })
}

// Inputs are the requests for input of the run, in order.
func (r *Run) Inputs() []*Input { return r.inputs }

// Open are the requests for input for which the run waits, in order.
func (r *Run) Open() (open []*Input) {
	for _, input := range r.inputs {
		if input.Answer == nil && input.HandoffID == "" && !input.Settled {
			open = append(open, input)
		}
	}
	return open
}

// lapse settles the approvals that an agent asked for which is over: nobody wants them any more.
func (r *Run) lapse(actor ActorID) {
	for _, input := range r.inputs {
		if input.For == events.InputApproval && input.Actor == actor {
			input.Settled = true
		}
	}
}

// Person is the request for input that the message of the run answers where a person who
// answers beside the agents sent it, nil for other runs.
func (r *Run) Person() *Input {
	sent := r.thread.sent[r.Started.MessageID]
	if sent == nil || sent.Run != r || sent.InputID == "" {
		return nil
	}
	return r.thread.Input(sent.InputID)
}

// Asked is the request for input that a call of the run made, nil if there is none.
func (r *Run) Asked(call events.CallID) *Input {
	for _, input := range r.inputs {
		if call != "" && input.Call == call {
			return input
		}
	}
	return nil
}

// Answered reports whether an answer was given that its agent has not taken in.
func (r *Run) Answered() bool {
	return slices.ContainsFunc(r.inputs, func(i *Input) bool { return i.Answer != nil && !i.Settled && i.HandoffID == "" })
}

// request folds a request for input.
func (r *Run) request(env events.Envelope, e events.InputRequested) error {
	if want := r.thread.NextInput(); e.InputID != want {
		return fmt.Errorf("request for input %s where %s is next", e.InputID, want)
	}
	r.thread.inputs++
	input := &Input{InputRequested: e, Run: r, Agent: env.Agent, Actor: ActorOf(env.Dispatch)}
	r.inputs = append(r.inputs, input)
	if e.HandoffID != "" {
		r.thread.beside = input
	}
	return nil
}

// take notes a user's message to the run, and reports whether it is for a conversation: an
// answer is not, nor is a message that the thread has already. An answer that nobody waits for
// any more changes nothing.
func (r *Run) take(env events.Envelope, e events.UserMessage) bool {
	if e.MessageID != "" && r.thread.sent[e.MessageID] != nil {
		return false
	}
	if e.InputID != "" && !r.answer(e) {
		return false
	}
	if e.Approval == nil { // who decides on a call says nothing besides
		r.common = r.common.And(e.Grants)
	}
	if e.MessageID != "" {
		r.thread.sent[e.MessageID] = &Sent{UserMessage: e, Time: env.Time, Run: r}
	}
	return e.InputID == ""
}

// answer gives an open request for input its answer.
func (r *Run) answer(e events.UserMessage) bool {
	for _, input := range r.Open() {
		if e.Answers(input.InputID, input.For) {
			input.Answer = &e
			return true
		}
	}
	return false
}

// Quiet reports whether nothing is under way in the thread and nothing waits: a message
// starts a run.
func (t *Thread) Quiet() bool {
	run := t.Current()
	return (run == nil || run.Status.Over()) && len(t.queue) == 0
}
