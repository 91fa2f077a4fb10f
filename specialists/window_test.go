package specialists_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/specialists"
)

// Proves R50: the context stays first, at most the window's messages follow it, the newest are
// there, and no result is without its call.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &specialists.Session{Memory: rapid.IntRange(2, 12).Draw(t, "memory")}
		messages := []events.Message{{Role: events.RoleUser, Content: "[Context from previous agent (Facilitator)]: x"}}
		for range rapid.IntRange(0, 40).Draw(t, "rounds") {
			messages = append(messages, events.Message{Role: events.RoleUser, Content: fmt.Sprint(len(messages))})
			if rapid.Bool().Draw(t, "calls") {
				id := events.CallID(fmt.Sprint("c", len(messages)))
				messages = append(messages, events.Message{Role: events.RoleAssistant, ToolCalls: []events.ToolCall{{ID: id}}}, events.Message{Role: events.RoleTool, ToolCallID: id})
			}
			messages = append(messages, events.Message{Role: events.RoleAssistant, Content: fmt.Sprint(len(messages))})
		}
		read := s.Window(messages)
		require.Equal(t, messages[0], read[0])
		require.Equal(t, messages[len(messages)-1], read[len(read)-1])
		if len(messages)-1 <= s.Memory {
			require.Equal(t, messages, read)
			return
		}
		require.Contains(t, read[1].Content, fmt.Sprintf("(%d earlier messages", len(messages)-len(read)+1))
		require.LessOrEqual(t, len(read)-2, s.Memory)
		require.NotEqual(t, events.RoleTool, read[2].Role)
	})
	one := []events.Message{{Content: "context"}, {Role: events.RoleAssistant, ToolCalls: make([]events.ToolCall, 4)}, {Role: events.RoleTool}, {Role: events.RoleTool}, {Role: events.RoleTool}, {Role: events.RoleTool}}
	require.Equal(t, one, (&specialists.Session{Memory: 2}).Window(one), "one turn is not torn")
}
