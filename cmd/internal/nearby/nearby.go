// Package nearby looks for the files that a folder's work goes with: in the working
// directory and above it, as git looks for a repository. Whose they are decides whether
// they count, because anybody may put one into /tmp.
//
//	for dir := range nearby.Upwards() {
//		info, err := os.Stat(filepath.Join(dir, ".convene"))
//		if err == nil && nearby.BelongsToUser(info) {
//			return dir
//		}
//	}
package nearby

import (
	"iter"
	"os"
	"path/filepath"
)

// Upwards gives the working directory, as ".", and the folders above it, up to the user's
// home, a mount, or the root of the file system.
func Upwards() iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(".") {
			return
		}
		dir, err := os.Getwd()
		if err != nil {
			return // the working directory was removed
		}
		home, _ := os.UserHomeDir() // "" where there is none: then only the mount ends the search
		for !sameFolder(dir, home) {
			above := filepath.Dir(dir)
			if above == dir || !sameDevice(dir, above) || !yield(above) {
				return
			}
			dir = above
		}
	}
}

func sameFolder(a, b string) bool {
	infoA, err := os.Stat(a)
	if err != nil {
		return false
	}
	infoB, err := os.Stat(b)
	return err == nil && os.SameFile(infoA, infoB)
}
