package loop

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/thread"
)

// Spec is what all instances of one agent of a team share. It does not change
// during a run, so that the first bytes of every request are the same.
type Spec struct {
	ID          events.AgentID
	DisplayName string
	// System is the system prompt.
	System string
	Tools  *Toolset
	// CacheKey is that of all requests with this system prompt and these tools.
	CacheKey string
	Route    llm.Route
	// Effort, MaxOutputTokens, Temperature and Tier are those of every request; see
	// [llm.Request].
	Effort          string
	MaxOutputTokens int
	Temperature     *float64
	Tier            llm.Tier
	// Silence bounds how long nothing may come of a reply.
	Silence llm.Silence
	// WindowTokens is the model's context window, 0 where it is unknown. Histories
	// are compacted before they outgrow it.
	WindowTokens int
	// MaxToolCalls bounds the calls of one turn that are run.
	MaxToolCalls int
	// MaxResultChars bounds the result of one tool call.
	MaxResultChars int
	// MaxArtifactBytes bounds the artifacts of the run together; 0 is no bound.
	MaxArtifactBytes int64
	// MaxReplyChars bounds one reply of the model.
	MaxReplyChars int
	// ToolTimeout bounds the time that a call of an external tool may take without
	// progress; 0 is no bound.
	ToolTimeout time.Duration
	// Requires gives the permissions of the user that a call of an external tool takes. nil is
	// none for all.
	Requires func(tool, arguments string) []string
	// Asks reports whether a call of an external tool with that effect waits for a person's
	// leave. nil is that none does.
	Asks func(tool, arguments string, effect events.Effect) bool
}

// Role is what sets one kind of agent apart. All of its methods but Opening are
// decisions: they emit facts and must not wait.
type Role interface {
	// Over reports whether the agent has come to its end, or another one has the
	// conversation now.
	Over(run *thread.Run) bool
	// Opening gives the messages behind the system prompt: a function of the run's
	// configuration and of the event that started the agent.
	Opening(run *thread.Run) []events.Message
	// Prepare is asked before each model call. limit is set where the governor
	// refused an ordinary call. It may nudge the agent with a user_message, or end it
	// and answer [End].
	Prepare(tx *thread.Tx, conv *thread.Conversation, limit *events.LimitError) NextStep
	// Beside records text that the model wrote along with tool calls.
	Beside(tx *thread.Tx, text string)
	// Close takes a reply without tool calls. It ends the agent, or says with a
	// user_message why it goes on.
	Close(tx *thread.Tx, reply events.Reply)
	// Fail ends an agent that cannot go on. Its facts tell of the model call that cause
	// is about, if it is about one: see [Unanswered].
	Fail(tx *thread.Tx, cause error)
}

// Sliding is a [Role] that reads only a part of its history.
type Sliding interface {
	// Window gives that part, as a function of the history alone. Each call of it has its
	// result.
	Window(history []events.Message) []events.Message
}

// NextStep says how an agent goes on. One that has handed the conversation over is over
// for now: see [Role.Over].
type NextStep interface{ nextStep() }

type (
	// RunAgain makes another turn.
	RunAgain struct{}
	// WrapUp makes one last turn, without tools, from the share kept for it.
	WrapUp struct{}
	// AwaitInput makes none before a person has answered: the run is parked until then.
	AwaitInput struct{}
	// End makes none: the agent has come to its end.
	End struct{}
)

func (RunAgain) nextStep()   {}
func (WrapUp) nextStep()     {}
func (AwaitInput) nextStep() {}
func (End) nextStep()        {}

// Journal commits decisions to the run's log, one after the other.
type Journal interface {
	// Do runs decide on the run's newest state and returns once its facts are
	// durable; without facts it only reads. decide may run more than once, if another
	// process posted to the thread meanwhile. An error is the store's and ends the run.
	Do(decide func(tx *thread.Tx)) error
}

// Caller makes model calls. It is [llm.Caller] but in tests.
type Caller interface {
	Stream(ctx context.Context, route llm.Route, req llm.Request) iter.Seq2[llm.Delta, error]
}

// Dispatcher drives the dispatches that an agent opens.
type Dispatcher interface {
	// Dispatch drives a dispatch from its agent_started, or from wherever the log says
	// it is, to its agent_finished, which carries the result of the call. An error
	// means that it could not be brought to an end: [ErrSuspended], or the store's. When
	// ctx ends so does the dispatch, with the context's cause as its failure. timeout, if
	// it is not 0, bounds its time in addition to specialist_timeout; waiting for the endpoint
	// counts towards neither.
	Dispatch(ctx context.Context, id events.DispatchID, timeout time.Duration) error
}

// Governor admits model calls under the run's bounds.
type Governor interface {
	// Admit reserves what the call may use. The error is a [*events.LimitError] at a bound,
	// [ErrSuspended] when the run is being parked, or the context's cause.
	Admit(ctx context.Context, estimate Estimate) (Reservation, error)
	// Parking ends, with [ErrSuspended] as its cause, when the run is being parked: calls
	// that wait for their turn, or for another attempt, are then not made.
	Parking() context.Context
	// Cost gives what the usage costs at the target, nil where that is unknown: calls
	// that broke off are paid for by estimate.
	Cost(target llm.Target, usage events.Usage) *float64
}

// Estimate is what a call is expected to use.
type Estimate struct {
	Usage events.Usage
	// Target is the first that is asked.
	Target llm.Target
	// LastTurn is what the agent's last turn would use if it came next, nil for an
	// agent that has none. It is kept back from all ordinary calls of the run.
	LastTurn *events.Usage
	// WrapUp draws on the share that is kept for the last turn.
	WrapUp bool
}

// Reservation is settled exactly once, with what the call used.
type Reservation interface {
	Settle(used events.Usage, costUSD *float64)
}

// ErrSuspended ends the agents of a run that is being parked: they stop where they
// are, without closing facts, to be resumed from the log.
var ErrSuspended = errors.New("the run is suspended")

// ErrAwaitingInput is the [ErrSuspended] of an agent that waits for a person.
var ErrAwaitingInput = fmt.Errorf("%w: it waits for input", ErrSuspended)

// Suspension gives the [ErrSuspended] that an error of several agents is: [ErrAwaitingInput]
// where one of them waits for a person.
func Suspension(err error) error {
	if errors.Is(err, ErrAwaitingInput) {
		return ErrAwaitingInput
	}
	return ErrSuspended
}

// ErrCancelled ends the agents of a cancelled run.
var ErrCancelled = errors.New("the run was cancelled")
