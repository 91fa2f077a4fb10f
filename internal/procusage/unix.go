//go:build unix

package procusage

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// Time is the user and system time of this process so far.
func Time() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // which has no way to fail
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Peak is the most memory, in bytes, that a process had which has ended; 0 where the system does
// not say.
func Peak(ended *os.ProcessState) int64 {
	used, ok := ended.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	peak := int64(used.Maxrss) //nolint:unconvert // it has 32 bits where addresses have
	if runtime.GOOS == "darwin" {
		return peak
	}
	return peak << 10
}
