package facilitator

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/thread"
)

// AskUserTool is the name of the tool that asks the user.
const AskUserTool = "ask_user"

// Bounds of a question: a person reads it, and picks from a list.
const (
	maxQuestionChars = 2000
	maxChoices       = 10
	maxChoiceChars   = 200
)

type askUserArgs struct {
	Question string   `json:"question" jsonschema:"Complete in itself: the user has not seen your work."`
	Choices  []string `json:"choices,omitempty" jsonschema:"A few likely answers. The user may give another."`
}

// check says what is wrong with the question.
func (a *askUserArgs) check() error {
	switch {
	case strings.TrimSpace(a.Question) == "":
		return errors.New("the question is empty")
	case chars.Over(a.Question, maxQuestionChars):
		return fmt.Errorf("the question has %d characters; at most %d are allowed", chars.Count(a.Question), maxQuestionChars)
	case len(a.Choices) > maxChoices:
		return fmt.Errorf("%d choices; at most %d are allowed", len(a.Choices), maxChoices)
	}
	for _, choice := range a.Choices {
		if strings.TrimSpace(choice) == "" || chars.Over(choice, maxChoiceChars) {
			return fmt.Errorf("a choice has 1 to %d characters", maxChoiceChars)
		}
	}
	return nil
}

func (t tools) askUser() agent.Tool {
	return agent.Tool{
		Tool: llm.Tool{
			Name: AskUserTool,
			Description: "Asks the user and waits, perhaps for days. Only where you cannot go on without: " +
				"otherwise assume what is sensible, and name it in your answer.",
			Parameters: agent.Schema[askUserArgs](func(schema *jsonschema.Schema) {
				schema.Properties["question"].MaxLength = new(maxQuestionChars)
				schema.Properties["choices"].MaxItems = new(maxChoices)
				schema.Properties["choices"].Items.MaxLength = new(maxChoiceChars)
			}),
		},
		Handler: loop.Await(func(tx *thread.Tx, in *agent.Invocation) error {
			var args askUserArgs
			err := in.Decode(&args)
			if err == nil {
				err = args.check()
			}
			if err == nil {
				tx.Emit(in.Agent, thread.Facilitator, events.InputRequested{
					InputID: tx.Run.Thread().NextInput(), For: events.InputQuestion, Question: args.Question, Choices: args.Choices, Call: in.Ref.CallID,
				})
			}
			return err
		}),
	}
}
