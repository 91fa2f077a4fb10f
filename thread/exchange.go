package thread

import (
	"fmt"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
)

// exchange is what a run leaves for those that follow it in the thread: what was asked
// and answered, or the summary that stands for it and everything before. What its tools
// did is not part of it.
type exchange struct {
	run      *Run
	messages []events.Message
}

// SummaryMessage is how a conversation has the summary of what was compacted away.
func SummaryMessage(summary string) events.Message {
	return events.Message{Role: events.RoleUser, Content: "Summary of the conversation so far, which was too long to keep:\n\n" + summary}
}

// follow has the run see the exchanges of the thread up to the run with the id.
func (r *Run) follow(id events.RunID) error {
	if before := r.thread.Current(); before == nil || before.ID != id {
		return fmt.Errorf("follow run %s: %w", id, ErrNoSuchRun)
	}
	// Not copied: the thread only appends to the list, or makes another one.
	r.saw = r.thread.exchanges[:len(r.thread.exchanges):len(r.thread.exchanges)]
	r.Facilitator.earlier = r.saw
	return nil
}

// conclude adds what a run that is over leaves. A run that continued another one stands
// in its place, and a summary in the place of what it was made of.
func (t *Thread) conclude(r *Run) {
	if r.Before != nil {
		t.exchanges = slices.DeleteFunc(slices.Clone(t.exchanges), func(e *exchange) bool { return e.run == r.Before })
	}
	if summary := r.Facilitator.summary; summary != "" {
		stands := []*exchange{{r, []events.Message{SummaryMessage(summary)}}}
		for _, e := range t.exchanges {
			if !slices.Contains(r.saw, e) {
				stands = append(stands, e)
			}
		}
		t.exchanges = stands
	}
	t.exchanges = append(t.exchanges, &exchange{r, r.exchange()})
}

// AppendEarlier appends the messages of the runs before this one, of which the facilitator
// knows what was asked and answered: they come before the opening.
func (c *Conversation) AppendEarlier(messages []events.Message) []events.Message {
	for _, e := range c.earlier {
		messages = append(messages, e.messages...)
	}
	return messages
}

// CountEarlier counts what AppendEarlier appends.
func (c *Conversation) CountEarlier() (n int) {
	for _, e := range c.earlier {
		n += len(e.messages)
	}
	return n
}

// exchange gives what people said to the run and what it answered.
func (r *Run) exchange() []events.Message {
	var messages []events.Message
	spoken := r.Spoken()
	if r.Person() != nil {
		spoken = []string{"[A person who was asked answers the user now.]"}
	}
	for _, said := range spoken {
		messages = append(messages, events.Message{Role: events.RoleUser, Content: said})
	}
	answer := fmt.Sprintf("(No answer was given: this request is %s.)", r.Status)
	if r.FinalAnswer != nil && strings.TrimSpace(r.FinalAnswer.Content) != "" {
		answer = r.FinalAnswer.Content
		if r.answerer != "" && r.answerer != events.FacilitatorID {
			answer = fmt.Sprintf("[%s]: %s", r.DisplayName(r.answerer), answer)
		}
	}
	answer = strings.Join(append([]string{answer}, r.notes...), "\n\n")
	return append(messages, events.Message{Role: events.RoleAssistant, Content: answer})
}
