package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
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
	Route  llm.Route
	// Temperature is sent where it is not nil.
	Temperature *float64
	// WindowTokens is the model's context window, 0 where it is unknown. Histories
	// are compacted before they outgrow it.
	WindowTokens int
	// MaxToolCalls bounds the calls of one turn that are run.
	MaxToolCalls int
	// MaxResultBytes bounds the result of one tool call.
	MaxResultBytes int
	// MaxReplyBytes bounds one reply of the model.
	MaxReplyBytes int
}

// Role is what sets one kind of agent apart. All of its methods but Opening are
// decisions: they emit facts and must not wait.
type Role interface {
	// Over reports whether the agent has come to its end.
	Over(run *thread.Run) bool
	// Opening gives the messages behind the system prompt: a function of the run's
	// configuration and of the event that started the agent.
	Opening(run *thread.Run) []events.Message
	// Prepare is asked before each model call. limit is set where the governor
	// refused an ordinary call. It may nudge the agent with a user_message, or end it
	// and answer [Stop].
	Prepare(tx *thread.Tx, conv *thread.Conversation, limit *LimitError) NextStep
	// Beside records text that the model wrote beside tool calls.
	Beside(tx *thread.Tx, text string)
	// Close takes a reply without tool calls. It ends the agent, or says with a
	// user_message why it goes on.
	Close(tx *thread.Tx, reply events.Reply)
	// Fail ends an agent that cannot go on.
	Fail(tx *thread.Tx, cause error)
}

// NextStep says how an agent goes on. Package conversation will add handing the
// thread over and waiting for a person.
type NextStep interface{ nextStep() }

type (
	// RunAgain makes another turn.
	RunAgain struct{}
	// WrapUp makes one last turn, without tools, from the share kept for it.
	WrapUp struct{}
	// Stop makes none.
	Stop struct{}
)

func (RunAgain) nextStep() {}
func (WrapUp) nextStep()   {}
func (Stop) nextStep()     {}

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
	// means that it could not be brought to an end: [ErrSuspended], or the store's.
	Dispatch(ctx context.Context, id events.DispatchID) error
	// Stop ends a dispatch that is being driven, with the cause as its failure. It does
	// not wait; a dispatch that is not driven yet, or no longer, is left alone.
	Stop(id events.DispatchID, cause error)
}

// Governor admits model calls under the run's bounds.
type Governor interface {
	// Admit reserves what the call may use. The error is a [*LimitError] at a bound,
	// [ErrSuspended] when the run is being parked, or the context's cause.
	Admit(ctx context.Context, estimate Estimate) (Reservation, error)
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

// ErrCancelled ends the agents of a cancelled run.
var ErrCancelled = errors.New("the run was cancelled")

// LimitError says that a bound was met.
type LimitError struct {
	Limit       events.Limit
	Value, Used float64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the bound %s=%s is reached (%s used)", e.Limit, Amount(e.Limit, e.Value), Amount(e.Limit, e.Used))
}

// Amount writes the value of a bound for people: a time with its unit, anything else
// whole where it is large, or with the digits that matter.
func Amount(limit events.Limit, v float64) string {
	switch limit {
	case team.LimitMaxTime, team.LimitSpecialistTimeout, team.LimitSilenceTimeout:
		return time.Duration(v * float64(time.Second)).Round(10 * time.Millisecond).String()
	}
	if v >= 1e5 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.6g", v)
}

// Fact gives the event that records the bound.
func (e *LimitError) Fact(consequence string) events.LimitReached {
	return events.LimitReached{Limit: e.Limit, Value: e.Value, Used: e.Used, Consequence: consequence}
}
