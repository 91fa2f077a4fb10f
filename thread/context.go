package thread

import (
	"encoding/json"
	"math"
	"time"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
)

// Context is where a thread stands, for those who show it.
type Context struct {
	Thread events.ThreadID `json:"thread_id"`
	// Team is that of the newest run, Run its id and Status its status; "" before the first.
	Team   string        `json:"team,omitempty"`
	Run    events.RunID  `json:"run_id,omitempty"`
	Status events.Status `json:"status,omitempty"`
	// Agent is who answers the user's next message, as far as that is known before it comes.
	Agent       events.AgentID `json:"active_agent"`
	DisplayName string         `json:"display_name"`
	// Phase is that of the conversation, "" where it has none.
	Phase events.Phase `json:"phase,omitempty"`
	// Handoff is the session that is active, nil for none; Workflow is where its specialist
	// stands, nil where it declares no steps or has not begun them.
	Handoff  *HandoffContext  `json:"handoff,omitempty"`
	Workflow *WorkflowContext `json:"workflow,omitempty"`
	// Person is the session of a person who answers beside whoever has the conversation, nil
	// for none.
	Person *HandoffContext `json:"person,omitempty"`
	// Saved are the sessions that were left, or failed, and could be resumed: the newest 10 of
	// them, the newest first. For how long a session is kept is the team's to say.
	Saved []SavedContext `json:"saved"`
	// Inputs are the requests for input that nobody has answered, in order; Queued the
	// messages that wait for their turn, in order.
	Inputs []InputContext     `json:"inputs"`
	Queued []events.MessageID `json:"queued"`
	// Messages counts the messages of users and agents, Handoffs those that were accepted.
	Messages int `json:"message_count"`
	Handoffs int `json:"handoff_count"`
	// Transitions counts the ends of phases that gave the conversation to the next agent.
	Transitions conversation.Transitions `json:"transitions"`
	Created     time.Time                `json:"created_at"`
	Updated     time.Time                `json:"updated_at"`
}

// SavedContext is a session that could be resumed as [Context] shows it.
type SavedContext struct {
	ID          events.HandoffID `json:"handoff_id"`
	Target      events.AgentID   `json:"target_agent_id"`
	DisplayName string           `json:"display_name"`
	Ended       time.Time        `json:"ended_at"`
	Workflow    *WorkflowContext `json:"workflow,omitempty"`
}

// maxSaved bounds [Context.Saved].
const maxSaved = 10

// InputContext is a request for input as [Context] shows it.
type InputContext struct {
	ID       events.InputID   `json:"input_id"`
	For      events.InputKind `json:"kind"`
	Agent    events.AgentID   `json:"agent,omitempty"`
	Question string           `json:"question"`
	Choices  []string         `json:"choices,omitempty"`
	// Action is the call that an approval is asked for.
	Action *events.Action `json:"action,omitempty"`
}

// HandoffContext is a handoff as [Context] shows it.
type HandoffContext struct {
	ID      events.HandoffID    `json:"handoff_id"`
	Status  conversation.Status `json:"status"`
	Source  events.AgentID      `json:"source_agent_id"`
	Target  events.AgentID      `json:"target_agent_id"`
	Reason  string              `json:"handoff_reason,omitempty"`
	Started time.Time           `json:"started_at"`
}

// WorkflowContext is a place in a specialist's steps as [Context] shows it.
type WorkflowContext struct {
	State string `json:"state"`
	// Step counts from 1.
	Step  int `json:"step"`
	Steps int `json:"steps"`
	// Metadata is a JSON object of what the specialist has gathered.
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// Context says where the thread stands.
func (t *Thread) Context() Context {
	c := Context{
		Thread: t.Key.Thread, Agent: events.FacilitatorID, Phase: t.Handoffs.Progress.Phase,
		Saved: t.saved(), Inputs: []InputContext{}, Queued: []events.MessageID{},
		Messages: len(t.messages), Handoffs: t.Handoffs.Progress.HandoffCount, Transitions: t.Handoffs.Transitions, Created: t.created, Updated: t.Time,
	}
	if run := t.Current(); run != nil {
		c.Team, c.Run, c.Status = run.Team, run.ID, run.Status
	}
	if session := t.Handoffs.Active(); session != nil {
		c.Agent = session.Request.Target
		c.Handoff = handoffContext(session)
		c.Workflow = workflowContext(session.Workflow)
	}
	if person := t.Handoffs.Person(); person != nil {
		c.Person = handoffContext(person)
	}
	c.DisplayName = t.displayName(c.Agent)
	for _, input := range t.Inputs() {
		c.Inputs = append(c.Inputs, InputContext{
			ID: input.InputID, For: input.For, Agent: input.Agent, Question: input.Question, Choices: input.Choices, Action: input.Action,
		})
	}
	for _, m := range t.queue {
		c.Queued = append(c.Queued, m.MessageID)
	}
	return c
}

func handoffContext(s *conversation.Session) *HandoffContext {
	return &HandoffContext{
		ID: s.ID, Status: s.Status, Source: s.Request.Source, Target: s.Request.Target, Reason: s.Request.Reason, Started: s.Started,
	}
}

// workflowContext is nil where no step was begun.
func workflowContext(w conversation.Workflow) *WorkflowContext {
	if w.State == "" {
		return nil
	}
	return &WorkflowContext{State: w.State, Step: w.Step, Steps: w.Steps, Metadata: w.Metadata}
}

func (t *Thread) saved() []SavedContext {
	list := []SavedContext{}
	for _, s := range t.Handoffs.Saved(t.Time, math.MaxInt64) {
		if len(list) == maxSaved {
			break
		}
		list = append(list, SavedContext{
			ID: s.ID, Target: s.Request.Target, DisplayName: t.displayName(s.Request.Target), Ended: s.Ended, Workflow: workflowContext(s.Workflow),
		})
	}
	return list
}
