package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Folder is a run's own folder, whose files its tools read in place of the team's.
type Folder struct {
	// Root is the folder that whoever drives the run allows to be read. "" where this process
	// was not given one: Path cannot be read then.
	Root string
	// Path is the folder below Root, "." for Root itself; "" where the run has none of its own.
	Path string
}

// Open opens the folder. No link, not even one made meanwhile, leads out of Root, nor out of
// the folder that was opened. The error names no path of this machine. The caller closes it.
func (f Folder) Open() (*os.Root, error) {
	switch {
	case f.Root == "":
		return nil, fmt.Errorf("the folder %q lies below the root that its batch was given (--files-root), which is not known here; continue the batch with its own command", f.Path)
	case !filepath.IsLocal(filepath.FromSlash(f.Path)):
		return nil, fmt.Errorf("the folder %q leads out of the root of files: give a path within it", f.Path)
	}
	root, err := os.OpenRoot(f.Root)
	if err != nil {
		return nil, fmt.Errorf("the root of files cannot be read: %w", withoutPath(err))
	}
	defer func() { _ = root.Close() }()
	within, err := root.OpenRoot(filepath.FromSlash(f.Path))
	if err != nil {
		return nil, fmt.Errorf("the folder %q cannot be read: %w", f.Path, withoutPath(err))
	}
	return within, nil
}

// Check finds what keeps the folder from being opened.
func (f Folder) Check() error {
	root, err := f.Open()
	if err != nil {
		return err
	}
	return root.Close()
}

// withoutPath is an error of a file without its path.
func withoutPath(err error) error {
	if failed := new(fs.PathError); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
