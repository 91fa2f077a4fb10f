package specialists

import (
	"fmt"

	"github.com/convene-run/convene/events"
)

// Window gives what the specialist reads of its session: the context that it was given, and
// behind it at most so many of the newest messages as the team says. It slides by half of
// itself, so that most requests begin like the one before.
func (s *Session) Window(messages []events.Message) []events.Message {
	over := len(messages) - 1 - s.Memory
	if s.Memory <= 0 || over <= 0 {
		return messages
	}
	half := max(1, s.Memory/2)
	start := 1 + (over+half-1)/half*half
	for start < len(messages) && messages[start].Role == events.RoleTool { // its call is left out
		start++
	}
	if start >= len(messages) {
		return messages // all of it is one turn
	}
	note := events.Message{Role: events.RoleUser, Content: fmt.Sprintf(
		"(%d earlier messages of this conversation are left out here. read_thread shows what was said.)", start-1)}
	return append([]events.Message{messages[0], note}, messages[start:]...)
}
