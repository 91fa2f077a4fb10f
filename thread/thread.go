package thread

import (
	"errors"
	"fmt"
	"time"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/sanitize"
)

// Thread is the fold of one thread. It is not safe for concurrent use.
type Thread struct {
	Key  events.ThreadKey
	Seq  events.Seq
	Time time.Time
	Runs []*Run
	// Handoffs says who speaks with the user.
	Handoffs conversation.State
	// Artifacts are the files that came with the thread's runs or into being in them, in order.
	Artifacts []events.ArtifactCreated
	// Values are what placeholders stand for in what agents pass on to each other.
	Values sanitize.Values

	callIDs    map[events.CallID]struct{}
	exchanges  []*exchange
	dispatches int
	// sessions are the histories of those who have had the conversation, by handoff. They
	// go on over runs.
	sessions map[ActorID]*Conversation
	// returned are the handoffs that ended and that the facilitator was not told of yet.
	returned []events.HandoffID
	// answered are the runs that users' messages started.
	answered map[events.MessageID]*Run

	// messages are what the user sees, said their places by the ids of users' messages, and
	// desks the runs whose requests for input a person answers in an agent's place.
	messages []Message
	said     map[events.MessageID]int
	desks    map[events.InputID]events.RunID
	// created is the time of the first event.
	created time.Time
	// sent are the users' messages that have an id, queue those of them that wait for a run.
	sent  map[events.MessageID]*Sent
	queue []*Sent
	// inputs counts the requests for input; beside is the newest to a person who answers
	// beside the agents.
	inputs int
	beside *Input
	// lastRun and lastKind are of the newest event. bytes is about what the state takes.
	lastRun  events.RunID
	lastKind events.Kind
	bytes    int
}

// New gives the state of a thread without events.
func New() *Thread {
	return &Thread{
		callIDs: map[events.CallID]struct{}{}, sessions: map[ActorID]*Conversation{}, answered: map[events.MessageID]*Run{},
		sent: map[events.MessageID]*Sent{}, said: map[events.MessageID]int{}, desks: map[events.InputID]events.RunID{},
	}
}

// ErrOutOfOrder is for an event that is not the next of its thread.
var ErrOutOfOrder = errors.New("event out of order")

// errBatch is for the thread of a batch, which is none of runs.
var errBatch = errors.New("this is the thread of a batch: its runs are in threads of their own")

// Current is the newest run, nil in a thread without events.
func (t *Thread) Current() *Run {
	if len(t.Runs) == 0 {
		return nil
	}
	return t.Runs[len(t.Runs)-1]
}

// Apply folds the next event. An event that does not follow, or that contradicts
// the state, is an error: the log is then not one that convene wrote.
func (t *Thread) Apply(env events.Envelope) error {
	if env.Seq != t.Seq+1 {
		return fmt.Errorf("apply event seq=%d after seq=%d: %w", env.Seq, t.Seq, ErrOutOfOrder)
	}
	if err := t.apply(env); err != nil {
		return fmt.Errorf("apply event seq=%d type=%s: %w", env.Seq, env.Data.Kind(), err)
	}
	t.Seq, t.Time = env.Seq, env.Time
	t.lastRun, t.lastKind = env.Run, env.Data.Kind()
	t.bytes += roughBytes(env.Data)
	t.Handoffs.Seen(env)
	t.note(env)
	return nil
}

// newest reports whether the event is the one that was folded last. Run ids are unique, so no
// other thread has it.
func (t *Thread) newest(env events.Envelope) bool {
	return env.Seq == t.Seq && env.Time.Equal(t.Time) && env.Run == t.lastRun && env.Data.Kind() == t.lastKind
}

func (t *Thread) apply(env events.Envelope) error {
	run := t.Current()
	switch env.Data.Kind() {
	case events.KindWorkflowStarted:
		return t.start(env)
	case events.KindUserMessage:
		if queued := t.queues(env, run); queued && env.Run == "" {
			return nil
		}
	}
	if events.Posted(env.Data) && (run == nil || run.ID != env.Run || run.Status.Over()) {
		return nil // it came too late: the run that it is for has finished
	}
	if run == nil && env.Data.Kind() == events.KindBatchStarted {
		return errBatch
	}
	if run == nil || run.ID != env.Run {
		return fmt.Errorf("no run %s under way", env.Run)
	}
	if run.Status.Over() {
		return fmt.Errorf("run %s has finished", run.ID)
	}
	err := run.apply(env)
	if err == nil && run.Status.Over() {
		t.conclude(run)
	}
	return err
}

// start begins the next run of the thread.
func (t *Thread) start(env events.Envelope) error {
	if current := t.Current(); current != nil && !current.Status.Over() {
		return fmt.Errorf("run %s has not finished", current.ID)
	}
	started := env.Data.(events.WorkflowStarted)
	t.Key = env.Key()
	run, err := newRun(t, env, started)
	if err != nil {
		return err
	}
	t.Runs = append(t.Runs, run)
	if started.MessageID != "" {
		t.dequeue(started.MessageID, run)
	}
	return nil
}

// queues puts a message into the queue that is of no run, or of one that is cancelled: it
// hears nothing more. It reports whether it did.
func (t *Thread) queues(env events.Envelope, run *Run) bool {
	said := env.Data.(events.UserMessage)
	if said.Synthetic || env.Run != "" && (run == nil || env.Run != run.ID || !run.Cancelled || run.Status.Over()) {
		return false
	}
	t.enqueue(env, said)
	return true
}

// CallIDTaken reports whether a tool call of this thread already has the id.
func (t *Thread) CallIDTaken(id events.CallID) bool {
	_, taken := t.callIDs[id]
	return taken
}

// Answering is the run that a user's message started, nil if there is none.
func (t *Thread) Answering(id events.MessageID) *Run { return t.answered[id] }

// NextDispatch is the id that the next dispatch of the thread will have.
func (t *Thread) NextDispatch() events.DispatchID {
	return events.DispatchID(fmt.Sprintf("d%d", t.dispatches+1))
}
