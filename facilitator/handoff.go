package facilitator

import (
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/internal/quote"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

type handoffArgs struct {
	Target  events.AgentID `json:"target" jsonschema:"The specialist that takes over."`
	Reason  string         `json:"reason" jsonschema:"Why it takes over, in a sentence."`
	Summary string         `json:"summary" jsonschema:"What the specialist needs to know: what the user wants, and what was said and found so far. It reads this in place of the conversation."`
}

func (t tools) handoff() agent.Tool {
	targets := t.team.Handoff.Agents()
	var b strings.Builder
	b.WriteString("Hands the conversation with the user over to a specialist, who talks to the user directly until it gives the conversation back. " +
		"Use it where the work needs questions and answers; for all else dispatch. It is your last call of the turn. The specialists are:")
	for _, id := range targets {
		s, _ := t.team.Specialist(id)
		fmt.Fprintf(&b, "\n- %s: %s", id, s.Description)
	}
	return agent.Tool{
		Tool: llm.Tool{
			Name: "handoff_conversation", Description: b.String(),
			Parameters: agent.Schema[handoffArgs](func(schema *jsonschema.Schema) {
				schema.Properties["target"].Enum = loop.Enum(targets)
				schema.Properties["reason"].MaxLength = new(conversation.MaxReasonChars)
				schema.Properties["summary"].MaxLength = new(conversation.MaxSummaryChars)
			}),
		},
		Handler: loop.Last(t.handOver),
	}
}

func (t tools) handOver(tx *thread.Tx, in agent.Invocation) agent.Result {
	var args handoffArgs
	if err := in.Decode(&args); err != nil {
		return agent.Refuse(err)
	}
	h := conversation.Handoff{
		Source: in.Agent, Target: args.Target, Summary: args.Summary, Reason: args.Reason, RecentMessages: t.team.Handoff.RecentMessageCount,
	}
	if err := h.Check(); err != nil {
		return agent.Refuse(err)
	}
	if rejected := HandOver(tx, t.team, h); rejected != nil {
		return agent.Refuse(fmt.Errorf("%s", rejected.Reason))
	}
	return agent.Result{Text: fmt.Sprintf("%s has the conversation now.", args.Target)}
}

// HandOver decides a handoff and emits its facts. It gives the rejection, nil where the
// target has the conversation now.
func HandOver(tx *thread.Tx, t *team.Team, h conversation.Handoff) *events.HandoffRejected {
	for _, fact := range conversation.Request(&tx.Run.Thread().Handoffs, t.Handoff.Agents(), h) {
		tx.Emit(h.Source, thread.Facilitator, fact)
		if rejected, ok := fact.(events.HandoffRejected); ok {
			return &rejected
		}
	}
	return nil
}

// Summarize writes the summary of a handoff that no model wrote: the user's message.
func Summarize(request string) string {
	const head = "The user writes: "
	return head + chars.Clip(request, conversation.MaxSummaryChars-chars.Count(head)-1)
}

// tellHandoff tells the facilitator once of each handoff that has ended, so that it answers
// the user.
func (r *Role) tellHandoff(tx *thread.Tx, conv *thread.Conversation) {
	if told := conv.Nudges(nudgeReturned); told < len(tx.Run.Returned) {
		r.nudge(tx, nudgeReturned, returned(tx.Run.Thread().Handoffs.Session(tx.Run.Returned[told])))
	}
}

// returned says how a session ended, and how to go on with the user.
func returned(s *conversation.Session) string {
	target := s.Request.Target
	var b strings.Builder
	b.WriteString(quote.After(fmt.Sprintf("%s gives the conversation back (%s):", target, s.Status), s.Result))
	if len(s.Artifacts) > 0 {
		b.WriteString("\n" + quote.After("It made:", strings.Join(s.Artifacts, "\n")))
	}
	if w := s.Workflow; w.Steps > 0 {
		fmt.Fprintf(&b, "\nIt stood at step %d of %d, %s.", w.Step, w.Steps, w.State)
		if len(w.Metadata) > 0 {
			b.WriteString("\n" + quote.After("It had gathered:", string(w.Metadata)))
		}
	}
	b.WriteString("\n\n")
	switch s.Status {
	case conversation.StatusCompleted:
		b.WriteString("Answer the user now: say in a sentence or two what came of it.")
	case conversation.StatusCancelled:
		b.WriteString("The user has left that work, and what was gathered is kept. Say in a sentence that you are back and that they can continue it later.")
	default:
		b.WriteString("Tell the user that this could not be finished, and why, and offer what else you can do.")
	}
	return b.String()
}
