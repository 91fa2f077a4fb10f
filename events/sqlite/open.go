package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/convene-run/convene/events"
)

// checkedBytes is the size up to which a file is checked in whole when opened:
// that takes about 10 ms there.
const checkedBytes = 1 << 20

// fileMagic is how every SQLite file starts: https://www.sqlite.org/fileformat.html
const fileMagic = "SQLite format 3\x00"

// Open opens the file, or makes it, its directory and its tables, all for the
// owner's eyes only. Several processes may do so at once. A file that is newer,
// damaged, not ours, read-only or on a network filesystem is left as it is: see
// the errors of this package. ctx bounds the opening alone; close the log.
func Open(ctx context.Context, path string) (*Log, error) {
	if path == "" {
		return nil, errors.New("open store: no path: give one with --store")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, storeError("open", path, err)
	}
	log, err := open(ctx, abs)
	if err != nil {
		return nil, storeError("open", path, err)
	}
	return log, nil
}

func open(ctx context.Context, path string) (*Log, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if name := networkFilesystem(filepath.Dir(path)); name != "" {
		return nil, fmt.Errorf("%s: %w", name, ErrNetwork)
	}
	// Looked at before anything is written beside it.
	if err := checkHeader(path); err != nil {
		return nil, err
	}
	dir := path + "-owners"
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	unlock, err := lockOpening(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := create(path); err != nil {
		return nil, err
	}
	if err := prepareFile(ctx, path); err != nil {
		return nil, err
	}
	return start(path, dir)
}

// checkHeader refuses what is no SQLite file or cannot be written. A missing or
// an empty file is fine.
func checkHeader(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		what := "no regular file"
		if info.IsDir() {
			what = "a directory"
		}
		return fmt.Errorf("it is %s: %w", what, ErrNotOurs)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	header := make([]byte, len(fileMagic))
	n, err := io.ReadFull(file, header)
	switch {
	case n == 0:
		return nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case string(header[:n]) != fileMagic:
		return ErrNotOurs
	}
	return nil
}

// create makes an empty file that only its owner may read. The files that SQLite
// adds beside it get the same mode.
func create(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// start opens the connections and starts to watch for other processes.
func start(path, dir string) (log *Log, err error) {
	var opened []io.Closer
	defer func() {
		if err != nil {
			for _, c := range opened {
				err = errors.Join(err, c.Close())
			}
		}
	}()
	owners, err := openOwners(dir)
	if err != nil {
		return nil, err
	}
	opened = append(opened, closer(owners.close))
	// The writer waits for locks itself: see lockRetry.
	writer, err := openConn(path, "synchronous = FULL", "busy_timeout = 0")
	if err != nil {
		return nil, err
	}
	opened = append(opened, closer(writer.close))
	readers := make(chan *conn, maxReaders)
	for range maxReaders {
		reader, err := openConn(path, "query_only = TRUE", "busy_timeout = 5000")
		if err != nil {
			return nil, err
		}
		opened = append(opened, closer(reader.close))
		readers <- reader
	}
	closing := make(chan struct{})
	log = &Log{
		path: path, owners: owners, hub: newHub(), readers: readers,
		closing: closing, ends: map[events.ThreadKey]end{},
	}
	log.committer = &committer{
		path: path, conn: writer, owners: owners, hub: log.hub, lockWait: defaultLockWait,
		threads: map[events.ThreadKey]*threadState{},
	}
	log.committer.idle.L = &log.committer.mu
	log.watching.Go(func() { log.committer.watch(closing) })
	return log, nil
}

type closer func() error

func (c closer) Close() error { return c() }
