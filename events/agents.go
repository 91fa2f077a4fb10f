package events

import "encoding/json"

// Kinds about agents, their model calls and their tools.
const (
	KindAgentStarted       Kind = "agent_started"
	KindAgentMessage       Kind = "agent_message"
	KindAgentFinished      Kind = "agent_finished"
	KindFacilitatorMessage Kind = "facilitator_message"
	KindDispatchRefused    Kind = "dispatch_refused"
	KindModelCalled        Kind = "model_called"
	KindModelCallFailed    Kind = "model_call_failed"
	KindToolStarted        Kind = "tool_started"
	KindToolCall           Kind = "tool_call"
	KindUserMessage        Kind = "user_message"
	KindHistoryCompacted   Kind = "history_compacted"
)

// CallRef says which call of which model turn an event belongs to. A call is
// known by model call and index; ids are only for talking to the provider.
type CallRef struct {
	ModelCall ModelCallID `json:"model_call_id"`
	// Index is the place of the call in the turn, from 0.
	Index     int    `json:"index"`
	CallID    CallID `json:"call_id"`
	Arguments string `json:"arguments"`
	// Extra is [ToolCall.Extra].
	Extra json.RawMessage `json:"extra,omitempty"`
	// Early is set on calls that started before their turn had streamed in whole.
	Early *Early `json:"early,omitempty"`
}

// Early is what had streamed when a call started early: enough to send the turn
// back if no more of it ever comes.
type Early struct {
	Text      string          `json:"text,omitempty"`
	Reasoning string          `json:"reasoning,omitempty"`
	Extra     json.RawMessage `json:"extra,omitempty"`
}

// AgentStarted opens a dispatch: a fresh agent with its own history.
type AgentStarted struct {
	fact
	Agent       AgentID  `json:"agent"`
	DisplayName string   `json:"display_name"`
	TaskIDs     []TaskID `json:"task_ids"`
	Message     string   `json:"message"`
	// Tool is the name of the dispatch tool that was called.
	Tool string `json:"tool"`
	// Asked is set where the agent only answers Message and writes nothing. It is one of
	// several that the call started, and its end is not the call's result.
	Asked bool `json:"asked,omitempty"`
	CallRef
}

// SuperviseTool is the [AgentStarted.Tool] of a supervisor that reads an exchange: no model
// called for it, and its end ends the run.
const SuperviseTool = "supervise"

// AgentMessage is the closing text of a specialist.
type AgentMessage struct {
	fact
	Agent       AgentID `json:"agent"`
	DisplayName string  `json:"display_name"`
	Content     string  `json:"content"`
}

// Outcome says how a dispatch ended.
type Outcome string

// The outcomes of a dispatch. Only the first marks tasks done.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeFailed    Outcome = "failed"
	OutcomeTimedOut  Outcome = "timed_out"
	OutcomeCancelled Outcome = "cancelled"
	OutcomeLimit     Outcome = "limit"
)

// AgentFinished closes a dispatch and answers the tool call that opened it.
type AgentFinished struct {
	fact
	Agent       AgentID `json:"agent"`
	DisplayName string  `json:"display_name"`
	CallID      CallID  `json:"call_id"`
	Status      Outcome `json:"status"`
	// Result is the text that the caller's model reads.
	Result string `json:"result"`
	// Error says what went wrong where Status is not "ok".
	Error string `json:"error,omitempty"`
	// ElapsedMS is the time from agent_started, downtime not counted.
	ElapsedMS int64 `json:"elapsed_ms"`
	FailedCall
}

// FacilitatorMessage is text that the facilitator wrote along with tool calls.
type FacilitatorMessage struct {
	fact
	Agent       AgentID `json:"agent"`
	DisplayName string  `json:"display_name"`
	Content     string  `json:"content"`
}

// DispatchRefused answers a dispatch call that started no agent.
type DispatchRefused struct {
	fact
	Tool   string `json:"tool"`
	Result string `json:"result"`
	CallRef
}

