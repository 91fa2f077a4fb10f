package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/quote"
	"github.com/convene-run/convene/thread"
)

// standing says whether a call may be run.
type standing int

const (
	// granted: the call may be run.
	granted standing = iota
	// asked: a person has yet to decide.
	asked
	// refused: the call has its result without having been run.
	refused
)

// leave refuses a call for which the user lacks a permission, asks for leave to run one where
// its tool needs it, or takes the decision. The call
// is given back with the arguments that it is to be run with. What is in the log as started
// was granted.
func (l *Loop) leave(tx *thread.Tx, tool compiled, handler agent.External, call *thread.Call, in *agent.Invocation) (*agent.Invocation, standing) {
	started := call != nil && call.Started
	if !started && l.Spec.Requires != nil {
		for _, permission := range l.Spec.Requires(in.Tool, in.Ref.Arguments) {
			if lacks := tx.Run.Caller().Denied(permission, "call "+in.Tool); lacks != nil {
				tx.Emit(in.Agent, l.ID, *lacks)
				l.finish(tx, in, agent.Refuse(fmt.Errorf("%s was not run: the user does not have the permission %s that it takes. Go on without it, and say so", in.Tool, permission)))
				return in, refused
			}
		}
	}
	input := tx.Run.Asked(in.Ref.CallID)
	if input == nil {
		if started || !l.Spec.asks(in.Tool, in.Ref.Arguments, handler) {
			return in, granted
		}
		tx.Emit(in.Agent, l.ID, l.askLeave(tx, handler, in))
		input = tx.Run.Asked(in.Ref.CallID)
	}
	if input.Answer == nil && l.Decide != nil {
		tx.Emit("", "", events.UserMessage{
			Content: l.Decide.String(), Delivery: events.DeliveryAnswer, InputID: input.InputID, Approval: l.Decide,
		})
	}
	if input.Answer == nil {
		return in, asked
	}
	decided := input.Answer.Approval
	if decided.Decision != events.DecisionApprove {
		l.finish(tx, in, agent.Result{Text: denied(decided), Failed: true})
		return in, refused
	}
	if len(decided.Arguments) > 0 {
		changed := *in
		changed.Ref.Arguments = string(decided.Arguments)
		in = &changed
		if err := tool.takes(in.Ref.Arguments); err != nil && !started {
			l.finish(tx, in, agent.Refuse(fmt.Errorf("%s was not run: the arguments that the user gave do not fit its schema: %s",
				in.Tool, chars.Clip(err.Error(), clipArguments))))
			return in, refused
		}
	}
	return in, granted
}

// clipAsked bounds how much of a call's arguments the question has; they are beside it in full.
const clipAsked = 300

func (l *Loop) askLeave(tx *thread.Tx, handler agent.External, in *agent.Invocation) events.InputRequested {
	effect := handler.Effect
	if effect == "" {
		effect = events.EffectEffectful
	}
	arguments := strings.TrimSpace(argumentsOf(in.Ref.Arguments))
	return events.InputRequested{
		InputID: tx.Run.Thread().NextInput(), For: events.InputApproval, Call: in.Ref.CallID,
		Question: fmt.Sprintf("%s wants to call %s with %s", l.Spec.DisplayName, in.Tool, chars.Clip(strings.Join(strings.Fields(arguments), " "), clipAsked)),
		Action:   &events.Action{Tool: in.Tool, Arguments: arguments, Effect: effect, ModelCall: in.Ref.ModelCall, Index: in.Ref.Index},
	}
}

// denied is what the model reads of a call that was denied.
func denied(decided *events.Approval) string {
	text := "Not run: the user denied this call."
	if decided.Policy {
		text = "Not run: this call needs a person's approval, and nobody is there to give it."
	}
	if decided.Reason == "" {
		return text
	}
	return text + "\n\n" + quote.After("The reason:", decided.Reason)
}

// tellChanged is the text of a call's result, with the arguments that it was run with where a
// person changed them.
func tellChanged(run *thread.Run, in *agent.Invocation, text string) string {
	input := run.Asked(in.Ref.CallID)
	if input == nil || input.Answer == nil || input.Answer.Approval == nil || input.Answer.Approval.Decision != events.DecisionApprove ||
		len(input.Answer.Approval.Arguments) == 0 {
		return text
	}
	changed := quote.After("The user approved this call with other arguments, and these were used:", chars.Clip(string(input.Answer.Approval.Arguments), maxChangedChars))
	if why := input.Answer.Approval.Reason; why != "" {
		changed += "\n\n" + quote.After("The reason:", why)
	}
	return changed + "\n\n" + text
}

// maxChangedChars bounds what a result tells of changed arguments; tool_started has them whole.
const maxChangedChars = 2000

// asks reports whether a call waits for leave.
func (s *Spec) asks(tool, arguments string, handler agent.External) bool {
	effect := handler.Effect
	if effect == "" {
		effect = events.EffectEffectful
	}
	return s.Asks != nil && s.Asks(tool, arguments, effect)
}

// holdsBack reports whether no call behind this one starts before its turn has streamed in
// whole: it is decided at the turn's end, or waits for a person.
func (s *Spec) holdsBack(call events.ToolCall) bool {
	switch handler := s.Tools.tools[call.Name].Handler.(type) {
	case Last, Await:
		return true
	case agent.External:
		return s.asks(call.Name, call.Arguments, handler)
	}
	return false
}

// awaitInput is how an agent ends for now that waits for a person: parked, or for good where
// its time is up.
func (l *Loop) awaitInput(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, ErrSuspended) {
		return l.fail(cause)
	}
	return ErrAwaitingInput
}
