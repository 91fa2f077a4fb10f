package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
)

// maxListed bounds the files that a walk meets, so that a home directory given by mistake
// ends.
const maxListed = 50_000

type listFilesArgs struct {
	Path   string `json:"path,omitempty" jsonschema:"The folder to list, with all below it. Defaults to everything that may be read."`
	Match  string `json:"match,omitempty" jsonschema:"Only files whose name, without its folders, matches, such as *.md."`
	Offset int64  `json:"offset,omitempty" jsonschema:"Where to begin: the offset that the previous part names. Defaults to 0."`
}

// listFiles lists the files below a folder.
func listFiles(within *folders, most int) agent.Tool {
	return agent.Func(llm.Tool{
		Name:        team.ToolListFiles,
		Description: "Lists the files that you can read, with their sizes in bytes, in alphabetical order, below all folders or one of them.",
	}, events.EffectPure, func(ctx context.Context, in agent.Invocation, args listFilesArgs) (agent.Result, error) {
		if _, err := path.Match(args.Match, ""); err != nil {
			return agent.Result{}, fmt.Errorf("%q is no pattern: write one such as *.md", args.Match)
		}
		var b strings.Builder
		within, err := within.of(&in)
		if err != nil {
			return agent.Result{}, err
		}
		err = within.walk(ctx, args.Path, args.Match, func(found foundFile) error {
			in.Progress()
			fmt.Fprintf(&b, "%s (%d)\n", found.name, found.info.Size())
			return nil
		})
		if b.Len() == 0 && err == nil {
			return agent.Result{Text: "No file matches."}, nil
		}
		if err != nil && !errors.Is(err, errTooMany) {
			return agent.Result{}, err
		}
		if err != nil {
			fmt.Fprintf(&b, "[%v]\n", err)
		}
		text, next, err := part(b.String(), args.Offset, most)
		return agent.Result{Text: text + readOn(args.Offset, next, int64(b.Len()))}, err
	})
}

// foundFile is a regular file that a walk met.
type foundFile struct {
	root *os.Root
	rest string
	// name is what the model calls it.
	name string
	info fs.FileInfo
}

var errTooMany = fmt.Errorf("there are more than %d files: name a folder", maxListed)

// walk visits the regular files below a folder, or below all where name is "", in alphabetical
// order. It enters no link to a folder.
func (f *folders) walk(ctx context.Context, name, match string, visit func(foundFile) error) error {
	if name == "" && len(f.roots) > 1 {
		for _, one := range f.names {
			if err := f.walk(ctx, one, match, visit); err != nil {
				return err
			}
		}
		return nil
	}
	root, rest, err := f.open(name)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if info, err := root.Stat(rest); err != nil {
		return told(name, err)
	} else if !info.IsDir() {
		return fmt.Errorf("%s is no folder", name)
	}
	prefix := ""
	if len(f.roots) > 1 {
		prefix, _, _ = strings.Cut(path.Clean(name), "/")
	}
	met := 0
	return fs.WalkDir(root.FS(), rest, func(at string, entry fs.DirEntry, err error) error {
		if met++; met > maxListed {
			return errTooMany
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || entry.IsDir() {
			return skipUnreadable(entry, err)
		}
		if ok, _ := path.Match(match, path.Base(at)); match != "" && !ok {
			return nil
		}
		info, err := root.Stat(at) // of what a link leads to, if it stays within
		if err != nil || !info.Mode().IsRegular() {
			return nil //nolint:nilerr // a file that nobody can read is none
		}
		return visit(foundFile{root, at, path.Join(prefix, at), info})
	})
}

// skipUnreadable passes over a folder that may not be read.
func skipUnreadable(entry fs.DirEntry, err error) error {
	if err != nil && entry != nil && entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}
