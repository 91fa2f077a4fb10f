package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// owners is the directory of owner files. A process keeps its own file locked
// while it lives; whoever can lock a file knows that its owner is dead.
type owners struct {
	dir string
	// token is the name of our own file.
	token string
	file  *os.File
}

const (
	openLockName = "open.lock"
	// openLockRetry and openLockWait: opening takes milliseconds, a migration
	// seconds at most.
	openLockRetry = 5 * time.Millisecond
	openLockWait  = 30 * time.Second
	// createAttempts bounds the tries for a file of our own: one fails only where
	// another process sweeps between creating and locking.
	createAttempts = 10
)

// openOwners makes the directory, sweeps the dead out and adds our own file.
func openOwners(dir string) (*owners, error) {
	o := &owners{dir: dir}
	if err := o.sweep(); err != nil {
		return nil, err
	}
	for range createAttempts {
		ok, err := o.create()
		if err != nil {
			return nil, err
		}
		if ok {
			return o, nil
		}
	}
	return nil, fmt.Errorf("owner file in %s: another process takes every one away", dir)
}

// create adds a locked file. ok is false where a sweep came between.
func (o *owners) create() (ok bool, err error) {
	var random [12]byte
	_, _ = rand.Read(random[:]) // never fails: it ends the process instead
	token := hex.EncodeToString(random[:])
	path := filepath.Join(o.dir, token)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return false, err
	}
	locked, err := tryLock(file, true)
	if err == nil && locked {
		if _, err := os.Stat(path); err == nil {
			o.token, o.file = token, file
			return true, nil
		}
	}
	return false, errors.Join(err, file.Close())
}

// sweep removes the files of dead owners. What cannot be removed is left to the
// next sweep.
func (o *owners) sweep() error {
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == openLockName || !entry.Type().IsRegular() {
			continue
		}
		path := filepath.Join(o.dir, entry.Name())
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if locked, err := tryLock(file, true); err == nil && locked {
			_ = os.Remove(path)
		}
		_ = file.Close()
	}
	return nil
}

// alive reports whether the process with that file lives.
func (o *owners) alive(token string) (bool, error) {
	if token == o.token {
		return true, nil
	}
	if token == "" || filepath.Base(token) != token {
		return false, nil
	}
	file, err := os.OpenFile(filepath.Join(o.dir, token), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	locked, err := tryLock(file, false)
	return !locked, errors.Join(err, file.Close())
}

// close frees our own file and takes it away.
func (o *owners) close() error {
	return errors.Join(os.Remove(o.file.Name()), o.file.Close())
}

// lockOpening lets one process at a time make and migrate the file.
func lockOpening(ctx context.Context, dir string) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(dir, openLockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for start := time.Now(); ; {
		locked, err := tryLock(file, true)
		switch {
		case err != nil:
			return nil, errors.Join(err, file.Close())
		case locked:
			return func() { _ = file.Close() }, nil
		case time.Since(start) > openLockWait:
			return nil, errors.Join(fmt.Errorf("another process has been opening it for %s: %w", openLockWait, ErrLocked), file.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-time.After(openLockRetry):
		}
	}
}
