package specialists

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/handoff"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// HandoffTool is the name of the tool that hands the conversation over.
const HandoffTool = "handoff_conversation"

type handoffArgs struct {
	Target            events.AgentID `json:"target" jsonschema:"Who takes over."`
	Reason            string         `json:"reason" jsonschema:"Why it takes over, in a sentence."`
	Summary           string         `json:"summary" jsonschema:"What the user wants, what was said and found so far: it reads this in place of the conversation."`
	NextPhase         events.Phase   `json:"next_phase,omitempty" jsonschema:"Phase that begins. Defaults to that of the target."`
	ChannelEscalation events.Channel `json:"channel_escalation,omitempty" jsonschema:"How to reach a person, for the target human. Defaults to same."`
	Resume            string         `json:"resume,omitempty" jsonschema:"Id of a saved session to continue, such as h1; new to begin anew where one is saved."`
	RecentMessages    int            `json:"recent_message_count,omitempty" jsonschema:"Newest messages that it reads beside the summary."`
	ReturnExpected    *bool          `json:"return_expected,omitempty" jsonschema:"Whether it gives the conversation back when done. Defaults to true."`
	PreserveState     *bool          `json:"preserve_state,omitempty" jsonschema:"Whether what it gathers is kept when the user leaves it. Defaults to true."`
	Metadata          map[string]any `json:"handoff_metadata,omitempty" jsonschema:"Further facts, such as ids."`
}

// resumeNew is the resume of a handoff that begins anew although a session is saved.
const resumeNew = "new"

// Handoff is the tool that hands the conversation over: the facilitator's, and that of
// specialists which the team lets hand it on.
func Handoff(t *team.Team, desk *handoff.Desk, by events.AgentID) agent.Tool {
	h := handingOver{team: t, desk: desk}
	targets := slices.DeleteFunc(t.Handoff.Agents(), func(id events.AgentID) bool { return id == by })
	return agent.Tool{
		Tool: llm.Tool{
			Name: HandoffTool, Description: h.description(targets, by),
			Parameters: agent.Schema[handoffArgs](func(schema *jsonschema.Schema) { h.bound(schema, targets, by) }),
		},
		Handler: loop.Last(h.handle),
	}
}

// handingOver is the tool.
type handingOver struct {
	team *team.Team
	desk *handoff.Desk
}

func (h handingOver) description(targets []events.AgentID, by events.AgentID) string {
	var b strings.Builder
	if by == events.FacilitatorID {
		b.WriteString("Hands the conversation with the user over to another agent, who talks to the user directly until it gives the conversation back. " +
			"Use it where the work needs questions and answers; for all else dispatch.")
	} else {
		b.WriteString("Hands the conversation with the user on to another agent; yours ends with it. Use it where what the user wants is another's field.")
	}
	b.WriteString(" It is your last call of the turn. The targets are:")
	for _, id := range targets {
		about := "a person, who answers in place of the agents"
		if s, known := h.team.Specialist(id); known {
			about = s.Description
		} else if h.team.Handoff.AllMayAnswer(id) {
			about = "a person, who answers when there is time for it; you keep the conversation until then"
		}
		fmt.Fprintf(&b, "\n- %s: %s", id, about)
	}
	return b.String()
}

func (h handingOver) bound(schema *jsonschema.Schema, targets []events.AgentID, by events.AgentID) {
	p := schema.Properties
	p["target"].Enum = loop.Enum(targets)
	for _, alias := range sortedAliases(h.team) {
		if h.team.Handoff.Aliases[alias] != by {
			p["target"].Enum = append(p["target"].Enum, alias)
		}
	}
	p["reason"].MaxLength, p["summary"].MaxLength = new(conversation.MaxReasonChars), new(conversation.MaxSummaryChars)
	p["next_phase"].MaxLength = new(conversation.MaxIDChars)
	p["channel_escalation"].Enum = loop.Enum(conversation.Channels())
	p["recent_message_count"].Minimum, p["recent_message_count"].Maximum = new(1.0), new(float64(conversation.MaxRecentMessages))
	unused := []string{"recent_message_count"}
	if h.team.Handoff.Shared() > 0 {
		unused = nil
	}
	if !slices.Contains(targets, events.HumanID) {
		unused = append(unused, "channel_escalation")
	}
	for _, name := range unused {
		delete(p, name)
		schema.PropertyOrder = slices.DeleteFunc(schema.PropertyOrder, func(other string) bool { return other == name })
	}
}

func sortedAliases(t *team.Team) []string {
	names := make([]string, 0, len(t.Handoff.Aliases))
	for name := range t.Handoff.Aliases {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (h handingOver) handle(tx *thread.Tx, in *agent.Invocation) agent.Result {
	var args handoffArgs
	if err := in.Decode(&args); err != nil {
		return agent.Refuse(err)
	}
	actor := thread.ActorOf(in.Dispatch)
	request, err := h.request(in.Agent, args)
	if err != nil {
		return agent.Refuse(err)
	}
	if args.Resume != "" && args.Resume != resumeNew {
		request.Resume = events.HandoffID(args.Resume)
		if _, rejected := h.desk.HandOver(tx, actor, request); rejected != nil {
			return agent.Refuse(rejected)
		}
		return agent.Result{Text: fmt.Sprintf("%s has the conversation again.", tx.Run.Thread().Handoffs.Active().Request.Target)}
	}
	if saved := h.desk.Saved(tx, args.Target); len(saved) > 0 && args.Resume == "" {
		return agent.Refuse(fmt.Errorf("%s Ask the user whether to continue it. Then call %s again, with resume %q to continue or %q to begin anew",
			handoff.Describe(saved[0]), HandoffTool, saved[0].ID, resumeNew))
	}
	if in.Agent != events.FacilitatorID && tx.Run.Passed >= conversation.MaxTransitions {
		tx.Emit(in.Agent, actor, conversation.TooDeep())
		return agent.Refuse(errors.New(conversation.TooDeep().Message))
	}
	id, rejected := h.desk.HandOver(tx, actor, request)
	if rejected != nil {
		return agent.Refuse(rejected)
	}
	return agent.Result{Text: handedOver(tx, id)}
}

// handedOver says what became of a handoff that was not rejected.
func handedOver(tx *thread.Tx, id events.HandoffID) string {
	state := &tx.Run.Thread().Handoffs
	session := state.Session(id)
	if session == state.Person() {
		return fmt.Sprintf("%s was asked and answers the user later. You still have the conversation: tell the user so, and help as far as you can.", session.Request.Target)
	}
	if session == state.Active() {
		return fmt.Sprintf("%s has the conversation now.", session.Request.Target)
	}
	return fmt.Sprintf("%s has the conversation; %s gets it after that.", state.Active().Request.Target, session.Request.Target)
}

// request makes a handoff of the arguments.
func (h handingOver) request(source events.AgentID, args handoffArgs) (conversation.Handoff, error) {
	request := conversation.Handoff{
		Source: source, Target: args.Target, Summary: args.Summary, Reason: args.Reason, RecentMessages: args.RecentMessages,
		NextPhase: args.NextPhase, ChannelEscalation: args.ChannelEscalation,
		ForGood: args.ReturnExpected != nil && !*args.ReturnExpected, DropState: args.PreserveState != nil && !*args.PreserveState,
	}
	switch shared := h.team.Handoff.Shared(); {
	case shared == 0:
		request.RecentMessages = 0
	case args.RecentMessages == 0:
		request.RecentMessages = shared
	}
	if args.Metadata != nil {
		request.Metadata, _ = json.Marshal(args.Metadata) // it came from JSON
	}
	return request, request.Check()
}