// ModelCalled is one finished model call with its whole reply. It is never asked
// for again.
type ModelCalled struct {
	fact
	ID       ModelCallID `json:"id"`
	Provider string      `json:"provider,omitempty"`
	Model    string      `json:"model"`
	// API is the one that was asked, where the endpoint has several.
	API   API   `json:"api,omitempty"`
	Reply Reply `json:"reply"`
	Usage Usage `json:"usage"`
	// Tier is the service tier that the endpoint says it served the call in, "" where
	// it says nothing.
	Tier string `json:"tier,omitempty"`
	// CostUSD is nil where the model has no known price.
	CostUSD *float64 `json:"cost_usd"`
	// QueuedMS is the wait for the limiter, RetriedMS the wait between attempts,
	// FirstTokenMS and TotalMS the last attempt's, from sending the request.
	QueuedMS     int64 `json:"queued_ms"`
	RetriedMS    int64 `json:"retried_ms,omitempty"`
	FirstTokenMS int64 `json:"first_token_ms"`
	TotalMS      int64 `json:"total_ms"`
	Attempts     int   `json:"attempts"`
	// Retries are the attempts of this call that failed, in order: the newest
	// [MaxRetries] of them. What they used is not in Usage, but in Lost.
	Retries []FailedAttempt `json:"retries,omitempty"`
	// Lost is what all attempts that failed used, nil if they used nothing.
	Lost *Spent `json:"lost,omitempty"`
	// Interrupted is set where the stream broke, or the process died, after calls
	// of the turn had started: those calls are then the turn. With [PurposeRest] it
	// says that no rest came.
	Interrupted bool `json:"interrupted,omitempty"`
	// KeptDropped is set where the endpoint refused what it was sent back of earlier
	// replies: their Extra is not sent again.
	KeptDropped bool `json:"kept_dropped,omitempty"`
	// Purpose is empty for a turn, else [PurposeRest] or [PurposeCompact].
	Purpose string `json:"purpose,omitempty"`
}

// The purposes of model calls that are no turns of their own.
const (
	// PurposeRest asked, once, for what else a turn that broke off wanted to call: the
	// calls of its reply are appended to those of the turn.
	PurposeRest = "rest"
	// PurposeCompact asked for a summary of old turns.
	PurposeCompact = "compact"
)

// MaxRetries bounds the failed attempts that one event tells of: three targets that
// each refuse a call until they are given up fit, and an event stays below 30 kB.
const MaxRetries = 64

// FailedCall is the model call that got no reply and ended its agent, and what
// was tried. It is empty where an agent ended for another reason.
type FailedCall struct {
	ModelCall ModelCallID `json:"model_call_id,omitempty"`
	// Attempts are those of the call, in order and up to the last: the newest
	// [MaxRetries] of them.
	Attempts []FailedAttempt `json:"attempts,omitempty"`
	// EarlierAttempts counts those before them.
	EarlierAttempts int `json:"earlier_attempts,omitempty"`
	// Lost is what all attempts of the call used, nil if they used nothing.
	Lost *Spent `json:"lost,omitempty"`
}

// ModelCallFailed is a model call that got no reply, where no other event tells of
// it: the run was parked or cancelled meanwhile, a bound was met, or the prompt was too
// long and is made shorter. The call may be made again under the same id.
type ModelCallFailed struct {
	fact
	FailedCall
}

// FailedAttempt is one attempt of a model call that failed.
type FailedAttempt struct {
	// StartMS is when its request went out, counted from the beginning of the call:
	// before the wait for the limiter.
	StartMS int64 `json:"start_ms"`
	// RanMS is the time from there to its failure, WaitMS from its failure to the next
	// request: the pause, and the limiter's. After the last attempt WaitMS is 0, or the
	// time until the agent was stopped while it waited for another.
	RanMS  int64 `json:"ran_ms"`
	WaitMS int64 `json:"wait_ms"`
	// Error is the kind of the failure, as package llm names them: "rate_limited",
	// "timeout", … An attempt that was under way when its agent was stopped has "stopped".
	Error string `json:"error"`
	// Status is the HTTP status, 0 where there was none.
	Status int `json:"status,omitempty"`
	// Message is what the endpoint said, on one line and shortened.
	Message string `json:"message,omitempty"`
	// Model is the model that was asked.
	Model string `json:"model,omitempty"`
	// Usage is what the attempt used, as the endpoint reported it or estimated from what
	// streamed; nil where it used nothing. In older logs it is nil where the endpoint
	// reported none.
	Usage *Usage `json:"usage,omitempty"`
	// CostUSD is nil where Usage is, and where the model has no known price.
	CostUSD *float64 `json:"cost_usd,omitempty"`
}

// Effect says what repeating a tool call would do.
type Effect string

