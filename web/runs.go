package web

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
)

// Runs starts and steers runs for the server, which says with each call who asks, and has
// checked that they may: package steer implements it on a runner. Errors that are the caller's fault
// are [*Refusal]; every other one is answered as a failure of the server.
// Implementations are safe for concurrent use.
type Runs interface {
	// Start begins a run and drives it in the background, whatever becomes of ctx.
	Start(ctx context.Context, by access.Identity, job Job) (Started, error)
	// Cancel ends a run for good, or asks the process that drives it to.
	Cancel(ctx context.Context, by access.Identity, run events.RunID, reason string) error
	// Stop parks a run that this process drives, to be resumed; it does not wait.
	Stop(ctx context.Context, by access.Identity, run events.RunID) error
	// Resume takes up a run that nobody drives.
	Resume(ctx context.Context, by access.Identity, run events.RunID) error
	// Fork starts a new run from the facts of another one up to a point.
	Fork(ctx context.Context, by access.Identity, run events.RunID, change Fork) (Started, error)
	// Send takes a user's message. It returns once the message is durable.
	Send(ctx context.Context, by access.Identity, said Said) (Receipt, error)
	// HandOff gives the conversation of a thread to a specialist, or to a person.
	HandOff(ctx context.Context, by access.Identity, thread events.ThreadID, order HandoffOrder) (events.HandoffID, error)
	// Leave gives it back to the facilitator, from the session with the id or, with "", from
	// the active one. user is in whose name, "" where nobody said.
	Leave(ctx context.Context, by access.Identity, thread events.ThreadID, handoff events.HandoffID, user string) error
	// Teams lists the teams that a run of the tenant can be started with.
	Teams(tenant events.TenantID) []TeamInfo
	// Live tells what the agents of the thread's run do now; driven is false where
	// this process does not drive one.
	Live(key events.ThreadKey) (agents []LiveAgent, driven bool)
}

// Batches steers batches for the server, which has checked that the caller may. Errors that are the
// caller's fault are [*Refusal]. Implementations are safe for concurrent use.
type Batches interface {
	// Stop asks the process that runs the batch to park its rows, so that the batch can be
	// continued; it does not wait.
	Stop(ctx context.Context, by access.Identity, batch events.BatchID) error
	// Continue takes up a batch that nobody runs, in the background; retry has its failed
	// and degraded rows run again. The names of files in a log are no permission to read or
	// write them: where this process was not given the files, it is a [*Refusal] that says
	// how the batch is continued.
	Continue(ctx context.Context, by access.Identity, batch events.BatchSummary, retry bool) error
}

// Users takes out and erases what is of one user, for callers who may. Errors that are the caller's fault are
// [*Refusal]. Implementations are safe for concurrent use.
type Users interface {
	// Export writes a ZIP archive of the user's threads. It has written nothing where it gives
	// a [*Refusal]; after any other error the archive is not whole.
	Export(ctx context.Context, by access.Identity, user string, w io.Writer) error
	// Erase takes the user's threads away, whatever becomes of ctx once it has begun.
	Erase(ctx context.Context, by access.Identity, user string) (Erased, error)
}

// Erased is what is gone.
type Erased struct {
	Threads int `json:"threads" doc:"Threads that are gone, with all that was said in them."`
	Runs    int `json:"runs" doc:"Runs of these threads."`
}

// Job is a run to start.
type Job struct {
	Request string
	// Team is a name of [Runs.Teams]; "" is the default team.
	Team string
	// Model is asked instead of the team's models; "" keeps those.
	Model string
	Solo  bool
	Vars  map[string]string
	// Thread is the thread to start in; "" makes a new one.
	Thread events.ThreadID
	// Traceparent is the caller's span, as W3C Trace Context writes it; it may be invalid.
	Traceparent string
}

// Fork says what a forked run takes over and what is different in it.
type Fork struct {
	// At is the last seq that the new run keeps.
	At events.Seq
	// Model is asked instead of the run's models; "" keeps those.
	Model string
	// Instruction is told to the facilitator; "" adds nothing.
	Instruction string
}

// Started names a run that has begun.
type Started struct {
	Run    events.RunID    `json:"run_id"`
	Thread events.ThreadID `json:"thread_id"`
}

// Said is what a user says in a thread.
type Said struct {
	Thread events.ThreadID
	// New is set where the thread has no run yet.
	New     bool
	Content string
	// ID names the message within its thread; "" makes a new id.
	ID                             events.MessageID
	UserID, ChannelType, ChannelID string
	// Metadata is a JSON object, nil for none.
	Metadata json.RawMessage
	// Delivery says what is to be done with the message; "" is what the thread allows.
	Delivery events.Delivery
	// InputID is the request for input that it answers.
	InputID events.InputID
	// Approval is the decision on a call that waits for approval, nil for other messages.
	Approval *events.Approval
	// Team is a name of [Runs.Teams]; "" is the thread's team, the default team in a new one.
	Team string
}

