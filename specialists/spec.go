package specialists

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
)

//go:embed prompt.md
var promptText string

var prompt = template.Must(template.New("specialist").Parse(promptText))

// System gives the system prompt of a specialist: the same bytes for every
// dispatch and every run of a team.
func System(t *team.Team, s team.Specialist) (string, error) {
	var others []string
	for _, other := range t.Specialists {
		if other.ID != s.ID {
			others = append(others, string(other.ID))
		}
	}
	if len(others) == 0 {
		others = []string{"there is no other"}
	}
	var b strings.Builder
	err := prompt.Execute(&b, map[string]string{
		"DisplayName": s.DisplayName, "Prompt": strings.TrimSpace(s.Prompt), "Others": strings.Join(others, ", "),
	})
	return b.String(), err
}

// taskList writes task ids for people and models.
func taskList(ids []events.TaskID) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = fmt.Sprint(id)
	}
	return strings.Join(parts, ", ")
}

// Tools are a specialist's tools, in the order in which they are offered.
func Tools(t *team.Team) []agent.Tool {
	tools := tools{team: t}
	return []agent.Tool{tools.readTasks(), tools.completeTask(), tools.readDocument(), tools.writeSection()}
}
