//go:build unix

package sqlite

import (
	"io/fs"
	"syscall"
)

// linkCount is the number of names that a file has.
func linkCount(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink) //nolint:unconvert // narrower on other systems
	}
	return 1
}
