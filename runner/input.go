package runner

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/thread"
)

// OnInput says what becomes of a run that asks a person for something: [ParkOnInput],
// [FailOnInput] or the text that [AnswerOnInput] gives. "" is ParkOnInput.
type OnInput string

// What becomes of a run that asks for input.
const (
	// ParkOnInput parks the run, to go on once somebody has answered: [events.StatusAwaitingInput].
	ParkOnInput OnInput = "park"
	// FailOnInput ends the run: nobody will answer.
	FailOnInput OnInput = "fail"
)

// answerPrefix begins an [OnInput] that answers.
const answerPrefix = "answer:"

// AnswerOnInput answers whatever is asked with the text.
func AnswerOnInput(text string) OnInput { return OnInput(answerPrefix + text) }

// Check says what is wrong with a policy that somebody wrote.
func (o OnInput) Check() error {
	text, answers := o.answer()
	switch {
	case o == "", o == ParkOnInput, o == FailOnInput:
		return nil
	case !answers:
		return &InputError{fmt.Sprintf("there is no policy %q for input: write %s, %s or %sTEXT", string(o), ParkOnInput, FailOnInput, answerPrefix)}
	case strings.TrimSpace(text) == "":
		return &InputError{fmt.Sprintf("the answer is empty: write %sTEXT", answerPrefix)}
	}
	return checkText("the answer", text)
}

func (o OnInput) answer() (text string, answers bool) {
	return strings.CutPrefix(string(o), answerPrefix)
}

// errNobodyAnswers is why a run with [FailOnInput] fails.
var errNobodyAnswers = errors.New("it asked for input, and nobody is there to answer")

// untilAnswered runs drive again for as long as answers come that it waits for.
func (r *Run) untilAnswered(drive func() error) error {
	for {
		err := drive()
		if !errors.Is(err, loop.ErrAwaitingInput) {
			return err
		}
		if err := r.awaitInput(); err != nil {
			return err
		}
		parked := false
		if err := r.journal.Do(func(tx *thread.Tx) { parked = tx.Run.Status.Over() || tx.Run.Suspended != nil }); err != nil || parked {
			return err
		}
	}
}

// awaitInput does what the terms say with a run in which nothing is at work that does not wait
// for a person: unless it goes on, it is parked.
func (r *Run) awaitInput() error {
	r.heed()
	return r.journal.Do(func(tx *thread.Tx) {
		text, answers := r.terms.OnInput.answer()
		switch {
		case tx.Run.Status.Over(), tx.Run.Cancelled, ready(tx.Run):
		case answers && len(questionsOf(tx.Run)) > 0:
			for _, input := range questionsOf(tx.Run) {
				tx.Emit("", "", events.UserMessage{Content: text, Delivery: events.DeliveryAnswer, InputID: input.InputID})
			}
		case r.terms.OnInput == FailOnInput && len(questionsOf(tx.Run)) > 0:
			tx.Emit(events.FacilitatorID, thread.Facilitator, events.Error{Message: errNobodyAnswers.Error(), Code: codeNobodyAnswers})
			facilitator.Finish(tx, facilitator.Ending{Failed: true, Reason: asked(questionsOf(tx.Run))})
		case r.governor.Parking().Err() != nil && !allWait(tx.Run):
			r.park(tx, loop.ErrSuspended)
		default:
			r.park(tx, loop.ErrAwaitingInput)
		}
	})
}

// questionsOf are the requests for which the run waits that a text can answer.
func questionsOf(run *thread.Run) []*thread.Input {
	return slices.DeleteFunc(run.Open(), func(i *thread.Input) bool { return i.For == events.InputApproval })
}

// allWait reports whether every specialist under way waits for a person.
func allWait(run *thread.Run) bool {
	open := run.Open()
	return !slices.ContainsFunc(run.Dispatches, func(d *thread.Dispatch) bool {
		return d.Finish == nil && !slices.ContainsFunc(open, func(i *thread.Input) bool { return i.Actor == thread.ActorOf(d.ID) })
	})
}

// codeNobodyAnswers is the code of the error of a run that asked where nobody answers.
const codeNobodyAnswers = "input_requested"

// asked says what was asked of people who are not there.
func asked(inputs []*thread.Input) string {
	var questions []string
	for _, input := range inputs {
		questions = append(questions, fmt.Sprintf("%q", input.Question))
	}
	return fmt.Sprintf("%v: %s. Answer with --on-input %sTEXT, or say more in the request", errNobodyAnswers, strings.Join(questions, ", "), answerPrefix)
}

// reasonChars bounds what a listing of runs shows of a question.
const reasonChars = 200

// park records that the run is parked.
func (r *Run) park(tx *thread.Tx, cause error) {
	parked := r.patience.suspended(cause)
	if open := tx.Run.Open(); parked.AwaitingInput && len(open) > 0 {
		parked.Reason = chars.Clip(strings.Join(strings.Fields(open[0].Question), " "), reasonChars)
	}
	if why := r.governor.why(); why != nil {
		parked.Reason = why.Error()
		var met *QuotaError
		if errors.As(why, &met) {
			parked.Limit = met.Limit
		}
	}
	parked.DrivenMS = tx.Run.DrivenUntil(tx.Now).Milliseconds()
	tx.By = r.stopper.Load()
	tx.Emit("", "", parked)
}
