package specialists

import (
	_ "embed"
	"strconv"
	"strings"
	"text/template"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
)

var (
	//go:embed prompt.md
	promptText string
	//go:embed asked.md
	askedText string

	prompt = template.Must(template.New("specialist").Parse(promptText))
	asked  = template.Must(template.New("asked").Parse(askedText))
)

// System gives the system prompt of a specialist: the same bytes for every
// dispatch and every run of a team. further are the tools that it has in addition to [Tools].
func System(t *team.Team, s team.Specialist, further []agent.Tool) (string, error) {
	return render(prompt, t, s, further)
}

// AskedSystem gives the system prompt of a specialist who is only asked a question: it
// has the further tools alone.
func AskedSystem(t *team.Team, s team.Specialist, further []agent.Tool) (string, error) {
	return render(asked, t, s, further)
}

func render(text *template.Template, t *team.Team, s team.Specialist, further []agent.Tool) (string, error) {
	var others, tools []string
	for _, other := range t.Specialists {
		if other.ID != s.ID {
			others = append(others, string(other.ID))
		}
	}
	if len(others) == 0 {
		others = []string{"there is no other"}
	}
	for _, tool := range further {
		tools = append(tools, tool.Name)
	}
	var b strings.Builder
	required := ""
	if t.Evidence == team.EvidenceRequired {
		required = string(t.Evidence)
	}
	err := text.Execute(&b, map[string]string{
		"Required":    required,
		"DisplayName": s.DisplayName, "Prompt": strings.TrimSpace(s.Prompt),
		"Others": strings.Join(others, ", "), "Tools": strings.Join(tools, ", "),
		"States": strings.Join(s.WorkflowStates, ", "), "Phases": strings.Join(phases(t, s), ", "),
	})
	return b.String(), err
}

// taskList writes task ids for people and models.
func taskList(ids []events.TaskID) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = strconv.Itoa(int(id))
	}
	return strings.Join(parts, ", ")
}

// Tools are a specialist's tools, in the order in which they are offered.
func Tools(t *team.Team) []agent.Tool {
	tools := tools{team: t}
	return []agent.Tool{tools.readTasks(), tools.completeTask(), tools.declineTask(), tools.readDocument(), tools.writeSection()}
}
