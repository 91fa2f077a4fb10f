package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/thread"
)

// MaxQueued is how many messages of a thread wait for their turn at most.
const MaxQueued = thread.MaxQueued

// Errors of [Runner.Send]. The message was not taken.
var (
	// ErrBusy is for a message that was to start a run, and nothing else, in a thread that
	// has one under way or messages that wait.
	ErrBusy = errors.New("the thread has a run under way or messages that wait for theirs")
	// ErrQueueFull is for a message behind [MaxQueued] others.
	ErrQueueFull = fmt.Errorf("%d messages wait in this thread already: send it again when some of them have been answered", MaxQueued)
	// ErrNothingAsked is for an answer that no open request for input wants.
	ErrNothingAsked = errors.New("nothing was asked that this could answer")
)

// Receipt says what became of a message.
type Receipt struct {
	Message  events.MessageID
	Delivery events.Delivery
	// RunID is the run that takes the message, "" while it is queued.
	RunID events.RunID
	// Run is the run of the thread that this process took up for the message: the one that
	// takes it or, where it is queued, the one before it. nil where another process drives
	// the thread, or this one did already.
	Run *Run
	// Place is the message's place in the queue, from 1; 0 if it is not queued.
	Place int
	// Duplicate is set where the thread had a message of this id already: nothing was
	// done.
	Duplicate bool
	// Stalled is why this process cannot drive the run that is to take the message, nil if
	// it can. The message is in the log and waits.
	Stalled error
}

// Send takes a user's message in a thread. It returns once the message is durable, whatever
// becomes of it: see [Message.Delivery]. The thread may be new. Where Job.Team is nil the
// team is that of the thread's newest run, as its log has it; a message that is queued is
// answered by that team in any case.
//
// A run that was parked, or whose process died, is taken up first. Whoever drives the
// thread answers what is queued, in order: this process, until ctx ends, if it can claim it.
//
// The error is an [*InputError], [ErrBusy], [ErrQueueFull], [ErrNothingAsked], one of the
// resolver's or the log's; the thread does not have the message then, unless the log's error
// leaves that open. The same message can be sent again: it counts once.
func (r *Runner) Send(ctx context.Context, job Job) (Receipt, error) {
	message := Message{}
	if job.Message != nil {
		message = *job.Message
	}
	if message.ID == "" {
		message.ID = events.MessageID(uuid.NewString())
	}
	if (message.InputID != "" || message.Approval != nil) && message.Delivery == "" {
		message.Delivery = events.DeliveryAnswer
	}
	if message.Approval != nil {
		message.Approval = compacted(*message.Approval)
		job.Request = cmp.Or(job.Request, message.Approval.String())
	}
	job.Message = &message
	if err := job.checkSent(); err != nil {
		return Receipt{}, err
	}
	s := &sending{runner: r, job: job, message: message}
	for range maxConflicts {
		receipt, err := s.try(ctx)
		if !errors.Is(err, errOvertaken) {
			return receipt, err
		}
		if err := overtaken(ctx); err != nil {
			return Receipt{}, err
		}
	}
	return Receipt{}, fmt.Errorf("send to thread %s: %w", job.Thread, ErrBusy)
}

// errOvertaken is for a decision about a message that the thread has left behind.
var errOvertaken = errors.New("the thread has gone on meanwhile")

func (job *Job) checkSent() error {
	if job.Continues != "" || job.Batch != nil {
		return &InputError{"a message neither continues a run nor is a batch's"}
	}
	if len(job.Files) > 0 {
		return &InputError{"files come with the request that starts a run, not with a message"}
	}
	if job.Team == nil && len(job.Vars) > 0 {
		return &InputError{"vars fill the request template of a team: name the team"}
	}
	return job.check()
}

// sending is one message on its way.
type sending struct {
	runner  *Runner
	job     Job
	message Message
}

// overtakenPause is how long whoever finds a thread just being claimed, without an event to
// post behind, waits before it looks again.
const overtakenPause = 20 * time.Millisecond

func overtaken(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(overtakenPause):
		return nil
	}
}

// decided is what is done with a message.
type decided struct {
	// known is what became of a message that the thread has already, nil for others.
	known    *Receipt
	delivery events.Delivery
	// plan and started are of the run that the message starts; run is the one under way that
	// is given it.
	plan    *plan
	started events.WorkflowStarted
	run     events.RunID
}

