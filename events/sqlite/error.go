package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	sqlite3 "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/convene-run/convene/events"
)

// Errors of a store that callers branch on. What wraps them says which file and
// what to do.
var (
	ErrNewerSchema = errors.New("the file was written by a newer version of convene")
	ErrNotOurs     = errors.New("the file is not a convene database")
	ErrDamaged     = errors.New("the file is damaged")
	ErrNetwork     = errors.New("the file is on a network filesystem")
	ErrReadOnly    = errors.New("the file cannot be written")
	ErrFull        = errors.New("the disk is full")
	ErrLocked      = events.ErrLocked
	ErrLinked      = errors.New("the file has hard links, and SQLite keeps its newest content next to only one of them")
)

// nextSteps are what a person can do about each.
var nextSteps = map[error]string{
	ErrNewerSchema: "update convene, or use another file with --store",
	ErrNotOurs:     "it was left as it is; use another file with --store",
	ErrDamaged:     "it was left as it is; restore a copy, or use another file with --store",
	ErrNetwork:     "locks do not work there; use a local file with --store",
	ErrReadOnly:    "allow writing to the file and its directory, or use another file with --store",
	ErrFull:        "free some space, then resume",
	ErrLocked:      "wait for it or end it, then try again",
	// An event is damaged, the file otherwise well.
	events.ErrDamaged: "everything else can be read; `convene store check` lists what is damaged",
	ErrLinked:         "remove the other names, or make a copy and name it with --store",
}

// storeError says of which file err is and what to do about it, as an [*events.StoreError].
func storeError(verb, path string, err error) error {
	if err == nil {
		return nil
	}
	kind := classify(err)
	failed := &events.StoreError{Kind: kind}
	switch {
	case kind == nil:
		failed.Err = fmt.Errorf("%s store %s: %w", verb, path, err)
	case errors.Is(err, kind):
		failed.Err = fmt.Errorf("%s store %s: %w: %s", verb, path, err, nextSteps[kind])
	default:
		failed.Err = fmt.Errorf("%s store %s: %w: %s (%w)", verb, path, kind, nextSteps[kind], err)
	}
	return failed
}

// classify finds the error of the list above that err amounts to; nil if none.
func classify(err error) error {
	for kind := range nextSteps {
		if errors.Is(err, kind) {
			return kind
		}
	}
	var failure *sqlite3.Error
	if errors.As(err, &failure) {
		switch failure.Code() & 0xff {
		case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_PROTOCOL:
			return ErrLocked
		case codes.SQLITE_READONLY, codes.SQLITE_PERM:
			return ErrReadOnly
		case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
			return ErrDamaged
		case codes.SQLITE_FULL:
			return ErrFull
		}
		return nil
	}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return ErrFull
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ErrReadOnly
	}
	return nil
}

func isBusy(err error) bool {
	var failure *sqlite3.Error
	return errors.As(err, &failure) && failure.Code()&0xff == codes.SQLITE_BUSY
}

// isCorrupt reports whether SQLite met a page that it cannot make sense of.
func isCorrupt(err error) bool {
	var failure *sqlite3.Error
	return errors.As(err, &failure) && failure.Code()&0xff == codes.SQLITE_CORRUPT
}
