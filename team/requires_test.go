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
