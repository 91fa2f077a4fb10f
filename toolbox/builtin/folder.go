package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/convene-run/convene/agent"
)

// maxFileBytes bounds a file that is read or searched: text of this size is a mistake, or a
// dump that a query should answer.
const maxFileBytes = 64 << 20

// folders are the roots that may be read. What is named below them is opened by [os.Root],
// which no link and no "..", not even one made meanwhile, leads out of.
type folders struct {
	roots []string
	names []string // what the model calls them: "" where there is one
	// own takes the place of the roots, if it has a path.
	own agent.Folder
}

// of gives the folders that a call reads: those of the team, or its run's own.
func (f *folders) of(in *agent.Invocation) (*folders, error) {
	switch {
	case in.Folder.Path != "":
		return &folders{roots: []string{""}, names: []string{""}, own: in.Folder}, nil
	case len(f.roots) == 0:
		return nil, errors.New("this run has no folder of its own to read, and the team names none")
	}
	return f, nil
}

func newFolders(roots []string) (*folders, error) {
	f := &folders{roots: slices.Clone(roots)}
	for _, root := range roots {
		if err := checkRoot(root); err != nil {
			return nil, err
		}
		name := filepath.Base(root)
		if len(roots) == 1 {
			name = ""
		}
		f.names = append(f.names, name)
	}
	return f, nil
}

// checkRoot refuses a root that is not the folder it was when somebody consented: one that is
// not absolute is another in each directory, and one with a link leads where the link does.
func checkRoot(root string) error {
	if !filepath.IsAbs(root) {
		return fmt.Errorf("tools.files.roots: %q is not absolute, and the team is from no file that it could begin at: name the whole path", root)
	}
	place, err := filepath.EvalSymlinks(root)
	if err != nil {
		return fmt.Errorf("tools.files.roots: %s cannot be read: %w; create the folder, or name another", root, withoutPath(err))
	}
	if place != root {
		return fmt.Errorf("tools.files.roots: %s is a link, or lies behind one, and leads to %s: name that", root, place)
	}
	info, err := os.Stat(root)
	if err != nil || !info.IsDir() {
		return fmt.Errorf("tools.files.roots: %s is no folder", root)
	}
	return nil
}

// open opens the root that a name begins with, and gives the rest of the name. "." is the
// root itself.
func (f *folders) open(name string) (root *os.Root, rest string, err error) {
	if strings.ContainsRune(name, 0) {
		return nil, "", fmt.Errorf("%q is no path", name)
	}
	rest, at := path.Clean(strings.ReplaceAll(name, `\`, "/")), 0
	if len(f.roots) > 1 {
		first, behind, _ := strings.Cut(rest, "/")
		if at = slices.Index(f.names, first); at < 0 {
			return nil, "", fmt.Errorf("%q is in none of the folders, which are %s: begin the path with one of them", name, strings.Join(f.names, ", "))
		}
		rest = behind
		if rest == "" {
			rest = "."
		}
	}
	if !filepath.IsLocal(filepath.FromSlash(rest)) {
		return nil, "", fmt.Errorf("%q leads out of the folder that may be read: give a path within it, as list_files does", name)
	}
	if f.own.Path != "" {
		root, err = f.own.Open()
		return root, rest, err
	}
	if err := checkRoot(f.roots[at]); err != nil {
		return nil, "", err
	}
	root, err = os.OpenRoot(f.roots[at])
	return root, rest, withoutPath(err)
}

// file opens a regular file for reading. Devices, pipes and sockets are not opened at all:
// that alone may do something.
func (f *folders) file(name string) (*os.File, fs.FileInfo, error) {
	root, rest, err := f.open(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = root.Close() }()
	return openRegular(root, rest, name)
}

func openRegular(root *os.Root, rest, name string) (*os.File, fs.FileInfo, error) {
	local := filepath.FromSlash(rest)
	info, err := root.Stat(local)
	if err == nil {
		err = readable(name, info)
	}
	if err != nil {
		return nil, nil, told(name, err)
	}
	file, err := root.OpenFile(local, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, nil, told(name, err)
	}
	if info, err = file.Stat(); err == nil {
		err = readable(name, info) // it may be another by now
	}
	if err != nil {
		file.Close()
		return nil, nil, told(name, err)
	}
	return file, info, nil
}

// errUnreadable marks what is said already.
type errUnreadable struct{ message string }

func (e errUnreadable) Error() string { return e.message }

func readable(name string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errUnreadable{fmt.Sprintf("%s is a folder: list_files shows what is in it", name)}
	case !info.Mode().IsRegular():
		return errUnreadable{fmt.Sprintf("%s is no regular file", name)}
	case info.Size() > maxFileBytes:
		return errUnreadable{fmt.Sprintf("%s has %d MB, at most %d MB are read", name, info.Size()>>20, maxFileBytes>>20)}
	}
	return nil
}

// told says what a model can do about an error, without paths of this machine.
func told(name string, err error) error {
	switch {
	case errors.As(err, new(errUnreadable)):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no %s: list_files shows what there is", name)
	}
	return fmt.Errorf("%s: %w", name, withoutPath(err))
}

func withoutPath(err error) error {
	if failed := new(fs.PathError); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