// try decides what the thread as it is now does with the message, and has it do so.
func (s *sending) try(ctx context.Context) (Receipt, error) {
	var d decided
	err := s.runner.kept.Use(ctx, s.job.key(), func(th *thread.Thread) (err error) {
		d, err = s.decide(th)
		return err
	})
	switch {
	case err != nil:
		return Receipt{}, err
	case d.known != nil:
		s.carryOn(ctx, d.known)
		return *d.known, nil
	case d.delivery == events.DeliveryStart:
		return s.start(ctx, d)
	}
	return s.post(ctx, d.run)
}

func (s *sending) decide(th *thread.Thread) (d decided, err error) {
	if known := th.Sent(s.message.ID); known != nil {
		receipt := receiptOf(th, known)
		receipt.Duplicate = true
		return decided{known: &receipt}, nil
	}
	if d.delivery, err = s.deliver(th); err != nil {
		return d, err
	}
	switch d.delivery {
	case events.DeliveryStart:
		d.plan, d.started, err = s.prepare(th)
	case events.DeliverySteer, events.DeliveryAnswer:
		d.run = th.Current().ID
	}
	return d, err
}

// receiptOf says where a message of the thread stands.
func receiptOf(th *thread.Thread, m *thread.Sent) Receipt {
	receipt := Receipt{Message: m.MessageID, Delivery: m.Delivery, Place: th.Place(m.MessageID)}
	switch {
	case receipt.Place > 0:
		receipt.Delivery = events.DeliveryQueue
	case receipt.Delivery == "":
		receipt.Delivery = events.DeliveryStart // of before there were others
	}
	if m.Run != nil && receipt.Place == 0 {
		receipt.RunID = m.Run.ID
	}
	return receipt
}

// deliver decides what is done with the message.
func (s *sending) deliver(th *thread.Thread) (events.Delivery, error) {
	quiet := th.Quiet()
	switch s.message.Delivery {
	case events.DeliveryStart:
		if !quiet {
			return "", busy(th)
		}
		return events.DeliveryStart, nil
	case events.DeliveryAnswer:
		if err := s.answers(th); err != nil {
			return "", err
		}
		if beside := th.Beside(); beside == nil || beside.InputID != s.message.InputID {
			return events.DeliveryAnswer, nil
		}
		// It has a run of its own, as that of the request goes on without it.
	case events.DeliverySteer:
		if current := th.Current(); current != nil && !current.Status.Over() {
			return events.DeliverySteer, nil
		}
	case "":
		// A person at the desk names what is answered: the user goes on writing meanwhile.
		if open := questions(th); len(open) == 1 {
			s.message.InputID = open[0].InputID
			return events.DeliveryAnswer, nil
		}
	}
	if quiet {
		return events.DeliveryStart, nil
	}
	if len(th.Queue()) >= MaxQueued {
		return "", ErrQueueFull
	}
	return events.DeliveryQueue, nil
}

// questions are what the user is asked that any text answers.
func questions(th *thread.Thread) []*thread.Input {
	return slices.DeleteFunc(th.Inputs(), func(i *thread.Input) bool { return i.For != events.InputQuestion })
}

// busyError says what keeps a message from starting a run.
type busyError struct{ InputError }

func (e *busyError) Unwrap() error { return &e.InputError }

func (e *busyError) Is(target error) bool { return target == ErrBusy }

func busy(th *thread.Thread) error {
	why := "messages wait there for their turn; it is free once they are answered"
	if current := th.Current(); current != nil && !current.Status.Over() {
		why = fmt.Sprintf("run %s is under way; it is free once that has ended, or was cancelled: convene cancel %s", current.ID, current.ID)
		switch current.Status {
		case events.StatusSuspended:
			why = fmt.Sprintf("run %s is parked; it is free once that has ended: convene resume %s", current.ID, current.ID)
		case events.StatusAwaitingInput:
			why = fmt.Sprintf("run %s waits for an answer; it is free once that has ended: convene chat --thread %s", current.ID, th.Key.Thread)
		}
	}
	return &busyError{InputError{fmt.Sprintf("thread %s is busy: %s", th.Key.Thread, why)}}
}

// answers finds the input that the message answers.
func (s *sending) answers(th *thread.Thread) error {
	open := th.Inputs()
	if s.message.InputID == "" && len(open) == 1 {
		s.message.InputID = open[0].InputID
	}
	if at := slices.IndexFunc(open, func(i *thread.Input) bool { return i.InputID == s.message.InputID }); at >= 0 {
		return s.message.suits(open[at])
	}
	if len(open) == 0 {
		return fmt.Errorf("%w: no request for input is open in thread %s; send it as an ordinary message", ErrNothingAsked, s.job.Thread)
	}
	var asked []string
	for _, input := range open {
		asked = append(asked, fmt.Sprintf("%s (%s)", input.InputID, chars.Clip(strings.Join(strings.Fields(input.Question), " "), 80)))
	}
	return fmt.Errorf("%w: name the input that it answers: %s", ErrNothingAsked, strings.Join(asked, ", "))
}