// Receipt says what became of a message.
type Receipt struct {
	Thread   events.ThreadID  `json:"thread_id"`
	Message  events.MessageID `json:"message_id" example:"c0ffee-1"`
	Delivery events.Delivery  `json:"delivery" doc:"What was done with it." example:"start"`
	Run      events.RunID     `json:"run_id,omitempty" doc:"The run that takes the message; left out while it is queued."`
	Place    int              `json:"place,omitempty" doc:"Its place in the queue, from 1; left out if it is not queued." example:"1"`
	// Duplicate is set where the thread had a message of this id: nothing was done.
	Duplicate bool `json:"duplicate,omitempty" doc:"The thread had a message of this id already: nothing was done."`
	// Stalled says why nobody takes the message up; it waits in the log.
	Stalled string `json:"stalled,omitempty" doc:"Why the message cannot be answered for now. It is kept: the next message, or resuming the run, tries again."`
}

// HandoffOrder asks that somebody else talk with the user.
type HandoffOrder struct {
	Target            events.AgentID   `json:"target,omitempty" minLength:"1" maxLength:"255" doc:"The specialist that takes over, or an alias of it, or human." example:"skill-creation-agent"`
	Reason            string           `json:"reason,omitempty" minLength:"1" maxLength:"500" doc:"Why, in a sentence." example:"skill_creation_workflow"`
	Summary           string           `json:"summary,omitempty" minLength:"1" maxLength:"2000" doc:"What the target needs to know." example:"User wants to create a Notion summarization skill"`
	Resume            events.HandoffID `json:"resume,omitempty" minLength:"1" maxLength:"255" doc:"A saved session of the thread, to be continued instead: target and reason are not needed then." example:"h1"`
	UserID            string           `json:"user_id,omitempty" maxLength:"255" doc:"Who asks for it." example:"user-789"`
	RecentMessages    int              `json:"recent_message_count,omitempty" minimum:"0" maximum:"20" doc:"How many of the newest messages go along with the summary." example:"5"`
	PreserveState     *bool            `json:"preserve_state,omitempty" doc:"Whether the workflow state is kept if the session ends before its time. Defaults to true." example:"true"`
	ReturnExpected    *bool            `json:"return_expected,omitempty" doc:"Whether the target gives the conversation back. Defaults to true." example:"true"`
	NextPhase         events.Phase     `json:"next_phase,omitempty" maxLength:"255" doc:"The phase of the conversation that begins." example:"escalation"`
	ChannelEscalation events.Channel   `json:"channel_escalation,omitempty" enum:"same,voice,email,sms" doc:"How a person is reached." example:"same"`
	Metadata          Object           `json:"handoff_metadata,omitempty" doc:"For the target, at most 8 kB." example:"{\"ticket\":\"T-1\"}"`
}

// TeamInfo is a team as the start form shows it.
type TeamInfo struct {
	Name        string           `json:"name"`
	Description string           `json:"description,omitempty"`
	Default     bool             `json:"default,omitempty"`
	Specialists []events.AgentID `json:"specialists"`
}

// LiveAgent is what one agent does at this moment.
type LiveAgent struct {
	Agent       events.AgentID    `json:"agent"`
	DisplayName string            `json:"display_name"`
	Dispatch    events.DispatchID `json:"dispatch_id,omitempty"`
	// Speaks is set on whoever talks with the user: what it writes outside of tool calls is
	// for the user to read.
	Speaks bool `json:"speaks,omitempty"`
	// Phase is queued, waiting, thinking, writing, retrying, away, tools or finished.
	Phase string `json:"phase"`
	// Since is when the phase began, Heard when something last came from the model.
	Since time.Time          `json:"since"`
	Heard time.Time          `json:"heard"`
	Call  events.ModelCallID `json:"model_call_id,omitempty"`
	// Attempt counts the tries of the call from 1.
	Attempt     int        `json:"attempt,omitempty"`
	RetryAt     *time.Time `json:"retry_at,omitempty"`
	RetryReason string     `json:"retry_reason,omitempty"`
	// GiveUpAt is when the run is parked unless its endpoint is back; nil for never.
	GiveUpAt *time.Time `json:"give_up_at,omitempty"`
	// Progress is what a tool at work said last of how far it is.
	Progress string `json:"progress,omitempty"`
	// Stream is the newest of what has streamed in this attempt, in order.
	Stream []LivePiece `json:"stream,omitempty"`
}

// LivePiece is a stretch of what an agent streams: of its text, or of the arguments of
// one tool call.
type LivePiece struct {
	// From is the place of the first byte in all that the attempt has streamed, so that
	// who has seen the bytes before it knows what is new, and what is missing.
	From int64  `json:"from"`
	Text string `json:"text"`
	// InCall says that it belongs to a tool call, Begins that nothing of the same text
	// or call comes before it.
	InCall bool `json:"in_call,omitempty"`
	Begins bool `json:"begins,omitempty"`
}

// end is the place behind the piece's last byte.
func (p LivePiece) end() int64 { return p.From + int64(len(p.Text)) }

// Refusal is a request that cannot be granted, with the HTTP status that says so.
type Refusal struct {
	Status int
	Detail string
	// RetryAfter is when the request may succeed, where that is known.
	RetryAfter time.Duration
}

func (e *Refusal) Error() string { return e.Detail }
