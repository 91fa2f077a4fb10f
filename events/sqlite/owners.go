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

	"github.com/convene-run/convene/internal/filelock"
)

// owners is the directory of owner files. A process keeps its own file locked
// while it lives; whoever can lock a file knows that its owner is dead.
type owners struct {
	dir string
	// token is the name of our own file; "" in a process that only reads.
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

// openOwners adds our own file to the directory.
func openOwners(dir string) (*owners, error) {
	o := &owners{dir: dir}
	for range createAttempts {
		ok, err := o.create()
		if err != nil {
			return nil, err
		}
		if ok {
			return o, nil
		}
	}
	return nil, fmt.Errorf("owner file in %s: another process keeps removing it", dir)
}

// create adds our own file. ok is false where a sweep came between.
func (o *owners) create() (ok bool, err error) {
	token := randomToken()
	file, err := createLocked(filepath.Join(o.dir, token))
	if err != nil || file == nil {
		return false, err
	}
	o.token, o.file = token, file
	return true, nil
}

func randomToken() string {
	var random [12]byte
	_, _ = rand.Read(random[:]) // never fails: it ends the process instead
	return hex.EncodeToString(random[:])
}

// createLocked makes a file and locks it; nil where a sweep came between.
func createLocked(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	locked, err := filelock.Try(file, true)
	if err == nil && locked {
		if _, err := os.Stat(path); err == nil {
			return file, nil
		}
	}
	return nil, errors.Join(err, file.Close())
}

// restore makes our own file again where somebody removed it, under its old name: our
// claims carry that. It has the lock before it has the name, so that no sweep takes it
// for a dead one's.
func (o *owners) restore() error {
	path := filepath.Join(o.dir, o.token)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return err
	}
	temp := filepath.Join(o.dir, randomToken())
	file, err := createLocked(temp)
	if err != nil || file == nil {
		return err // the next claim tries again
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, file.Close(), os.Remove(temp))
	}
	old := o.file
	o.file = file
	return old.Close()
}

// deadOwners gives the files of dead owners by their tokens, locked, so that nobody
// else finds them too. What cannot be opened is left to the next sweep. Close them.
func deadOwners(dir string) (dead map[string]*os.File, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	dead = map[string]*os.File{}
	for _, entry := range entries {
		if entry.Name() == openLockName || !entry.Type().IsRegular() {
			continue
		}
		file, err := os.OpenFile(filepath.Join(dir, entry.Name()), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if locked, err := filelock.Try(file, true); err == nil && locked {
			dead[entry.Name()] = file
		} else {
			_ = file.Close()
		}
	}
	return dead, nil
}

// alive reports whether the process with that file lives. Who removes the file of a
// dead process, or of one that ends, first takes its claims back (see settleClaims): a
// file that is missing was taken away by somebody who did not ask, and its process may
// be at work.
func (o *owners) alive(token string) (bool, error) {
	if token == o.token && token != "" {
		return true, nil
	}
	if token == "" || filepath.Base(token) != token {
		return false, nil
	}
	file, err := os.Open(filepath.Join(o.dir, token))
	if errors.Is(err, fs.ErrNotExist) {
		return o.token != "", nil // on a medium that cannot be written nobody works
	}
	if err != nil {
		return false, err
	}
	locked, err := filelock.Try(file, false)
	return !locked, errors.Join(err, file.Close())
}

// close frees our own file and, unless claims carry its name, takes it away.
func (o *owners) close(claims bool) error {
	if o.token == "" {
		return nil
	}
	if claims {
		return o.file.Close()
	}
	err := os.Remove(filepath.Join(o.dir, o.token))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, o.file.Close())
}

// lockOpening lets one process at a time make and migrate the file.
func lockOpening(ctx context.Context, dir string) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(dir, openLockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for start := time.Now(); ; {
		locked, err := filelock.Try(file, true)
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
