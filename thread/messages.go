package thread

import (
	"fmt"
	"sort"
	"time"

	"github.com/convene-run/convene/events"
)

// RoleNotice is the role of a [Message] in which convene itself tells the user something.
const RoleNotice events.Role = "notice"

// Message is what somebody said in a thread, as its user sees it: the user, the agent that
// has the conversation, a person in an agent's place, or convene. What agents say to each
// other and to their tools is not among the messages, nor is what the engine writes to them.
type Message struct {
	// Seq is that of the event that the message is from, and its name in [Thread.Messages].
	Seq events.Seq `json:"seq"`
	// Run is the run that answers the message, or that it is from; "" while it is queued.
	Run events.RunID `json:"run_id,omitempty"`
	// ID is the message's id where its sender gave one, as all messages of users have.
	ID events.MessageID `json:"message_id,omitempty"`
	// Role is [events.RoleUser], [events.RoleAssistant] or [RoleNotice].
	Role events.Role `json:"role"`
	// Agent is who says it, "" where that is the user. [HumanAgent] is a person who answers in
	// an agent's place.
	Agent       events.AgentID `json:"agent,omitempty"`
	DisplayName string         `json:"display_name,omitempty"`
	// UserID says which person wrote it; "" where nobody said.
	UserID  string    `json:"user_id,omitempty"`
	Content string    `json:"content"`
	Time    time.Time `json:"time"`
	// Interim is set on what an agent says while it works: its answer is still to come.
	Interim  bool            `json:"interim,omitempty"`
	Delivery events.Delivery `json:"delivery,omitempty"`
	// InputID is the request for input that the message is, or answers; Choices are the
	// answers that such a request proposes.
	InputID events.InputID `json:"input_id,omitempty"`
	Choices []string       `json:"choices,omitempty"`
}

// HumanAgent is the agent id of a person who answers in an agent's place.
const HumanAgent = events.HumanID

// Messages gives the thread's messages with a seq above after, in order, each once: at most
// limit of them, 0 for all. Do not change them.
func (t *Thread) Messages(after events.Seq, limit int) []Message {
	from := t.messagesThrough(after)
	until := len(t.messages)
	if limit > 0 {
		until = min(until, from+limit)
	}
	return t.messages[from:until:until]
}

// MessagesBefore gives the newest messages with a seq below before, 0 for no bound, in
// order: at most limit of them, 0 for all. Do not change them.
func (t *Thread) MessagesBefore(before events.Seq, limit int) []Message {
	until := len(t.messages)
	if before > 0 {
		until = t.messagesThrough(before - 1)
	}
	from := 0
	if limit > 0 {
		from = max(0, until-limit)
	}
	return t.messages[from:until:until]
}

// Restored gives a message with the values in place of their placeholders, for readers who may
// see them (the permission context:restore). What a person wrote stays as it is.
func (t *Thread) Restored(m Message) Message {
	if m.Role != events.RoleUser && m.Agent != HumanAgent {
		m.Content = t.Values.Restore(m.Content)
	}
	return m
}

// messagesThrough counts the messages up to that seq.
func (t *Thread) messagesThrough(seq events.Seq) int {
	return sort.Search(len(t.messages), func(i int) bool { return t.messages[i].Seq > seq })
}

// MessageCount counts the messages.
func (t *Thread) MessageCount() int { return len(t.messages) }

// note takes from an event what it says to the user, or what the user says. The event has
// been applied.
func (t *Thread) note(env events.Envelope) {
	if t.created.IsZero() {
		t.created = env.Time
	}
	switch e := env.Data.(type) {
	case events.UserMessage:
		t.noteUser(env, e)
	case events.WorkflowStarted:
		t.noteStart(env, e)
	case events.FacilitatorMessage:
		t.noteAgent(env, Message{Content: e.Content, Interim: t.Current().FinalAnswer == nil})
	case events.AgentMessage:
		if t.sessions[ActorOf(env.Dispatch)] != nil {
			t.noteAgent(env, Message{Content: e.Content, Interim: true})
		}
	case events.FinalAnswer:
		if env.Agent != HumanAgent || !t.wroteIt(env.Run, e.Content) {
			t.noteAgent(env, Message{Content: e.Content})
		}
	case events.InputRequested:
		if e.For == events.InputHuman { // its question is what the user wrote
			t.desks[e.InputID] = env.Run
			break
		}
		if e.For == events.InputApproval { // whoever asks need not be one who talks with the user
			t.noteNotice(env, e.Question)
			break
		}
		t.noteAgent(env, Message{Content: e.Question, InputID: e.InputID, Choices: e.Choices})
	case events.HandoffAccepted:
		t.noteNotice(env, e.Notice)
	case events.HandoffRejected:
		t.noteNotice(env, e.Notice)
	case events.HandoffReturned:
		t.noteNotice(env, e.Notice)
	case events.HandoffResumed:
		t.noteNotice(env, e.Notice)
	case events.PhaseChanged:
		t.noteNotice(env, e.Notice)
	case events.WorkflowFinished:
		if run := t.Current(); run.FinalAnswer == nil && !run.Started.Synthetic {
			t.noteNotice(env, unanswered(e))
		}
	}
}

