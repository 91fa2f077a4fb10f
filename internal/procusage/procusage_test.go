package procusage_test

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/procusage"
)

// Work takes time, and a process takes memory: some megabytes.
func TestUsage(t *testing.T) {
	before, sum := procusage.Time(), [sha256.Size]byte{}
	for procusage.Time()-before < 20*time.Millisecond { // Windows counts in steps of 16 ms
		for range 1000 {
			sum = sha256.Sum256(sum[:])
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	require.NoError(t, cmd.Run())
	require.Greater(t, procusage.Peak(cmd.ProcessState), int64(1<<20))
	require.Less(t, procusage.Peak(cmd.ProcessState), int64(1<<30))
}
