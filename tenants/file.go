package tenants

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
)

// File is a file of tenants. It is safe for concurrent use.
type File struct {
	path string

	mu      sync.Mutex // guards what follows
	seen    fs.FileInfo
	failed  bool // to look at the file, the last time
	content content
}

// Open reads a file. The error tells everything that is wrong with it, with line and column.
func Open(path string) (*File, error) {
	f := &File{path: path}
	_, err := f.look()
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Of gives what holds for a tenant, by the newest content that had no mistake.
func (f *File) Of(tenant events.TenantID) Limits {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.content.of(tenant.OrLocal())
}

// Names are the tenants that the file names, sorted.
func (f *File) Names() []events.TenantID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.content.Tenants))
}

// lookEvery is how soon a change of the file counts.
const lookEvery = time.Second

// Follow looks at the file until ctx ends. What was changed counts from then on, and changed
// is called: with nil, or with what is wrong, in which case what held before still does.
func (f *File) Follow(ctx context.Context, changed func(error)) {
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if news, err := f.look(); news {
			changed(err)
		}
	}
}

// look reads the file again if it has changed, and reports whether there is something new to
// say. What is wrong is told once.
func (f *File) look() (news bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err != nil {
		news, f.failed, f.seen = !f.failed, true, nil
		return news, fmt.Errorf("the file of tenants cannot be read: %w", err)
	}
	if f.seen != nil && os.SameFile(info, f.seen) && info.ModTime().Equal(f.seen.ModTime()) && info.Size() == f.seen.Size() && info.Mode() == f.seen.Mode() {
		return false, nil
	}
	f.seen, f.failed = info, false
	src, err := read(f.path)
	if err != nil {
		return true, fmt.Errorf("the file of tenants cannot be read: %w", err)
	}
	if len(bytes.TrimSpace(src)) == 0 { // as for a moment while an editor writes it
		return true, fmt.Errorf("%s is empty: write default: {} for no bounds", f.path)
	}
	c, err := parse(f.path, src)
	if err != nil {
		return true, err
	}
	f.content = c
	return true, nil
}

func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	// One byte more than allowed, so that whoever parses it sees that it is too large.
	return io.ReadAll(io.LimitReader(file, team.MaxFileBytes+1))
}
