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
	KindHandoffResumed       Kind = "handoff_resumed"
	KindWorkflowStateChanged Kind = "workflow_state_changed"
	KindInputRequested       Kind = "input_requested"
	KindPhaseChanged         Kind = "phase_changed"
	KindTransitionRolledBack Kind = "transition_rolled_back"
	KindPermissionDenied     Kind = "permission_denied"
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
	// TierAffinity: the agent to whom a message was routed goes on.
	TierAffinity Tier = "affinity"
	// TierRule: a rule of the team decides.
	TierRule    Tier = "rule"
	TierDefault Tier = "default"
)

// MessageRouted says who answers a user's message.
type MessageRouted struct {
	fact
	MessageID MessageID `json:"message_id"`
	Agent     AgentID   `json:"agent"`
	Tier      Tier      `json:"tier"`
	// Rule is what decided within the tier: the handoff, the trigger phrase, or the name of
	// the rule.
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
	// RecentMessages are those messages as the target reads them, the oldest first. In older
	// logs there are none where RecentMessageCount is set: the target reads them as they were.
	RecentMessages []SharedMessage `json:"recent_messages,omitempty"`
	// Reason has at most 500 characters.
	Reason string `json:"handoff_reason"`
	// PreserveState keeps the workflow state of a session that ends before its time;
	// ReturnExpected is set where the target gives the conversation back.
	PreserveState  bool `json:"preserve_state"`
	ReturnExpected bool `json:"return_expected"`
	// NextPhase is the phase of the conversation that begins with the handoff, "" where
	// that stays as it is.
	NextPhase Phase `json:"next_phase,omitempty"`
	// ChannelEscalation is how a person is reached: "" is the same channel.
	ChannelEscalation Channel `json:"channel_escalation,omitempty"`
	// Metadata is a JSON object of the source's.
	Metadata json.RawMessage `json:"handoff_metadata,omitempty"`
}

// SharedMessage is a message of a thread that goes along with a handoff.
type SharedMessage struct {
	Role    Role   `json:"role"`
	Content string `json:"content"`
}

// Phase names a phase of a conversation, such as "intake". Any text is one.
type Phase string

// Channel says how a person to whom a conversation is escalated is reached.
type Channel string

// The channels of an escalation.
const (
	ChannelSame  Channel = "same"
	ChannelVoice Channel = "voice"
	ChannelEmail Channel = "email"
	ChannelSMS   Channel = "sms"
)

// HandoffAccepted gives the conversation to the target.
type HandoffAccepted struct {
	fact
	HandoffID HandoffID `json:"handoff_id"`
	// EstimatedDurationSeconds is how long the target expects to need, 0 where it does not say.
	EstimatedDurationSeconds int `json:"estimated_duration_seconds,omitempty"`
	// AllMayAnswer is set where the target is a person beside whom everybody goes on
	// answering: the conversation stays with whoever has it.
	AllMayAnswer bool `json:"all_may_answer,omitempty"`
	// UserMessages are what people said to the run, as the target reads it: without personal
	// data. It reads them as they were said where there are none.
	UserMessages []string `json:"user_messages,omitempty"`
	// Notice is what the user is shown of it, here and in the other kinds.
	Notice string `json:"notice,omitempty"`
}

