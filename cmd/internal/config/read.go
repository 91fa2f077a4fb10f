package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/convene-run/convene/cmd/internal/nearby"
	"github.com/convene-run/convene/team"
)

var (
	errForeign  = errors.New("it belongs to another user")
	errWritable = errors.New("every user can write to it: `chmod o-w` fixes that")
	errLink     = errors.New("it is a symbolic link")
	errNoFile   = errors.New("it is not a regular file")
)

// readOwn reads a file that belongs to the user, as its folder does, and that nobody else
// can write. A link is followed only where links says so.
func readOwn(path string, links bool) ([]byte, error) {
	look := os.Lstat
	if links {
		look = os.Stat
	}
	dir, err := look(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	info, err := look(path)
	if err != nil {
		return nil, err
	}
	for _, part := range []fs.FileInfo{dir, info} {
		switch {
		case part.Mode()&fs.ModeSymlink != 0:
			return nil, errLink
		case !nearby.BelongsToUser(part):
			return nil, errForeign
		case nearby.WritableByOthers(part):
			return nil, errWritable
		}
	}
	if !info.Mode().IsRegular() {
		return nil, errNoFile
	}
	return readSame(path, info)
}

// readSame reads the file that was looked at, and no other that took its place.
func readSame(path string, looked fs.FileInfo) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(info, looked) {
		return nil, fmt.Errorf("%s was replaced while it was read", path)
	}
	// One byte more than allowed, so that whoever parses it sees that it is too large.
	return io.ReadAll(io.LimitReader(file, team.MaxFileBytes+1))
}
