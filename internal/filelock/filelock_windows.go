package filelock

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// Try locks the file for as long as it stays open, exclusively or shared, and does not
// wait: ok is false where another has it. The error is an [os.PathError]. The byte that
// is locked lies behind any content, which others may still read.
func Try(file *os.File, exclusive bool) (ok bool, err error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	behind := &windows.Overlapped{OffsetHigh: math.MaxInt32}
	err = windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, behind)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return false, nil
	}
	return false, &os.PathError{Op: "lock", Path: file.Name(), Err: err}
}