// noteUser takes a message of the user's, or of a person who answers the user. One that was
// sent twice counts once.
func (t *Thread) noteUser(env events.Envelope, e events.UserMessage) {
	if e.Synthetic {
		return
	}
	t.Values.Said(e.Content)
	if e.MessageID != "" && t.sent[e.MessageID] == nil {
		return // it was not taken
	}
	if e.MessageID != "" {
		if _, known := t.said[e.MessageID]; known {
			return
		}
		t.said[e.MessageID] = len(t.messages)
	}
	m := Message{
		Seq: env.Seq, Run: env.Run, ID: e.MessageID, Role: events.RoleUser, UserID: e.UserID, Content: e.Content, Time: env.Time,
		Delivery: e.Delivery, InputID: e.InputID,
	}
	if run, desk := t.desks[e.InputID]; desk {
		m.Run, m.Role, m.Agent, m.DisplayName = run, events.RoleAssistant, HumanAgent, t.displayName(HumanAgent)
	}
	t.messages = append(t.messages, m)
}

// noteStart tells which run answers a message. A run that no message started says itself
// what was asked; one that continues another was asked the same.
func (t *Thread) noteStart(env events.Envelope, e events.WorkflowStarted) {
	if !e.Synthetic {
		t.Values.Said(e.Message)
	}
	if at, known := t.said[e.MessageID]; known {
		t.messages[at].Run = env.Run
		return
	}
	if e.Synthetic {
		return
	}
	if before := t.Current().Before; before != nil && before.Started.Message == e.Message {
		return
	}
	t.messages = append(t.messages, Message{
		Seq: env.Seq, Run: env.Run, ID: e.MessageID, Role: events.RoleUser, Content: e.Message, Time: env.Time,
	})
}

// noteAgent takes what an agent says to the user.
func (t *Thread) noteAgent(env events.Envelope, m Message) {
	m.Seq, m.Run, m.Role, m.Agent, m.Time = env.Seq, env.Run, events.RoleAssistant, env.Agent, env.Time
	if m.Agent == "" {
		m.Agent = events.FacilitatorID
	}
	m.DisplayName = t.displayName(m.Agent)
	t.messages = append(t.messages, m)
}

// noteNotice takes what convene tells the user of the conversation.
func (t *Thread) noteNotice(env events.Envelope, content string) {
	if content != "" {
		t.messages = append(t.messages, Message{Seq: env.Seq, Run: env.Run, Role: RoleNotice, Content: content, Time: env.Time})
	}
}

// wroteIt reports whether the newest message of the run, or the one that it answers, is the
// person's whose words its answer repeats.
func (t *Thread) wroteIt(run events.RunID, content string) bool {
	if at, known := t.said[t.Current().Started.MessageID]; known && t.messages[at].Agent == HumanAgent {
		return true
	}
	if len(t.messages) == 0 {
		return false
	}
	last := t.messages[len(t.messages)-1]
	return last.Agent == HumanAgent && last.Run == run && last.Content == content
}

// displayName is what the newest run calls an agent, its id where that has no such agent.
func (t *Thread) displayName(id events.AgentID) string {
	if run := t.Current(); run != nil {
		return run.DisplayName(id)
	}
	return string(id)
}

// unanswered says that a run ended without an answer.
func unanswered(e events.WorkflowFinished) string {
	words := "No answer was given"
	if e.Status == events.StatusCancelled {
		words = "This request was cancelled"
	}
	if e.Reason == "" {
		return words + "."
	}
	return fmt.Sprintf("%s: %s", words, e.Reason)
}
