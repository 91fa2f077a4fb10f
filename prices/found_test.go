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

// The table in the program is entered under the names that its models have once they are read.
func TestBuiltinTableHasTheNamesOfItsModels(t *testing.T) {
	read, err := Parse([]byte(builtin))
	require.NoError(t, err)
	require.Equal(t, read.Names(), Builtin().Names())
	require.Equal(t, read.prefixes, Builtin().prefixes)
	for name, s := range Builtin().models {
		require.Equal(t, read.models[name].also, s.also, name)
		require.Equal(t, read.models[name].model, s.get(), name)
	}
}
