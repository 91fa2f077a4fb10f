package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/filelock"
)

// DirSuffix names the directory beside the output that makes a batch resumable:
// the manifest, a copy of standard input, the output before a retry.
const DirSuffix = ".batch"

// lockName is the file in it that a process keeps locked while it has the batch. The
// store's claim is not enough: two processes may have two stores and one output.
const lockName = "lock"

// Dir is the directory of a batch, locked for this process.
type Dir struct {
	path string
	lock *os.File
	// made is set where this process made it.
	made bool
}

// lockAttempts bounds the tries for the lock: one fails only where another process
// removes the directory between opening the file and locking it.
const lockAttempts = 10

// OpenDir makes the directory where there is none, and locks it. While another
// process has it the error is an [*events.HeldError].
func OpenDir(path string, owner events.Owner) (*Dir, error) {
	for range lockAttempts {
		err := os.Mkdir(path, 0o700)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("write beside the output: %w", err)
		}
		made := err == nil
		lock, err := lockDir(path, owner)
		if err != nil {
			return nil, err
		}
		if lock != nil {
			return &Dir{path: path, lock: lock, made: made}, nil
		}
	}
	return nil, fmt.Errorf("lock %s: another process removes it again and again", path)
}

// lockDir gives nil where the directory was removed meanwhile.
func lockDir(path string, owner events.Owner) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lock the batch: %w", err)
	}
	locked, err := filelock.Try(file, true)
	switch {
	case err != nil:
		return nil, errors.Join(fmt.Errorf("lock the batch: %w. Write the output to a disk that has file locks", err), file.Close())
	case !locked:
		held := holder(file)
		return nil, errors.Join(held, file.Close())
	}
	ours, err := file.Stat()
	there, gone := os.Stat(file.Name())
	if err != nil || gone != nil || !os.SameFile(ours, there) {
		return nil, errors.Join(err, file.Close())
	}
	// Rewritten each time, so that its time is that of the lock.
	err = file.Truncate(0)
	if err == nil {
		_, err = file.WriteAt([]byte(owner), 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the batch: %w", err), file.Close())
	}
	return file, nil
}

// holder reads from the lock file who has it locked.
func holder(file *os.File) error {
	const longest = 1000 // bytes: an owner is a few words
	held := &events.HeldError{Owner: "another process"}
	text := make([]byte, longest)
	if n, _ := file.ReadAt(text, 0); n > 0 { // an error leaves the owner without a name
		held.Owner = events.Owner(text[:n])
	}
	if info, err := file.Stat(); err == nil {
		held.Since = info.ModTime().UTC()
	}
	return held
}

// Close gives the directory back; with undo it is removed if this process made it.
func (d *Dir) Close(undo bool) error {
	if undo && d.made {
		_ = os.RemoveAll(d.path) // what is left of it is taken by the next call
	}
	return d.lock.Close()
}

// Resolved follows links, so that an output has one directory under all of its names.
// A link may lead to a file that is still to be made.
func Resolved(path string) (string, error) {
	const links = 40 // as many as Linux follows
	for range links {
		target, err := filepath.EvalSymlinks(path)
		if err == nil {
			return target, nil
		}
		link, err := os.Readlink(path)
		if err != nil {
			return path, nil //nolint:nilerr // it is no link
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(path), link)
		}
		path = link
	}
	return "", errors.New("too many links")
}

// SyncDir makes the names in a directory durable, new and removed ones.
func SyncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil // it opens no directory for that
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// scratchPrefix names files for one process alone. What a killed process left of
// them is not needed, because the log has it.
const scratchPrefix = "scratch-"

func scratch(dir string) (*os.File, error) { return os.CreateTemp(dir, scratchPrefix+"*") }

// Sweep removes what killed processes left.
func Sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), scratchPrefix) {
			errs = append(errs, os.Remove(filepath.Join(dir, entry.Name())))
		}
	}
	return errors.Join(errs...)
}
