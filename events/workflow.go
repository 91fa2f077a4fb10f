package events

import "encoding/json"

// Kinds about a whole run.
const (
	KindWorkflowStarted  Kind = "workflow_started"
	KindWorkflowFinished Kind = "workflow_finished"
	KindFinalAnswer      Kind = "final_answer"
	KindError            Kind = "error"
	KindCancelRequested  Kind = "cancel_requested"
	KindRunCancelled     Kind = "run_cancelled"
	KindRunSuspended     Kind = "run_suspended"
	KindRunResumed       Kind = "run_resumed"
)

// Status is the state of a run.
type Status string

// The statuses of a run. A run is over in the last four.
const (
	StatusQueued        Status = "queued"
	StatusRunning       Status = "running"
	StatusSuspended     Status = "suspended"
	StatusAwaitingInput Status = "awaiting_input"
	StatusCompleted     Status = "completed"
	StatusDegraded      Status = "degraded"
	StatusFailed        Status = "failed"
	StatusCancelled     Status = "cancelled"
)

// Over reports whether a run in this status has finished for good.
func (s Status) Over() bool {
	switch s {
	case StatusCompleted, StatusDegraded, StatusFailed, StatusCancelled:
		return true
	}
	return false
}

// WorkflowStarted opens a run and carries all that is needed to drive it to its
// end, so that the log alone can be resumed.
type WorkflowStarted struct {
	fact
	// Message is the user's request, byte for byte.
	Message string `json:"message"`
	// Prompt is what the facilitator is asked where that is not Message itself: the
	// team's request template, filled.
	Prompt string `json:"prompt,omitempty"`
	// Team is the name of the team.
	Team string `json:"team"`
	// Agents lists the team's agents, the facilitator first.
	Agents []AgentCard `json:"agents"`
	// Layout is the layout of the shared document, as package document writes it.
	Layout json.RawMessage `json:"layout,omitempty"`
	// Config is the resolved configuration: team, prompts, tools, limits. The
	// runner writes it and reads it back on resume; others read what models were sent.
	Config json.RawMessage `json:"config,omitempty"`
	// Solo marks a run of a single agent without specialists.
	Solo bool `json:"solo,omitempty"`
	// Simulated marks a run whose answers come from the simulated model.
	Simulated bool `json:"simulated,omitempty"`
	// Batch is set on the run of a batch's row.
	Batch *BatchRow `json:"batch,omitempty"`
	// BinaryVersion is the version of convene that started the run.
	BinaryVersion string `json:"binary_version,omitempty"`
	// Continues is the run of the same thread whose plan, document and conversation this
	// run begins with; "" if it starts from scratch. What that run used is not counted again.
	Continues RunID `json:"continues,omitempty"`
	// TasksBefore and FinishedBefore count the tasks of that run and those of them that
	// are finished, so that a summary needs no other run.
	TasksBefore    int `json:"tasks_before,omitempty"`
	FinishedBefore int `json:"finished_before,omitempty"`
	// Follows is the newest run before this one in the thread, if the facilitator sees what
	// was asked and answered up to its end; "" in the first run of a thread, in one that
	// continues another, and in logs that were written before there was this field.
	Follows RunID `json:"follows,omitempty"`
	// MessageID names the user's message that the run answers: a user_message before this
	// event that belongs to no run. "" in a run that no message started.
	MessageID MessageID `json:"message_id,omitempty"`
	// Synthetic is set where Message is not the user's but says what the run is for: the user
	// left a handoff, or a program handed the conversation over.
	Synthetic bool `json:"synthetic,omitempty"`
	// UserID is whose thread it is: the user who began it, and who sees it beside those who may
	// see all. "" for a thread of nobody, as the command line begins them.
	UserID string `json:"user_id,omitempty"`
	// By is who asked for the run, where no message says so or somebody forked it: "" where
	// nobody said. Grants are the permissions that nobody in the run exceeds, beside those of
	// its message: absent is everything, empty is nothing.
	By     string   `json:"by,omitempty"`
	Grants []string `json:"grants,omitzero"`
	// ForkedFrom is set on a run that began as a copy of another one's facts.
	ForkedFrom *ForkOrigin `json:"forked_from,omitempty"`
	// Traceparent is the span of others that the run is part of, as W3C Trace Context writes
	// it; "" where there is none.
	Traceparent string `json:"traceparent,omitempty"`
}

// ForkOrigin says where a forked run comes from and what is different in it. The
// fork has the origin's facts under ids and seqs of its own.
type ForkOrigin struct {
	Run    RunID    `json:"run_id"`
	Thread ThreadID `json:"thread_id"`
	// Seq is the last event of that thread that the fork kept.
	Seq Seq `json:"seq"`
	// Model is the model that is asked instead of the origin's, "" for the same.
	Model string `json:"model,omitempty"`
	// Instruction is what the facilitator was told in addition, "" for nothing.
	Instruction string `json:"instruction,omitempty"`
}

