package team_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/team"
)

// A permission that is misspelt is refused where it stands, with the one that was meant.
func TestRequiredPermissionIsSpelt(t *testing.T) {
	_, err := team.Parse("team.yaml", []byte(`name: pair
specialists:
  - {id: author, description: writes, prompt: Write.}
handoff:
  targets:
    - {agent: author, requires: "handof:initiate"}
`))
	require.ErrorContains(t, err, `did you mean "handoff:initiate"?`)
	require.ErrorContains(t, err, "team.yaml:6:")
}

// So is one that a tool requires, and a name under requires that stands for no tool.
func TestRequiredOfTools(t *testing.T) {
	parse := func(requires string) (*team.Team, error) {
		return team.Parse("team.yaml", []byte(`name: pair
specialists:
  - {id: author, description: writes, prompt: Write., tools: [calculate]}
tools: {calculate: {}}
requires: {`+requires+`}
`))
	}
	for requires, want := range map[string]string{
		`calculate: "runs:red"`: `team.yaml:5:23: there is no permission "runs:red"; did you mean "runs:read"?`,
		`calculate: Numbers`:    "write it as skill:create",
		`"c*e": "a:b"`:          "only the end of a name can be left open",
		`calculate: [a]`:        "requires.calculate must be text",
	} {
		_, err := parse(requires)
		require.ErrorContains(t, err, want)
	}
	tm, err := parse(`calculate: "math:use", "calc*": "numbers:use", "other*": "a:b"`)
	require.NoError(t, err)
	require.Equal(t, []string{"math:use", "numbers:use"}, tm.Required("calculate"))
	require.Empty(t, tm.Required("read_file"))
}
