package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// ErrExists is for a file that a backup would overwrite.
var ErrExists = errors.New("the file already exists")

// Backup writes the store as it is at one moment into a new file, beside whoever writes
// to it: a plain copy of the file could tear it apart and would lack what is in SQLite's
// write-ahead log. The file appears whole and durable or not at all, and has no unused
// space. Damage is copied: check it.
func (l *Log) Backup(ctx context.Context, path string) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("back up to %s: %w", path, ErrExists), err)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".convene-*") // for the owner's eyes only
	if err != nil {
		return fmt.Errorf("back up to %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name())
		}
	}()
	if err = l.read(ctx, func(c *conn) error {
		if err := c.exec("PRAGMA query_only = FALSE"); err != nil {
			return err
		}
		err := c.exec("VACUUM INTO ?", temp.Name())
		return errors.Join(err, c.exec("PRAGMA query_only = TRUE"))
	}); err != nil {
		return errors.Join(err, temp.Close())
	}
	// A link, unlike a rename, replaces nothing that came meanwhile.
	err = errors.Join(temp.Sync(), temp.Close())
	if err == nil {
		err = os.Link(temp.Name(), path)
	}
	if err == nil {
		err = errors.Join(os.Remove(temp.Name()), syncDir(filepath.Dir(path)))
	}
	if err != nil {
		return fmt.Errorf("back up to %s: %w", path, err)
	}
	return nil
}

// syncDir makes the names in a folder durable. Systems that cannot do so need not.
func syncDir(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = file.Sync()
	return file.Close()
}

// Compact gives the space of what was removed back to the file system, and wipes it. It
// removes artifacts that a killed process put and that no event names.
// Others may read meanwhile; their commits wait. It needs up to twice the size of the
// store beside it. before and after are sizes in bytes.
func (l *Log) Compact(ctx context.Context) (before, after int64, err error) {
	if l.readOnly != nil {
		return 0, 0, l.readOnly
	}
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	before, err = size(l.path)
	if err == nil {
		err = l.dropOrphans(ctx)
	}
	if err != nil {
		return 0, 0, storeError("compact", l.path, err)
	}
	c, err := openConn(l.path, "synchronous = FULL", fmt.Sprintf("busy_timeout = %d", migrateWait.Milliseconds()))
	if err != nil {
		return 0, 0, storeError("compact", l.path, err)
	}
	err = errors.Join(c.exec("VACUUM"), emptyWAL(ctx, c))
	if err = errors.Join(err, c.close()); err == nil {
		after, err = size(l.path)
	}
	return before, after, storeError("compact", l.path, err)
}

// errReaders says that somebody reads, so that the write-ahead log still has old pages.
var errReaders = errors.New("it was rewritten, but another process reads from it for long, so that what was removed is not wiped yet: compact it again when that has ended")

// emptyWAL moves what the write-ahead log has into the store, and truncates it. SQLite waits for
// readers and writers, but not for another checkpoint: that one is waited for here.
func emptyWAL(ctx context.Context, c *conn) error {
	for end := time.Now().Add(migrateWait); ; {
		blocked, err := c.number("PRAGMA wal_checkpoint(TRUNCATE)")
		switch {
		case err != nil || blocked == 0:
			return err
		case time.Now().After(end):
			return errReaders
		}
		select {
		case <-time.After(checkpointPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// checkpointPause is between two attempts to empty the write-ahead log.
const checkpointPause = 20 * time.Millisecond

// size is what a store takes on disk, its write-ahead log included.
func size(path string) (total int64, err error) {
	for _, name := range []string{path, path + "-wal"} {
		info, err := os.Stat(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
		if err == nil {
			total += info.Size()
		}
	}
	return total, nil
}
