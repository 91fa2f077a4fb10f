package events

import "encoding/json"

// Action is the tool call that an agent asks leave for, with [InputApproval].
type Action struct {
	Tool string `json:"tool"`
	// Arguments is the text that the model wrote: JSON that fits the tool's schema.
	Arguments string `json:"arguments"`
	Effect    Effect `json:"effect"`
	// ModelCall and Index are the call's, as [CallRef] has them.
	ModelCall ModelCallID `json:"model_call_id"`
	Index     int         `json:"index"`
}

// Decision is what is answered to an agent that asks leave for a call.
type Decision string

// The decisions.
const (
	DecisionApprove Decision = "approve"
	DecisionDeny    Decision = "deny"
)

// Approval answers a request for input of the kind [InputApproval].
type Approval struct {
	Decision Decision `json:"decision"`
	// Arguments take the place of the model's: a JSON object; absent leaves them as they are.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Reason says why, mostly why not. The model reads it.
	Reason string `json:"reason,omitempty"`
	// Policy is set where the terms of the driving process decided, and no person.
	Policy bool `json:"policy,omitempty"`
}

// Answers reports whether the message answers a request for input of that id and kind: an
// approval answers those that ask for one, and no others.
func (m UserMessage) Answers(id InputID, kind InputKind) bool {
	return m.InputID == id && id != "" && (kind == InputApproval) == (m.Approval != nil)
}

// String tells the decision in words, as the content of the message that carries it.
func (a *Approval) String() string {
	words := "Denied"
	switch {
	case a.Decision == DecisionApprove && len(a.Arguments) > 0:
		words = "Approved with other arguments: " + string(a.Arguments)
	case a.Decision == DecisionApprove:
		words = "Approved"
	}
	if a.Policy {
		words += " by policy, without a person"
	}
	if a.Reason == "" {
		return words + "."
	}
	return words + ": " + a.Reason
}
