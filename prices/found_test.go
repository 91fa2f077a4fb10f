package prices

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// What was looked up is kept within a bound: names of models may come from endpoints.
func TestLookedUpNamesAreBounded(t *testing.T) {
	table := newTable("", "", map[string]*Model{"maker/model": {}})
	for i := range maxFound + 10 {
		_, found := table.Lookup("maker", fmt.Sprint(i))
		require.False(t, found)
	}
	require.LessOrEqual(t, len(table.found), maxFound)
	_, found := table.Lookup("maker", "model")
	require.True(t, found)
}
