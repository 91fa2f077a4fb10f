package specialists

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"text/template"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/handoff"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

var (
	//go:embed session.md
	sessionText string

	session = template.Must(template.New("session").Parse(sessionText))
)

// SessionSystem gives the system prompt of a specialist that has the conversation with the
// user. further are the tools that it has beside [SessionTools].
func SessionSystem(t *team.Team, s team.Specialist, further []agent.Tool) (string, error) {
	return render(session, t, s, further)
}

// SessionTools are the tools of a specialist that has the conversation, in the order in
// which they are offered.
func SessionTools(t *team.Team, s team.Specialist, desk *handoff.Desk) []agent.Tool {
	tools := []agent.Tool{returnControl(desk), ReadThread(t, desk)}
	if len(s.WorkflowStates) > 0 {
		tools = append(tools, setWorkflowState(s.WorkflowStates))
	}
	if len(phases(t, s)) > 0 {
		tools = append(tools, completePhase(t, s, desk))
	}
	if t.Handoff != nil && slices.Contains(t.Handoff.Sources, s.ID) {
		tools = append(tools, Handoff(t, desk, s.ID))
	}
	return tools
}

type returnArgs struct {
	Status    events.CompletionStatus `json:"completion_status" jsonschema:"completed: done. cancelled: the user does not want to go on. error: you cannot go on."`
	Summary   string                  `json:"result_summary" jsonschema:"What came of it, for the facilitator: results, and what is still open."`
	Artifacts []string                `json:"artifacts_created,omitempty" jsonschema:"Names of what you made, if anything."`
}

// maxArtifacts and maxArtifactChars bound what a specialist names as made.
const (
	maxArtifacts     = 50
	maxArtifactChars = 300
)

func returnControl(desk *handoff.Desk) agent.Tool {
	return agent.Tool{
		Tool: llm.Tool{
			Name:        "return_control",
			Description: "Gives the conversation back to the facilitator, who answers the user next. Once, when you are done or cannot go on.",
			Parameters: agent.Schema[returnArgs](func(schema *jsonschema.Schema) {
				schema.Properties["completion_status"].Enum = []any{events.CompletionCompleted, events.CompletionCancelled, events.CompletionError}
				schema.Properties["result_summary"].MaxLength = new(conversation.MaxSummaryChars)
				schema.Properties["artifacts_created"].MaxItems = new(maxArtifacts)
				schema.Properties["artifacts_created"].Items.MaxLength = new(maxArtifactChars)
			}),
		},
		Handler: loop.Last(func(tx *thread.Tx, in *agent.Invocation) agent.Result {
			var args returnArgs
			if err := in.Decode(&args); err != nil {
				return agent.Refuse(err)
			}
			active := tx.Run.Thread().Handoffs.Active()
			if active != nil && args.Status == events.CompletionCompleted && !active.Request.ReturnExpected {
				return agent.Refuse(errors.New("the conversation was handed over to you for good: answer the user yourself"))
			}
			if err := desk.GiveBack(tx, args.Status, args.Summary, args.Artifacts); err != nil {
				return agent.Refuse(err)
			}
			return agent.Result{Text: "You have given the conversation back."}
		}),
	}
}

type stateArgs struct {
	State    string         `json:"state" jsonschema:"The step that begins."`
	Metadata map[string]any `json:"metadata,omitempty" jsonschema:"All gathered so far. Leave it out if nothing is new."`
}

func setWorkflowState(states []string) agent.Tool {
	return loop.PureFunc(llm.Tool{
		Name:        "set_workflow_state",
		Description: "Says which step of your work with the user begins now, and keeps what you have gathered. The user sees the step.",
		Parameters: agent.Schema[stateArgs](func(schema *jsonschema.Schema) {
			schema.Properties["state"].Enum = loop.Enum(states)
		}),
	}, func(tx *thread.Tx, in *agent.Invocation, args stateArgs) agent.Result {
		var metadata json.RawMessage
		if args.Metadata != nil {
			metadata, _ = json.Marshal(args.Metadata) // it came from JSON
		}
		moved, err := conversation.Move(&tx.Run.Thread().Handoffs, states, args.State, metadata)
		if err != nil {
			return agent.Refuse(err)
		}
		tx.Emit(in.Agent, thread.ActorOf(in.Dispatch), moved)
		return agent.Result{Text: fmt.Sprintf("Step %d of %d: %s.", moved.Step, moved.Steps, moved.To)}
	})
}

