package team_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/team"
)

// A team file may change every sentence, with the placeholders that its default has.
func TestSentencesOfATeam(t *testing.T) {
	const file = "name: n\nspecialists: [{id: a, description: d, prompt: p}, {id: b, description: d, prompt: p}]\nconversation:\n  messages:\n    "
	tm, err := team.Parse("f.yaml", []byte(file+
		`{transition: "{{phase}} is done, now {{next}}", pipeline_end: "{{phase}} is done", rolled_back: "{{next}} failed, back to {{agent}}", completed: "{{agent}} is done"}`))
	require.NoError(t, err)
	messages := tm.Conversation.Sentences()
	require.Equal(t, "Intake is done, now second opinion", messages.SayTransition("intake", "second_opinion"))
	require.Equal(t, "Intake is done", messages.SayTransition("intake", ""))
	require.Equal(t, "B failed, back to A", messages.SayRolledBack("B", "A"))
	require.Equal(t, "A is done", conversation.Say(messages.Completed, "A"))

	for sentence, says := range map[string]string{
		`connecting: "{{phase}} begins"`:      `f.yaml:5:18: "{{phase}}" stands for nothing here; write {{agent}}`,
		`connecting: "{{ agent }} is coming"`: `"{{ agent }}" stands for nothing here; write {{agent}}`,
		`transition: "{{agent}} begins"`:      `"{{agent}}" stands for nothing here; write {{phase}} or {{next}}`,
		`pipeline_end: "{{next}} begins"`:     `"{{next}}" stands for nothing here; write {{phase}}`,
	} {
		_, err := team.Parse("f.yaml", []byte(file+"{"+sentence+"}"))
		require.ErrorContains(t, err, says)
	}
}
