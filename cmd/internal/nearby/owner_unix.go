//go:build unix

package nearby

import (
	"os"
	"syscall"
)

// BelongsToUser reports whether the file is the user's.
func BelongsToUser(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// WritableByOthers reports whether every user can write the file.
func WritableByOthers(info os.FileInfo) bool { return info.Mode().Perm()&0o002 != 0 }

// sameDevice reports whether two folders are on one file system: what lies above a mount
// is another matter.
func sameDevice(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	if errA != nil || errB != nil {
		return false
	}
	statA, okA := infoA.Sys().(*syscall.Stat_t)
	statB, okB := infoB.Sys().(*syscall.Stat_t)
	return okA && okB && statA.Dev == statB.Dev
}
