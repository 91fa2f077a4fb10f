package prices_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/prices"
)

// The table in the program is what its encoder writes, so that a newer one differs
// in its figures alone.
func TestBuiltinTableIsInItsOwnForm(t *testing.T) {
	data, err := os.ReadFile("table.json")
	require.NoError(t, err)
	require.Equal(t, string(data), string(prices.Builtin().Encode()))
}