// HandoffRejected leaves the conversation with its source.
type HandoffRejected struct {
	fact
	HandoffID HandoffID `json:"handoff_id"`
	// Code groups reasons for machines: "active_session", "unknown_target", "unavailable",
	// "permission_denied", "not_allowed".
	Code   string `json:"code"`
	Reason string `json:"rejection_reason"`
	Notice string `json:"notice,omitempty"`
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
	Notice           string   `json:"notice,omitempty"`
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

// HandoffResumed opens a session again that its user left, or that was idle for too long:
// its specialist goes on in the state that was kept.
type HandoffResumed struct {
	fact
	HandoffID HandoffID `json:"handoff_id"`
	// By says who asked: the user's id, "user" where nobody said.
	By string `json:"by"`
	// ContextSummary is what was said since, at most 2,000 characters.
	ContextSummary string `json:"context_summary,omitempty"`
	Notice         string `json:"notice,omitempty"`
}

// InputID names one request for input of a thread: "i1", "i2", … in their order.
type InputID string

// InputKind says what is waited for.
type InputKind string

// The kinds of input.
const (
	// InputQuestion: an agent asks the user.
	InputQuestion InputKind = "question"
	// InputApproval: an agent wants leave for a tool call. An [Approval] answers it.
	InputApproval InputKind = "approval"
	// InputHuman: a person is to answer in an agent's place.
	InputHuman InputKind = "human"
)

// InputRequested asks a person for something without which its agent cannot go on. A
// [UserMessage] with the same InputID is the answer. Its run is parked once nothing else
// of it is at work.
type InputRequested struct {
	fact
	InputID  InputID   `json:"input_id"`
	For      InputKind `json:"kind"`
	Question string    `json:"question"`
	// Choices are answers to choose from; another text is an answer as well.
	Choices []string `json:"choices,omitempty"`
	// Call is the tool call that the answer is the result of, "" where it is none.
	Call CallID `json:"call,omitempty"`
	// HandoffID is the handoff to a person beside whom all may answer, "" for none. The
	// request stays open when its run ends, until the person answers, is asked again or
	// leaves.
	HandoffID HandoffID `json:"handoff_id,omitempty"`
	// Action is what an [InputApproval] is about, nil for the other kinds.
	Action *Action `json:"action,omitempty"`
}

// PhaseChanged takes the conversation into another phase.
type PhaseChanged struct {
	fact
	// From is "" at the first phase. To is "" behind the last stage of a pipeline.
	From Phase `json:"from_phase,omitempty"`
	To   Phase `json:"to_phase"`
	// HandoffID is the session of the agent whose phase begins, FromHandoffID that of the
	// agent who finished one with it; "" where there is none.
	HandoffID     HandoffID `json:"handoff_id,omitempty"`
	FromHandoffID HandoffID `json:"from_handoff_id,omitempty"`
	FromAgent     AgentID   `json:"from_agent,omitempty"`
	ToAgent       AgentID   `json:"to_agent"`
	Reason        string    `json:"reason"`
	// Result is what the agent of the finished phase passes on.
	Result string `json:"result,omitempty"`
	// Snapshot is the state of the conversation before, as a JSON object.
	Snapshot json.RawMessage `json:"snapshot,omitempty"`
	Notice   string          `json:"notice,omitempty"`
}

// TransitionRolledBack takes the conversation back to where it was before a transition
// that failed.
type TransitionRolledBack struct {
	fact
	HandoffID HandoffID `json:"handoff_id,omitempty"`
	// ToSeq is the event up to which the state is as it was.
	ToSeq  Seq    `json:"to_seq"`
	Reason string `json:"reason"`
}

// PermissionDenied records that something was refused before it was done.
type PermissionDenied struct {
	fact
	// Permission is the one that was missing, such as "handoff:initiate".
	Permission string `json:"permission"`
	UserID     string `json:"user_id,omitempty"`
	// What was asked for, in words.
	What string `json:"what"`
	// Target is the run, thread or batch that a caller named, where [AuditThread] has the
	// refusal; it need not exist.
	Target string `json:"target,omitempty"`
	// More counts further refusals of the same caller within a minute, which the log does not
	// have one by one.
	More int `json:"more,omitempty"`
}

func (MessageRouted) Kind() Kind        { return KindMessageRouted }
func (HandoffResumed) Kind() Kind       { return KindHandoffResumed }
func (InputRequested) Kind() Kind       { return KindInputRequested }
func (PhaseChanged) Kind() Kind         { return KindPhaseChanged }
func (TransitionRolledBack) Kind() Kind { return KindTransitionRolledBack }
func (PermissionDenied) Kind() Kind     { return KindPermissionDenied }
func (HandoffRequested) Kind() Kind     { return KindHandoffRequested }
func (HandoffAccepted) Kind() Kind      { return KindHandoffAccepted }
func (HandoffRejected) Kind() Kind      { return KindHandoffRejected }
func (HandoffExitRequested) Kind() Kind { return KindHandoffExitRequested }
func (HandoffReturned) Kind() Kind      { return KindHandoffReturned }
func (WorkflowStateChanged) Kind() Kind { return KindWorkflowStateChanged }
