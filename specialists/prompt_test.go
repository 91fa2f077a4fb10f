package specialists_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/team"
)

// Proves R4, R13: a specialist's prompt keeps it in its lane and in the reader's
// language, and its tools are the four.
func TestPromptAndTools(t *testing.T) {
	tm, err := team.Builtin("trip")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, s := range tm.Specialists {
		prompt, err := specialists.System(tm, s)
		require.NoError(t, err)
		require.False(t, seen[prompt], "a prompt of its own")
		seen[prompt] = true
		for _, rule := range []string{"Stay in your lane", "language of the request", "complete_task", "write_section", "You are " + s.DisplayName} {
			require.Contains(t, prompt, rule)
		}
		for _, other := range tm.Specialists {
			if other.ID != s.ID {
				require.Contains(t, prompt, string(other.ID))
			}
		}
		again, err := specialists.System(tm, s)
		require.NoError(t, err)
		require.Equal(t, prompt, again)
	}
	var names []string
	for _, tool := range specialists.Tools(tm) {
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"read_tasks", "complete_task", "read_document", "write_section"}, names)
}