// The effects of tools. The zero value counts as effectful.
const (
	EffectPure       Effect = "pure"
	EffectIdempotent Effect = "idempotent"
	EffectEffectful  Effect = "effectful"
)

// ToolStarted is durable before a tool runs that reaches outside the log.
type ToolStarted struct {
	fact
	Tool   string `json:"tool"`
	Effect Effect `json:"effect"`
	CallRef
}

// ToolCallDone is the result of a tool call; on the wire it is "tool_call".
type ToolCallDone struct {
	fact
	Agent  AgentID `json:"agent"`
	Tool   string  `json:"tool"`
	Result string  `json:"result"`
	// Parts are the result where it is more than text, in order; Result then holds their
	// texts, with a note in place of each other part, for those who read text alone.
	Parts []Part `json:"parts,omitempty"`
	// Phase is always "complete".
	Phase string `json:"phase"`
	// Failed is set where the result tells the model what it did wrong.
	Failed bool `json:"failed,omitempty"`
	// ShownEntries are the document entries that the result showed to the model.
	ShownEntries []EntryID `json:"shown_entries,omitempty"`
	// Sources are what the text was taken from, where the tool said so.
	Sources []Source `json:"sources,omitempty"`
	CallRef
}

// UserMessage is a message to an agent: the user's, or a synthetic one of the
// engine, which views hide.
type UserMessage struct {
	fact
	Content   string `json:"content"`
	Synthetic bool   `json:"synthetic,omitempty"`
	// Reason says why the engine wrote a synthetic message.
	Reason string `json:"reason,omitempty"`
	// MessageID is set on a message that starts a run: see [WorkflowStarted.MessageID].
	MessageID MessageID `json:"message_id,omitempty"`
	// UserID, ChannelType and ChannelID say who sent it and where; "" where nobody said.
	UserID      string `json:"user_id,omitempty"`
	ChannelType string `json:"channel_type,omitempty"`
	ChannelID   string `json:"channel_id,omitempty"`
	// Metadata is a JSON object of the sender's.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// Delivery says what the message does; "" in older logs, where it starts a run or, in
	// one under way, steers.
	Delivery Delivery `json:"delivery,omitempty"`
	// InputID is the request for input that the message answers.
	InputID InputID `json:"input_id,omitempty"`
	// Approval is the decision on a call, where an agent asked leave for one; Content tells it
	// in words.
	Approval *Approval `json:"approval,omitempty"`
	// Grants are the permissions of whoever sent it: absent is everything, empty is nothing.
	Grants []string `json:"grants,omitzero"`
}

// Delivery says what a user's message does in its thread.
type Delivery string

// The deliveries.
const (
	// DeliveryStart: it starts a run.
	DeliveryStart Delivery = "start"
	// DeliveryQueue: it starts a run once those before it have ended.
	DeliveryQueue Delivery = "queue"
	// DeliverySteer: whoever has the floor reads it at the next turn of the run under way.
	DeliverySteer Delivery = "steer"
	// DeliveryAnswer: it answers a request for input.
	DeliveryAnswer Delivery = "answer"
)

// HistoryCompacted replaces the older part of an agent's history by a summary.
type HistoryCompacted struct {
	fact
	// ThroughTurn is the last model call that the summary covers.
	ThroughTurn ModelCallID `json:"through_turn"`
	Summary     string      `json:"summary"`
	// CoveredBytes is set where one call could not summarize all: Summary is then of so
	// many bytes of the history's transcript, from its beginning, and the history stands
	// until further calls have covered the rest.
	CoveredBytes int `json:"covered_bytes,omitempty"`
}

func (AgentStarted) Kind() Kind       { return KindAgentStarted }
func (AgentMessage) Kind() Kind       { return KindAgentMessage }
func (AgentFinished) Kind() Kind      { return KindAgentFinished }
func (FacilitatorMessage) Kind() Kind { return KindFacilitatorMessage }
func (DispatchRefused) Kind() Kind    { return KindDispatchRefused }
func (ModelCalled) Kind() Kind        { return KindModelCalled }
func (ModelCallFailed) Kind() Kind    { return KindModelCallFailed }
func (ToolStarted) Kind() Kind        { return KindToolStarted }
func (ToolCallDone) Kind() Kind       { return KindToolCall }
func (UserMessage) Kind() Kind        { return KindUserMessage }
func (HistoryCompacted) Kind() Kind   { return KindHistoryCompacted }
