package specialists

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/handoff"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/internal/quote"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

var (
	//go:embed supervisor.md
	supervisorText string

	supervisor = template.Must(template.New("supervisor").Parse(supervisorText))
)

// SupervisorSystem gives the system prompt of a specialist that supervises.
func SupervisorSystem(t *team.Team, s team.Specialist) (string, error) {
	return render(supervisor, t, s, nil)
}

const (
	// maxSupervisorTurns bounds what a supervisor does about one exchange: each tool once,
	// with room to correct a mistake.
	maxSupervisorTurns = 6
	// maxNoteChars bounds a note: it stands below an answer.
	maxNoteChars = 2000
	// maxExchangeChars bounds what the supervisor reads of each side of an exchange.
	maxExchangeChars = 20_000
)

// SupervisorTools are the tools of a specialist that supervises. Each needs a permission of
// its own.
func SupervisorTools(t *team.Team, s team.Specialist, desk *handoff.Desk) []agent.Tool {
	return []agent.Tool{noteToUser(s), supervisorHandOver(t, desk), pauseConversation(desk)}
}

// permitted refuses what the sender of the run's message has no permission for.
func permitted(tx *thread.Tx, in *agent.Invocation, permission, what string) error {
	denied := tx.Run.Caller().Denied(permission, what)
	if denied == nil {
		return nil
	}
	tx.Emit(in.Agent, thread.ActorOf(in.Dispatch), *denied)
	return fmt.Errorf("this is not allowed here: the permission %s is missing", permission)
}

type noteArgs struct {
	Text string `json:"text" jsonschema:"What the user reads below the answer."`
}

func noteToUser(s team.Specialist) agent.Tool {
	return loop.PureFunc(llm.Tool{
		Name: "note_to_user", Description: "Writes a note to the user, below the answer.",
		Parameters: agent.Schema[noteArgs](func(schema *jsonschema.Schema) {
			schema.Properties["text"].MaxLength = new(maxNoteChars)
		}),
	}, func(tx *thread.Tx, in *agent.Invocation, args noteArgs) agent.Result {
		err := permitted(tx, in, access.SupervisorNote, "write a note to the user")
		if err == nil && strings.TrimSpace(args.Text) == "" {
			err = errors.New("the note is empty")
		}
		if err != nil {
			return agent.Refuse(err)
		}
		tx.Emit(in.Agent, thread.Facilitator, events.FacilitatorMessage{Agent: in.Agent, DisplayName: s.DisplayName, Content: args.Text})
		return agent.Result{Text: "The user reads the note."}
	})
}

type interveneArgs struct {
	Target  events.AgentID `json:"target" jsonschema:"The specialist that has the conversation from the user's next message on."`
	Reason  string         `json:"reason" jsonschema:"Why, in a sentence."`
	Summary string         `json:"summary" jsonschema:"What it needs to know."`
}

func supervisorHandOver(t *team.Team, desk *handoff.Desk) agent.Tool {
	targets := t.Handoff.Agents()
	return loop.PureFunc(llm.Tool{
		Name: "hand_over", Description: "Gives the conversation to a specialist, from the user's next message on.",
		Parameters: agent.Schema[interveneArgs](func(schema *jsonschema.Schema) {
			if len(targets) > 0 {
				schema.Properties["target"].Enum = loop.Enum(targets)
			}
			schema.Properties["reason"].MaxLength = new(conversation.MaxReasonChars)
			schema.Properties["summary"].MaxLength = new(conversation.MaxSummaryChars)
		}),
	}, func(tx *thread.Tx, in *agent.Invocation, args interveneArgs) agent.Result {
		h := conversation.Handoff{Source: in.Agent, Target: args.Target, Summary: args.Summary, Reason: args.Reason}
		err := permitted(tx, in, access.SupervisorHandoff, fmt.Sprintf("hand the conversation to %s", args.Target))
		if err == nil {
			err = h.Check()
		}
		if p := desk.Policy(tx.Run); err == nil && !p.Known(p.Resolve(args.Target)) {
			err = fmt.Errorf("the conversation cannot be handed to %q", chars.Clip(string(args.Target), 100))
		}
		if err != nil {
			return agent.Refuse(err)
		}
		take(tx, "The supervisor handed the conversation to another specialist.")
		if _, rejected := desk.HandOver(tx, thread.ActorOf(in.Dispatch), h); rejected != nil {
			return agent.Refuse(rejected)
		}
		return agent.Result{Text: fmt.Sprintf("%s has the conversation now.", args.Target)}
	})
}

type pauseArgs struct {
	Reason string `json:"reason" jsonschema:"Why a person must look, in a sentence or two."`
}

func pauseConversation(desk *handoff.Desk) agent.Tool {
	return loop.PureFunc(llm.Tool{
		Name: "pause_conversation", Description: "Has the user's next messages wait for a person, who answers or releases the conversation.",
		Parameters: agent.Schema[pauseArgs](func(schema *jsonschema.Schema) {
			schema.Properties["reason"].MaxLength = new(conversation.MaxReasonChars)
		}),
	}, func(tx *thread.Tx, in *agent.Invocation, args pauseArgs) agent.Result {
		h := conversation.Handoff{Source: in.Agent, Target: events.HumanID, Summary: args.Reason, Reason: args.Reason}
		err := permitted(tx, in, access.SupervisorPause, "pause the conversation")
		if err == nil {
			err = h.Check()
		}
		if err != nil {
			return agent.Refuse(err)
		}
		take(tx, "The supervisor paused the conversation.")
		if rejected := desk.Pause(tx, thread.ActorOf(in.Dispatch), h); rejected != nil {
			return agent.Refuse(rejected)
		}
		return agent.Result{Text: "A person has the conversation now."}
	})
}

// take ends the session under way, whose agent keeps its state.
func take(tx *thread.Tx, why string) {
	state := &tx.Run.Thread().Handoffs
	session := state.Active()
	if returned, err := conversation.Return(state, events.CompletionCancelled, why, nil); err == nil {
		tx.Emit(session.Request.Target, thread.ActorID(session.ID), returned)
	}
}

// exchanged is what a supervisor reads: what the user wrote, and what was answered.
func exchanged(run *thread.Run) string {
	wrote, _ := chars.Cut(run.Started.Message, maxExchangeChars)
	text := quote.After("The user writes:", wrote)
	if run.FinalAnswer != nil {
		answer, _ := chars.Cut(run.FinalAnswer.Content, maxExchangeChars)
		text += "\n\n" + quote.After(fmt.Sprintf("%s answers:", run.DisplayName(run.Thread().Handoffs.Progress.ActiveAgent)), answer)
	}
	if phase := run.Thread().Handoffs.Progress.Phase; phase != "" {
		text += fmt.Sprintf("\n\nThe conversation is in the phase %q.", phase)
	}
	return text
}

// Supervise starts the team's supervisor on the exchange that the run's answer completes. It
// reports whether there is one to wait for before the run ends.
func Supervise(tx *thread.Tx, t *team.Team) bool {
	if t.Conversation == nil || t.Conversation.Supervisor == "" || tx.Run.Started.Solo || tx.Run.FinalAnswer == nil || tx.Run.Supervision() != nil {
		return false
	}
	s, _ := t.Specialist(t.Conversation.Supervisor)
	tx.Emit(s.ID, thread.ActorOf(tx.Run.Thread().NextDispatch()), events.AgentStarted{
		Agent: s.ID, DisplayName: s.DisplayName, TaskIDs: []events.TaskID{}, Message: "Read the exchange.", Tool: events.SuperviseTool, Asked: true,
	})
	return true
}
