//go:build windows

package procusage

import (
	"os"
	"syscall"
	"time"
)

// Time is the user and system time of this process so far.
func Time() time.Duration {
	var began, ended, system, user syscall.Filetime
	self, _ := syscall.GetCurrentProcess() // a constant
	if syscall.GetProcessTimes(self, &began, &ended, &system, &user) != nil {
		return 0
	}
	return ticks(system) + ticks(user)
}

// ticks is a span of time, which is in units of 100 ns.
func ticks(t syscall.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}

// Peak is the most memory, in bytes, that a process had which has ended: 0, since the system does
// not say it afterwards.
func Peak(*os.ProcessState) int64 { return 0 }
