package batch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/convene-run/convene/batch/internal/files"
	"github.com/convene-run/convene/events"
)

// ChangedError says that an output belongs to another configuration or input.
type ChangedError struct {
	Output string
	// Differences are "path: before → now".
	Differences []string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s was created with other settings; nothing was started. Restore them, choose another output, or start over with --fresh:\n  %s",
		e.Output, strings.Join(e.Differences, "\n  "))
}

// StoreOf names the store that an earlier call of the batch into this output used; ""
// where there was none, or nobody said.
func StoreOf(output string) (string, error) {
	path, err := files.Resolved(output)
	if err != nil {
		return "", fmt.Errorf("write to %s: %w", output, err)
	}
	before, err := files.ReadManifest(path + files.DirSuffix)
	if before == nil {
		return "", err
	}
	return before.Store, nil
}

// StoreError says that a batch was begun in another store.
type StoreError struct{ Output, Begun, Now string }

func (e *StoreError) Error() string {
	return fmt.Sprintf("%s was created with the store %s, and %s has none of its runs; nothing was started. Use that store, or start over with --fresh",
		e.Output, e.Begun, e.Now)
}

// sameStore refuses a store that does not know the batch, unless it is the one that it
// was begun in: a store may have been moved, and a batch may have ended before its first
// event.
func (f *FileBatch) sameStore(ctx context.Context) error {
	m := f.manifest
	if m == nil || m.Store == "" || f.config.Store == "" || m.Store == f.config.Store {
		return nil
	}
	_, err := f.config.Runner.Log().FindBatch(ctx, f.config.Tenant, m.ID)
	if errors.Is(err, events.ErrNotFound) {
		return &StoreError{Output: f.files.Output, Begun: m.Store, Now: f.config.Store}
	}
	return err
}

// DuplicateError says that rows have the same id. Nothing was started.
type DuplicateError struct {
	// Pairs are the indices of the first such rows, at most ten pairs; Count is how
	// many rows have an id that an earlier row has.
	Pairs [][2]int
	Count int

	text string
}

func (e *DuplicateError) Error() string { return e.text }

// duplicate gives the error of equal ids as that of this package. Others pass.
func duplicate(err error) error {
	var found *files.DuplicateError
	if errors.As(err, &found) {
		return &DuplicateError{Pairs: found.Pairs, Count: found.Count, text: found.Error()}
	}
	return err
}
