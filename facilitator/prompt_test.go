package facilitator_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/team"
)

// Proves R13: the prompt has the steps of the workflow in their order, the rules, and
// the team that it is for.
func TestPromptCarriesTheWorkflow(t *testing.T) {
	for _, name := range team.BuiltinNames() {
		tm, err := team.Builtin(name)
		require.NoError(t, err)
		prompt, err := facilitator.System(tm)
		require.NoError(t, err)
		at := 0
		for _, step := range []string{
			"create_tasks", "call_<specialist>", "get_plan_status", "dispatch again", "read_document", "consolidate_section", "go back to step 2", "read_document_clean", "answer the user",
		} {
			next := strings.Index(prompt[at:], step)
			require.GreaterOrEqual(t, next, 0, "%s comes in its place", step)
			at += next
		}
		for _, rule := range []string{"Not more than 20 tasks", "refer to their ids", "language of the user", "which language to write in", "Do not do the specialists' work", "name in your answer what is missing"} {
			require.Contains(t, prompt, rule)
		}
		tools := facilitator.Tools(tm, nil)
		for _, s := range tm.Workers() {
			at := slices.IndexFunc(tools, func(tool agent.Tool) bool { return tool.Name == loop.DispatchTool(s.ID) })
			require.Contains(t, tools[at].Description, s.Description, "what each is for stands with its tool")
		}
		again, err := facilitator.System(tm)
		require.NoError(t, err)
		require.Equal(t, prompt, again)
	}
}

// Proves R2, R3: the tools by name, in a fixed order.
func TestTools(t *testing.T) {
	tm, err := team.Builtin("trip")
	require.NoError(t, err)
	want := []string{"create_tasks", "get_plan_status", "read_document", "consolidate_section", "read_document_clean"}
	for _, s := range tm.Specialists {
		want = append(want, loop.DispatchPrefix+string(s.ID))
	}
	want = append(want, facilitator.AskTool, facilitator.AskUserTool)
	var names []string
	first, again := facilitator.Tools(tm, nil), facilitator.Tools(tm, nil)
	for i := range first {
		names = append(names, first[i].Name)
		require.Equal(t, first[i].Tool, again[i].Tool, "the same bytes every time")
		require.NotEmpty(t, first[i].Description)
	}
	require.Equal(t, want, names)
}

// What models are sent of our own tools stays the same bytes: prompt caches live longer
// than a build. A change here should be an improvement.
func TestToolsAreTheBytesTheyWere(t *testing.T) {
	want, err := os.ReadFile("testdata/trip_tools.txt")
	require.NoError(t, err)
	tm, err := team.Builtin("trip")
	require.NoError(t, err)
	var b strings.Builder
	for _, tool := range append(facilitator.Tools(tm, nil), specialists.Tools(tm)...) {
		fmt.Fprintf(&b, "%s\n%s\n%s\n", tool.Name, tool.Description, tool.Parameters)
	}
	require.Equal(t, string(want), b.String())
}

// What goes along with every request is paid for with every request: it is as long as it
// was made, and does not grow unnoticed. Before it was made shorter, the facilitator of
// this team was sent 8,096 characters, and its first specialist 3,960.
func TestPromptsAndToolsStayShort(t *testing.T) {
	tm, err := team.Builtin("trip")
	require.NoError(t, err)
	system, err := facilitator.System(tm)
	require.NoError(t, err)
	require.LessOrEqual(t, sent(system, facilitator.Tools(tm, nil)), 5_740, "characters of each request of the facilitator")
	system, err = specialists.System(tm, tm.Specialists[0], nil)
	require.NoError(t, err)
	require.LessOrEqual(t, sent(system, specialists.Tools(tm)), 2_700, "characters of each request of a specialist")
}

// sent counts the characters of a system prompt with tools.
func sent(system string, tools []agent.Tool) int {
	n := len(system)
	for _, tool := range tools {
		n += len(tool.Name) + len(tool.Description) + len(tool.Parameters)
	}
	return n
}
