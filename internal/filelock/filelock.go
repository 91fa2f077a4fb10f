// Package filelock tells whether the process that uses a file is alive: it keeps the
// file locked, and the kernel takes the lock away when the process dies.
//
//	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
//	...
//	locked, err := filelock.Try(file, true)
//	if err == nil && !locked {
//		return errors.New("another process is at work")
//	}
//
// A lock belongs to the open file, so that two of one process exclude each other too.
package filelock
