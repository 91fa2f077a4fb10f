package team

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// FilesTool sets the tools that read files.
type FilesTool struct {
	// Roots are the folders that may be read, with all that is below them. [Load] makes them
	// absolute, without links; a team that comes from elsewhere gives them so. A row of a batch
	// that has a folder of its own reads that in their place; none is a team for such rows alone.
	Roots []string `json:"roots,omitempty" jsonschema:"Folders that may be read, with all that is below them. A relative path begins at the folder of the team file. A row of a batch that names a folder of its own reads that instead; without roots ({}), nothing else is read."`
}

// ReadsOwnFolder reports whether the team's tools read files only of the folder that a run has
// of its own.
func (t *Team) ReadsOwnFolder() bool {
	return t.Tools != nil && t.Tools.Files != nil && len(t.Tools.Files.Roots) == 0
}

// maxRoots bounds the folders of a team: the model reads a list of them.
const maxRoots = 20

func (f *FilesTool) check(found *problems) {
	if len(f.Roots) > maxRoots {
		found.add("tools.files.roots", "%d folders, %d is the most; name one that holds several of them", len(f.Roots), maxRoots)
	}
	names := map[string]string{}
	for i, root := range f.Roots {
		at := fmt.Sprintf("tools.files.roots[%d]", i)
		name := filepath.Base(root)
		switch other, twice := names[name]; {
		case strings.TrimSpace(root) == "":
			found.add(at, "an empty path; write \".\" for the folder of the team file")
		case twice:
			found.add(at, "the folders %s and %s have the same name, by which agents know them apart; name a folder that holds both", clip(other), clip(root))
		}
		names[name] = root
		checkText(at, root, found)
	}
}

// locate makes the paths of a team file absolute, and finds those that lead nowhere. A path is
// what a link leads to: whoever is asked for consent sees where it is.
func (t *Team) locate() error {
	var found problems
	folder := filepath.Dir(t.file)
	if t.Tools != nil && t.Tools.Files != nil {
		t.Tools.Files.locate(folder, &found)
	}
	if t.Tools != nil && t.Tools.QuerySQL != nil {
		t.Tools.QuerySQL.locate(folder, &found)
	}
	return found.err(t.file, t.places)
}

func (f *FilesTool) locate(folder string, found *problems) {
	for i, root := range f.Roots {
		if !filepath.IsAbs(root) {
			root = filepath.Join(folder, root)
		}
		place, err := realFolder(root)
		if err != nil {
			found.add(fmt.Sprintf("tools.files.roots[%d]", i), "%s cannot be read: %v; create the folder, or name another", clip(root), err)
			continue
		}
		f.Roots[i] = place
	}
	if len(*found) == 0 {
		f.check(found) // names that only the file system tells
	}
}

func realFolder(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", plainly(err)
	}
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = errors.New("it is no folder")
	}
	return path, plainly(err)
}

// plainly is an error of a file without its path, which the message has.
func plainly(err error) error {
	if failed := new(fs.PathError); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