// AgentCard is what a view shows of an agent.
type AgentCard struct {
	ID          AgentID `json:"id"`
	DisplayName string  `json:"display_name"`
	// Models are the models that the agent calls: the first, then its fallbacks.
	Models []string `json:"models"`
	// Handoff is what the agent declares as one that can take over the conversation with the
	// user, nil for one that cannot.
	Handoff *HandoffCard `json:"handoff,omitempty"`
	// Orchestration is what it may do with other agents and they with it, nil in older logs.
	Orchestration *OrchestrationCard `json:"orchestration,omitempty"`
}

// HandoffCard is what an agent declares as one that can take over the conversation.
type HandoffCard struct {
	SupportsHandoff bool `json:"supports_handoff"`
	// HandoffTriggers are the phrases of a message that hand over to it.
	HandoffTriggers []string `json:"handoff_triggers,omitempty"`
	// WorkflowStates are the steps that it takes with the user, in order.
	WorkflowStates []string `json:"workflow_states,omitempty"`
	// RequiresExclusiveControl is set where a second handoff does not take the conversation
	// away from it.
	RequiresExclusiveControl bool `json:"requires_exclusive_control"`
	// MaxSessionDurationSeconds is how long its session may be idle.
	MaxSessionDurationSeconds int `json:"max_session_duration_seconds"`
}

// OrchestrationCard is what an agent may do with other agents, and they with it.
type OrchestrationCard struct {
	CanOrchestrate    bool `json:"can_orchestrate"`
	CanBeOrchestrated bool `json:"can_be_orchestrated"`
	// SupportedDelegationStrategies and MaxConcurrentDelegations are of one that can orchestrate.
	SupportedDelegationStrategies []string `json:"supported_delegation_strategies,omitempty"`
	MaxConcurrentDelegations      int      `json:"max_concurrent_delegations,omitempty"`
}

// WorkflowFinished closes a run, whatever its outcome. It is the last event of
// the run and occurs once.
type WorkflowFinished struct {
	fact
	Tasks            []Task            `json:"tasks"`
	DocumentVersions []DocumentVersion `json:"document_versions"`
	Status           Status            `json:"status"`
	// Reason says in words why the status is not "completed"; empty if it is.
	Reason string `json:"reason,omitempty"`
	// Limit names the bound that ended or narrowed the run, if one did.
	Limit Limit `json:"limit,omitempty"`
	// MissingTasks are the tasks that stayed open, declined ones too unless another
	// replaces them.
	MissingTasks []TaskID `json:"missing_tasks,omitempty"`
	Usage        Usage    `json:"usage"`
	// CostUSD is nil where a model has no known price.
	CostUSD    *float64 `json:"cost_usd"`
	ModelCalls int      `json:"model_calls"`
	// DrivenMS is the time that a process drove the run: downtime is not in it.
	DrivenMS int64 `json:"driven_ms"`
}

// FinalAnswer is what the user gets.
type FinalAnswer struct {
	fact
	Content string `json:"content"`
	// Fallback is set where no model wrote the answer: Content is then the
	// document with attribution.
	Fallback bool `json:"fallback,omitempty"`
	// Structured is set where Content is JSON that fits the team's answer_schema.
	Structured bool `json:"structured,omitempty"`
}

// Error records a failure that nothing below could handle.
type Error struct {
	fact
	Message string `json:"message"`
	// Code groups errors for machines: "authentication", "model_not_found", …
	Code string `json:"code,omitempty"`
	FailedCall
}

// CancelRequested asks whoever drives the run to end it. It may be posted
// without a claim. In the thread of a batch it asks whoever runs the batch to stop, so that
// it can be continued.
type CancelRequested struct {
	fact
	Reason string `json:"reason,omitempty"`
}

// RunCancelled decides the cancellation. After it only closing facts, and model
// calls already paid for, are accepted for the run.
type RunCancelled struct {
	fact
	Reason string `json:"reason,omitempty"`
}

// RunSuspended says that the driving process let go of the run in good order.
type RunSuspended struct {
	fact
	Reason string `json:"reason,omitempty"`
	// Code and Endpoint are set where an endpoint could not be used for longer than the
	// run was to wait: as in outage_began.
	Code     string `json:"code,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	// Limit is set where the tenant has used what it may use in a day: see [LimitTenantTokens].
	Limit Limit `json:"limit,omitempty"`
	// AwaitingInput is set where the run waits for a person: its status is then
	// "awaiting_input".
	AwaitingInput bool `json:"awaiting_input,omitempty"`
	// DrivenMS is the driven time so far, over all processes.
	DrivenMS int64 `json:"driven_ms"`
}

// RunResumed says that a process took the run up again.
type RunResumed struct {
	fact
	Owner         Owner  `json:"owner"`
	BinaryVersion string `json:"binary_version,omitempty"`
}

func (WorkflowStarted) Kind() Kind  { return KindWorkflowStarted }
func (WorkflowFinished) Kind() Kind { return KindWorkflowFinished }
func (FinalAnswer) Kind() Kind      { return KindFinalAnswer }
func (Error) Kind() Kind            { return KindError }
func (CancelRequested) Kind() Kind  { return KindCancelRequested }
func (RunCancelled) Kind() Kind     { return KindRunCancelled }
func (RunSuspended) Kind() Kind     { return KindRunSuspended }
func (RunResumed) Kind() Kind       { return KindRunResumed }