// ErrLeft ends the turn of a specialist whom the user leaves.
var ErrLeft = errors.New("the user left the conversation with the specialist")

// Session is what makes an agent a specialist that has the conversation with the user. Its
// reply is the answer of the run; its end gives the conversation back.
type Session struct {
	ID          events.HandoffID
	Agent       events.AgentID
	DisplayName string
	Limits      team.Limits
	// Sentences are what the user reads where the session ends otherwise than by a reply.
	Sentences conversation.Messages
	// Memory is how many of the newest messages of the session it reads; 0 is all.
	Memory int
	// Desk takes the conversation back.
	Desk *handoff.Desk
	// Finish ends the run behind its answer, Cancel closes one that was cancelled.
	Finish, Cancel func(tx *thread.Tx)
}

func (s *Session) actor() thread.ActorID { return thread.ActorID(s.ID) }

// Over reports whether the run has ended or the conversation was given back.
func (s *Session) Over(run *thread.Run) bool {
	return run.Status.Over() || run.FinalAnswer != nil || run.Floor() != s.actor()
}

// Opening is empty: what the specialist was told is part of its history, which goes on over
// runs.
func (s *Session) Opening(*thread.Run) []events.Message { return nil }

// Prepare gives the conversation back where the user has left, or a bound is met.
func (s *Session) Prepare(tx *thread.Tx, conv *thread.Conversation, limit *events.LimitError) loop.NextStep {
	turns := conv.TurnsSince(thread.Heard)
	switch {
	case s.stopRing(tx):
		return loop.End{}
	case tx.Run.Thread().Handoffs.Active().Status == conversation.StatusReturning:
		s.Fail(tx, ErrLeft)
		return loop.End{}
	case limit != nil:
	case turns >= s.Limits.MaxSpecialistTurns:
		limit = &events.LimitError{Limit: events.LimitMaxSpecialistTurns, Value: float64(s.Limits.MaxSpecialistTurns), Used: float64(turns)}
	case conv.EmptyReplies() >= s.Limits.MaxEmptyReplies:
		limit = &events.LimitError{Limit: events.LimitMaxEmptyReplies, Value: float64(s.Limits.MaxEmptyReplies), Used: float64(conv.EmptyReplies())}
	case conv.EmptyReplies() > 0 && conv.TurnsSince(nudgeEmpty) > 0:
		tx.Emit(s.Agent, s.actor(), events.UserMessage{
			Content: loop.EmptyReplyNudge(conv, "Answer the user, or call return_control."), Synthetic: true, Reason: nudgeEmpty,
		})
	}
	if limit != nil {
		s.Fail(tx, limit)
		return loop.End{}
	}
	return loop.RunAgain{}
}

// Beside shows what the specialist says to the user while it works.
func (s *Session) Beside(tx *thread.Tx, text string) {
	tx.Emit(s.Agent, s.actor(), events.AgentMessage{Agent: s.Agent, DisplayName: s.DisplayName, Content: text})
}

// Close answers the user.
func (s *Session) Close(tx *thread.Tx, reply events.Reply) {
	tx.Emit(s.Agent, s.actor(), events.FinalAnswer{Content: reply.Text})
	s.Finish(tx)
}

// Fail gives the conversation back: the facilitator says so to the user. What the
// specialist had gathered is kept.
func (s *Session) Fail(tx *thread.Tx, cause error) {
	loop.Unanswered(tx, s.Agent, s.actor(), cause)
	if errors.Is(cause, loop.ErrCancelled) {
		s.Cancel(tx)
		return
	}
	var limit *events.LimitError
	if errors.As(cause, &limit) && !tx.Run.LimitMet(limit.Limit) {
		tx.Emit(s.Agent, s.actor(), limit.Fact("The specialist gives the conversation back."))
	}
	if s.rollBack(tx, cause) {
		return
	}
	status, summary := events.CompletionError, "It could not go on: "+cause.Error()
	if errors.Is(cause, ErrLeft) {
		status, summary = events.CompletionCancelled, "The user left."
	}
	_ = s.Desk.GiveBack(tx, status, chars.Clip(summary, conversation.MaxSummaryChars-1), nil) // it is the active one, since it is driven
}

var _ loop.Role = (*Session)(nil)
