package web

import (
	"context"
	"time"

	"github.com/convene-run/convene/events"
)

// Runs starts and steers runs for the server, which gives the tenant that it serves with
// each call: package steer implements it on a runner. Errors that are the caller's fault
// are [*Refusal]; every other one is answered as a failure of the server.
// Implementations are safe for concurrent use.
type Runs interface {
	// Start begins a run and drives it in the background, whatever becomes of ctx.
	Start(ctx context.Context, tenant events.TenantID, job Job) (Started, error)
	// Cancel ends a run for good, or asks the process that drives it to.
	Cancel(ctx context.Context, tenant events.TenantID, run events.RunID, reason string) error
	// Resume takes up a run that nobody drives.
	Resume(ctx context.Context, tenant events.TenantID, run events.RunID) error
	// Fork starts a new run from the facts of another one up to a point.
	Fork(ctx context.Context, tenant events.TenantID, run events.RunID, change Fork) (Started, error)
	// Teams lists the teams that a run of the tenant can be started with.
	Teams(tenant events.TenantID) []TeamInfo
	// Live tells what the agents of the thread's run do now; driven is false where
	// this process does not drive one.
	Live(key events.ThreadKey) (agents []LiveAgent, driven bool)
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
}

func (e *Refusal) Error() string { return e.Detail }
