package headroom

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheBlockIsInUseUntilItIsGivenBack(t *testing.T) {
	held.block = reserve(func(string) string { return "" })
	with := inUse()
	GiveBack()
	require.GreaterOrEqual(t, with-inUse(), int64(Bytes)*9/10)
	GiveBack()
}

func TestWhoSetsHowMemoryIsUsedGetsNoBlock(t *testing.T) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		require.Nil(t, reserve(func(asked string) string {
			if asked == name {
				return "100"
			}
			return ""
		}), name)
	}
}

func inUse() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
