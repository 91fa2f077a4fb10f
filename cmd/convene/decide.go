package main

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/thread"
)

// howToDecide says what may be typed where a call waits for approval.
const howToDecide = "y runs it, n or n REASON denies it, {…} runs it with these arguments"

// answerTo makes what was typed the answer to a request for input.
func answerTo(input *thread.Input, text string, message *runner.Message) (content string, err error) {
	message.InputID, message.Delivery = input.InputID, events.DeliveryAnswer
	if input.For != events.InputApproval {
		return chosen(input.Choices, text), nil
	}
	message.Approval, err = decision(text)
	return "", err
}

// decision reads what a person decides on a call.
func decision(text string) (*events.Approval, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") {
		if !json.Valid([]byte(text)) {
			return nil, errors.New("the arguments are not valid JSON: " + howToDecide)
		}
		return &events.Approval{Decision: events.DecisionApprove, Arguments: json.RawMessage(text)}, nil
	}
	word, reason, _ := strings.Cut(text, " ")
	switch strings.ToLower(strings.TrimRight(word, ".,:;!")) {
	case "y", "yes", "approve":
		return &events.Approval{Decision: events.DecisionApprove, Reason: strings.TrimSpace(reason)}, nil
	case "n", "no", "deny":
		return &events.Approval{Decision: events.DecisionDeny, Reason: strings.TrimSpace(reason)}, nil
	}
	return nil, errors.New("a call waits for your approval: " + howToDecide)
}
