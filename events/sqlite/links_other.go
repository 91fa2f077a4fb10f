//go:build !unix

package sqlite

import "io/fs"

// linkCount cannot tell here.
func linkCount(fs.FileInfo) uint64 { return 1 }
