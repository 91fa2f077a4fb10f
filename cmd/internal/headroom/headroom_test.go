package headroom

import (
	"os"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// atStart is how often the heap had been looked through before the package's tests.
var atStart uint32

func init() { // after that of the package
	runtime.GC() // waits for one that is under way
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	atStart = stats.NumGC - 1
}

func TestMakingTheBlockCollectsNothing(t *testing.T) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		t.Skip("this process has no block")
	}
	require.Zero(t, atStart)
}

func TestGosRuleHoldsOnceTheHeapWasLookedThrough(t *testing.T) {
	reserve(func(string) string { return "" })
	defer GiveBack()
	runtime.GC()
	rule := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	require.Eventually(t, func() bool {
		metrics.Read(rule)
		return rule[0].Value.Uint64() == percent
	}, time.Minute, time.Millisecond)
}

func TestTheBlockIsInUseUntilItIsGivenBack(t *testing.T) {
	reserve(func(string) string { return "" })
	with := inUse()
	GiveBack()
	require.GreaterOrEqual(t, with-inUse(), int64(Bytes)*9/10)
	GiveBack()
}

func TestWhoSetsHowMemoryIsUsedGetsNoBlock(t *testing.T) {
	GiveBack()
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		reserve(func(asked string) string {
			if asked == name {
				return "100"
			}
			return ""
		})
		require.Nil(t, held.block, name)
	}
}

func inUse() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
