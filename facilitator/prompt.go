package facilitator

import (
	_ "embed"
	"strings"
	"text/template"

	"github.com/convene-run/convene/team"
)

var (
	//go:embed prompt.md
	promptText string
	//go:embed solo.md
	soloText string

	//go:embed desk.md
	deskText string

	desk   = template.Must(template.New("desk").Parse(deskText))
	prompt = template.Must(template.New("facilitator").Parse(promptText))
	solo   = template.Must(template.New("solo").Parse(soloText))
)

// System gives the facilitator's system prompt: the same bytes for every run of a
// team.
func System(t *team.Team) (string, error) {
	if !t.Plans() {
		return render(desk, t)
	}
	return render(prompt, t)
}

// SoloSystem gives the system prompt of a run with a single agent.
func SoloSystem(t *team.Team) (string, error) { return render(solo, t) }

// evidenceText is said where the team requires evidence.
const evidenceText = "\n\nThis team requires evidence. read_document marks entries for which no source was found as unsupported. " +
	"Keep them apart when you merge, with {{entry:ID}} rather than rewritten. " +
	"In your answer write \"unsupported\" beside each statement that rests on one of them, or on no entry.\n"

func render(text *template.Template, t *team.Team) (string, error) {
	var b strings.Builder
	err := text.Execute(&b, map[string]any{
		"DisplayName": t.Facilitator.DisplayName, "Prompt": strings.TrimSpace(t.Facilitator.Prompt),
		"Specialists": t.Workers(), "MaxTasks": t.Limits.MaxTasks,
	})
	if t.Evidence == team.EvidenceRequired {
		b.WriteString(evidenceText)
	}
	if len(t.AnswerSchema) > 0 {
		b.WriteString("\n\nYour answer to the user, at the very end, is one JSON value that fits this JSON Schema, and nothing else, no text around it:\n")
		b.Write(t.AnswerSchema)
		b.WriteByte('\n')
	}
	return b.String(), err
}
