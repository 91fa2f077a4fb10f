package events

import "encoding/json"

// Kinds about who speaks with the user.
const (
	KindMessageRouted        Kind = "message_routed"
	KindHandoffRequested     Kind = "handoff_requested"
	KindHandoffAccepted      Kind = "handoff_accepted"
	KindHandoffRejected      Kind = "handoff_rejected"
	KindHandoffExitRequested Kind = "handoff_exit_requested"
	KindHandoffReturned      Kind = "handoff_returned"
	KindWorkflowStateChanged Kind = "workflow_state_changed"
)

// MessageID names a user's message within a thread. The sender chooses it, so that a
// message that is sent twice counts once.
type MessageID string

// HandoffID names one handoff of a thread: "h1", "h2", … in the order of the requests.
// Events of the specialist who has the conversation carry it as their dispatch.
type HandoffID string

// Tier says by which kind of rule a message found its agent.
type Tier string

// The tiers, the first that applies decides.
const (
	// TierExit: the user leaves a handoff, and the facilitator takes over.
	TierExit Tier = "exit"
	// TierHandoff: a specialist has the conversation.
	TierHandoff Tier = "handoff"
	// TierTrigger: the message has a phrase that hands the conversation over.
	TierTrigger Tier = "trigger"
	TierDefault Tier = "default"
)

// MessageRouted says who answers a user's message.
type MessageRouted struct {
	fact
	MessageID MessageID `json:"message_id"`
	Agent     AgentID   `json:"agent"`
	Tier      Tier      `json:"tier"`
	// Rule is what decided within the tier: the handoff, or the trigger phrase.
	Rule string `json:"rule,omitempty"`
}

// HandoffRequested asks that another agent take over the conversation with the user.
type HandoffRequested struct {
	fact
	HandoffID HandoffID `json:"handoff_id"`
	UserID    string    `json:"user_id,omitempty"`
	Source    AgentID   `json:"source_agent_id"`
	Target    AgentID   `json:"target_agent_id"`
	// ContextSummary is what the target needs to know, at most 2,000 characters.
	ContextSummary string `json:"context_summary"`
	// RecentMessageCount is how many of the newest messages of the thread the target reads
	// beside the summary, 0 to 20.
	RecentMessageCount int `json:"recent_message_count,omitempty"`
	// Reason has at most 500 characters.
	Reason string `json:"handoff_reason"`
	// PreserveState keeps the workflow state of a session that ends before its time;
	// ReturnExpected is set where the target gives the conversation back.
	PreserveState  bool `json:"preserve_state"`
	ReturnExpected bool `json:"return_expected"`
}

// HandoffAccepted gives the conversation to the target.
type HandoffAccepted struct {
	fact
	HandoffID HandoffID `json:"handoff_id"`
}

// HandoffRejected leaves the conversation with its source.
type HandoffRejected struct {
	fact
	HandoffID HandoffID `json:"handoff_id"`
	// Code groups reasons for machines: "active_session", "unknown_target".
	Code   string `json:"code"`
	Reason string `json:"rejection_reason"`
}

// HandoffExitRequested asks that the conversation return to the facilitator. It may be
// posted without a claim.
type HandoffExitRequested struct {
	fact
	HandoffID HandoffID `json:"handoff_id"`
	// By says who asks: the user's id, "user" where nobody said.
	By string `json:"by"`
}

// CompletionStatus says how a handoff ended.
type CompletionStatus string

// The ways in which a handoff ends.
const (
	CompletionCompleted CompletionStatus = "completed"
	CompletionCancelled CompletionStatus = "cancelled"
	CompletionError     CompletionStatus = "error"
)

// HandoffReturned gives the conversation back to the facilitator.
type HandoffReturned struct {
	fact
	HandoffID        HandoffID        `json:"handoff_id"`
	CompletionStatus CompletionStatus `json:"completion_status"`
	ResultSummary    string           `json:"result_summary"`
	// ArtifactsCreated names what the specialist made, in its own words.
	ArtifactsCreated []string `json:"artifacts_created,omitempty"`
}

// WorkflowStateChanged moves a handoff's specialist through the steps that it declares.
type WorkflowStateChanged struct {
	fact
	HandoffID HandoffID `json:"handoff_id"`
	// From is "" at the first step.
	From string `json:"from,omitempty"`
	To   string `json:"to"`
	// Step is the place of To among the declared states, from 1; Steps counts those.
	Step  int `json:"step"`
	Steps int `json:"steps"`
	// Metadata is a JSON object of what the specialist has gathered so far.
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

func (MessageRouted) Kind() Kind        { return KindMessageRouted }
func (HandoffRequested) Kind() Kind     { return KindHandoffRequested }
func (HandoffAccepted) Kind() Kind      { return KindHandoffAccepted }
func (HandoffRejected) Kind() Kind      { return KindHandoffRejected }
func (HandoffExitRequested) Kind() Kind { return KindHandoffExitRequested }
func (HandoffReturned) Kind() Kind      { return KindHandoffReturned }
func (WorkflowStateChanged) Kind() Kind { return KindWorkflowStateChanged }
