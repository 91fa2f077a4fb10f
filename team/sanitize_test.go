package team_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/sanitize"
	"github.com/convene-run/convene/team"
)

const withPatterns = `name: claims
specialists:
  - {id: a, description: d, prompt: p}
sanitize:
  customer: 'K-\d{6}'
  phone: "off"
`

// A team's patterns are found, and one that cannot be is refused where it stands.
func TestSanitize(t *testing.T) {
	tm, err := team.Parse("claims.yaml", []byte(withPatterns))
	require.NoError(t, err)
	finder, err := tm.Finder()
	require.NoError(t, err)
	require.Equal(t, "[CUSTOMER], [EMAIL], +44 7700 900123", sanitize.Mask(finder, "K-123456, ann@example.org, +44 7700 900123"))
	_, err = team.Parse("claims.yaml", []byte(withPatterns+"  broken: '('\n  nothing: 'a*'\n  card: 'x'\n"))
	require.ErrorContains(t, err, "claims.yaml:7")
	require.ErrorContains(t, err, "missing closing )")
	require.ErrorContains(t, err, "claims.yaml:8")
	require.ErrorContains(t, err, "matches an empty text")
	require.ErrorContains(t, err, "claims.yaml:9")
}