// start begins the run of the message.
func (s *sending) start(ctx context.Context, d decided) (Receipt, error) {
	s.job.Message = &s.message
	run, err := s.runner.begin(ctx, s.job, d.plan, d.started)
	var answered *AnsweredError
	if errors.Is(err, events.ErrHeld) || errors.Is(err, ErrBusy) || errors.As(err, &answered) {
		return Receipt{}, errOvertaken
	}
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{Message: s.message.ID, Delivery: events.DeliveryStart, RunID: run.id, Run: run}, nil
}

// prepare gives the plan of a run that the message starts, and its first fact.
func (s *sending) prepare(th *thread.Thread) (*plan, events.WorkflowStarted, error) {
	if s.job.Team != nil {
		return s.runner.prepareStart(s.job)
	}
	if th.Current() == nil {
		return nil, events.WorkflowStarted{}, &InputError{fmt.Sprintf("thread %s is new: name the team that is to answer", s.job.Thread)}
	}
	return s.runner.again(th.Current(), s.job.Request, s.job.Functions)
}

// post puts the message into the log, for the run with the id or for the queue.
func (s *sending) post(ctx context.Context, run events.RunID) (Receipt, error) {
	if len(s.job.Vars) > 0 {
		return Receipt{}, &InputError{fmt.Sprintf(
			"vars fill a request template, which only a message that starts a run does, and thread %s is busy: send the message without vars, or once the thread is at rest", s.job.Thread)}
	}
	message := s.message
	switch {
	case run == "":
		message.Delivery = events.DeliveryQueue
	case message.InputID != "":
		message.Delivery = events.DeliveryAnswer
	default:
		message.Delivery = events.DeliverySteer
	}
	err := s.runner.post(ctx, s.job.key(), events.Envelope{Run: run, By: s.job.actor(), Data: message.event(s.job.Request)})
	if errors.Is(err, events.ErrRunOver) || errors.Is(err, events.ErrNotFound) {
		return Receipt{}, errOvertaken
	}
	if err != nil {
		return Receipt{}, err
	}
	receipt, err := s.taken(ctx, message.Delivery)
	if err == nil {
		s.carryOn(ctx, &receipt)
	}
	return receipt, err
}

// post adds an event that others than the driver of a thread may add.
func (r *Runner) post(ctx context.Context, key events.ThreadKey, env events.Envelope) error {
	return r.kept.Post(ctx, key, func() error {
		_, err := r.config.Log.Post(ctx, key, env)
		return err
	})
}

// taken finds out what became of a message that was posted: others may have come before it.
func (s *sending) taken(ctx context.Context, delivery events.Delivery) (receipt Receipt, err error) {
	ctx = context.WithoutCancel(ctx) // it is in the log, and who sent it is told
	var refused error
	err = s.runner.kept.Use(ctx, s.job.key(), func(th *thread.Thread) error {
		m := th.Sent(s.message.ID)
		switch {
		case m != nil:
			receipt = receiptOf(th, m)
		case s.message.InputID != "":
			refused = fmt.Errorf("%w: somebody else has answered %s", ErrNothingAsked, s.message.InputID)
		default:
			refused = ErrQueueFull
		}
		return nil
	})
	if err != nil { // the message was taken
		return Receipt{Message: s.message.ID, Delivery: delivery, Stalled: err}, nil //nolint:nilerr // the receipt carries it
	}
	return receipt, refused
}

// carryOn has this process drive the thread if nobody does.
func (s *sending) carryOn(ctx context.Context, receipt *Receipt) {
	run, err := s.runner.carryOn(ctx, s.job.key(), s.job.terms(), nil)
	switch {
	case errors.Is(err, events.ErrHeld):
		s.runner.attend(ctx, s.job.key(), s.job.terms())
	case errors.Is(err, ErrQuota):
		receipt.Stalled = err
		s.runner.attend(ctx, s.job.key(), s.job.terms())
	case err != nil:
		receipt.Stalled = err
	}
	if receipt.Run = run; run != nil && run.message == receipt.Message {
		receipt.RunID, receipt.Place = run.id, 0
	}
}
