package specialists_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/team"
)

// Proves R4, R13: a specialist's prompt keeps it in its lane and in the reader's
// language, and its tools are the five.
func TestPromptAndTools(t *testing.T) {
	tm, err := team.Builtin("trip")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, s := range tm.Specialists {
		prompt, err := specialists.System(tm, s, nil)
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
		again, err := specialists.System(tm, s, nil)
		require.NoError(t, err)
		require.Equal(t, prompt, again)
	}
	require.NotContains(t, sessionPrompt(t, tm, tm.Specialists[0]), "set_workflow_state")
	staged := tm.Specialists[0]
	staged.WorkflowStates = []string{"gathering", "testing"}
	prompt := sessionPrompt(t, tm, staged)
	for _, rule := range []string{"You are " + staged.DisplayName, "goes straight to the user", "in order: gathering, testing.", "return_control", "Write in the user's language"} {
		require.Contains(t, prompt, rule)
	}
	var names []string
	for _, tool := range append(specialists.SessionTools(tm, tm.Specialists[0], nil), specialists.SessionTools(tm, staged, nil)...) {
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"return_control", "read_thread", "return_control", "read_thread", "set_workflow_state"}, names, "steps only for who has some")
	names = nil
	for _, tool := range specialists.Tools(tm) {
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"read_tasks", "complete_task", "decline_task", "read_document", "write_section"}, names)
}

func sessionPrompt(t *testing.T, tm *team.Team, s team.Specialist) string {
	t.Helper()
	prompt, err := specialists.SessionSystem(tm, s, nil)
	require.NoError(t, err)
	return prompt
}
