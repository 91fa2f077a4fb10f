package sqlite

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

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
	real, err := realPath(path)
	if err != nil {
		return nil, storeError("open", path, err)
	}
	log, err := open(ctx, real)
	if err != nil {
		return nil, storeError("open", path, err)
	}
	return log, nil
}

// maxLinks bounds the symbolic links that are followed one after the other, as systems do.
const maxLinks = 40

// realPath follows symbolic links, to a file that is not there yet too: what lies beside
// the file is shared by all who open it, whatever they call it.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for range maxLinks {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
			abs = filepath.Join(dir, filepath.Base(abs))
		}
		target := linked(abs)
		if target == "" {
			return abs, nil
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(abs), target)
		}
		abs = target
	}
	return "", fmt.Errorf("more than %d symbolic links", maxLinks)
}

// linked gives what a symbolic link points to, "" for anything else.
func linked(path string) string {
	target, _ := os.Readlink(path)
	return target
}

// opened counts the logs of this process by their files. Who closes a file takes away all
// locks that the process has on it, also those that SQLite holds for another log: so the
// file itself is only looked at where no log has it open.
var opened = struct {
	// mu guards paths, and is held while a log is opened.
	mu    sync.Mutex
	paths map[string]int
}{paths: map[string]int{}}

func open(ctx context.Context, path string) (*Log, error) {
	opened.mu.Lock()
	defer opened.mu.Unlock()
	log, err := openFile(ctx, path, opened.paths[path] > 0)
	if err == nil {
		opened.paths[path]++
	}
	return log, err
}

// forgetOpened is called when a log of this process has been closed.
func forgetOpened(path string) {
	opened.mu.Lock()
	defer opened.mu.Unlock()
	if opened.paths[path]--; opened.paths[path] <= 0 {
		delete(opened.paths, path)
	}
}

// openFile opens the file; known says that a log of this process has it open.
func openFile(ctx context.Context, path string, known bool) (*Log, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if name := networkFilesystem(filepath.Dir(path)); name != "" {
		return nil, fmt.Errorf("%s: %w", name, ErrNetwork)
	}
	// Looked at before anything is written beside it.
	if !known {
		if err := checkHeader(path); err != nil {
			return nil, err
		}
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
	if !known {
		if err := create(path); err != nil {
			return nil, err
		}
	}
	// The connection goes on as the writer: the last one to be closed would take the write-ahead
	// log along, only for the next to make it anew.
	writer, missing, old, err := prepareFile(ctx, path, dir)
	if err == nil && len(missing) > 0 {
		writer, err = settleAlone(writer, path, missing)
	}
	if err != nil {
		return nil, err
	}
	owners, err := openOwners(dir)
	if err != nil {
		return nil, errors.Join(err, writer.close())
	}
	log, err := start(writer, dsn(path, "mode=rw"), path, owners)
	if err != nil {
		return nil, errors.Join(err, owners.close(false))
	}
	if old {
		log.watching.Go(log.repack)
	}
	return log, nil
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
	if n := linkCount(info); n > 1 {
		return fmt.Errorf("it has %d names: %w", n, ErrLinked)
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

// settleAlone takes claims back while no connection has the file open, so it closes the one
// that there is and gives another.
func settleAlone(c *conn, path string, missing []string) (*conn, error) {
	err := errors.Join(c.close(), ignoreBusy(takeBackAlone(path, missing)))
	if err != nil {
		return nil, err
	}
	return openConn(path)
}

// start opens the readers' connections and starts to watch for other processes. The writer's
// is the log's from then on; it is closed if that fails.
func start(writer *conn, dsn, path string, owners *owners) (log *Log, err error) {
	opened := []*conn{writer}
	defer func() {
		if err != nil {
			for _, c := range opened {
				err = errors.Join(err, c.close())
			}
		}
	}()
	// The writer waits for locks itself: see lockRetry.
	for _, pragma := range []string{"synchronous = FULL", "busy_timeout = 0"} {
		if err := writer.exec("PRAGMA " + pragma); err != nil {
			return nil, err
		}
	}
	readers := make(chan *conn, maxReaders)
	for range maxReaders {
		reader, err := connect(dsn, "query_only = TRUE", "busy_timeout = 5000")
		if err != nil {
			return nil, err
		}
		opened = append(opened, reader)
		readers <- reader
	}
	closing := make(chan struct{})
	log = &Log{
		path: path, owners: owners, hub: newHub(), readers: readers,
		closing: closing, packing: make(chan packing), ends: map[events.ThreadKey]end{},
	}
	log.committer = &committer{
		path: path, conn: writer, owners: owners, hub: log.hub, lockWait: defaultLockWait,
		threads: map[events.ThreadKey]*threadState{}, parts: map[[sha256.Size]byte]int64{},
		full: make(chan struct{}, 1),
	}
	log.committer.idle.L = &log.committer.mu
	log.watching.Go(func() { log.committer.watch(closing) })
	for range runtime.GOMAXPROCS(0) { // compressing takes the processor, and nothing else
		log.watching.Go(log.packAll)
	}
	return log, nil
}
