package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/artifact"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

const (
	// maxRowFiles bounds the files of a row: what stands in one request.
	maxRowFiles = 100
	// maxExtracting bounds the files that are read at once: a large PDF may take half a
	// gigabyte of memory while its text is read.
	maxExtracting = 4
)

// openRoot makes the root of files one that means the same in every folder, and leads
// nowhere else.
func (b *Batch) openRoot() error {
	if b.config.FilesRoot == "" {
		return nil
	}
	root, err := FilesRoot(b.config.FilesRoot)
	b.config.FilesRoot, b.extracting = root, make(chan struct{}, maxExtracting)
	return err
}

// FilesRoot makes the root of files, as a person names it, absolute and free of links: what
// [Config] and [runner.Terms] of a row that is resumed alone have.
func FilesRoot(named string) (string, error) {
	root, err := filepath.Abs(named)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err == nil {
		err = agent.Folder{Root: root, Path: "."}.Check()
	}
	if err != nil {
		return "", fmt.Errorf("the root of files, %s, cannot be read: %w", named, withoutPath(err))
	}
	return root, nil
}

// anyFolder is a folder for a row that is only looked at.
func (b *Batch) anyFolder() string {
	if b.config.FilesRoot != "" {
		return "."
	}
	return ""
}

// checkFiles finds what keeps a row's files and folder from being read, without reading them.
func (b *Batch) checkFiles(row *Row, t *team.Team) error {
	switch {
	case len(row.Files) == 0 && row.Folder == "":
		if t.ReadsOwnFolder() && !b.config.Solo {
			return row.bad(KindInvalidRow, fmt.Sprintf(`team %s reads the files of each row's own folder, and this row names none: give it a "folder" below --files-root, or list folders under tools.files.roots of the team`, t.Name))
		}
		return nil
	case b.config.FilesRoot == "":
		return row.bad(KindInvalidRow, "the row names files or a folder, but not the folder that they are in: set it with --files-root DIR")
	case len(row.Files) > maxRowFiles:
		return row.bad(KindInvalidRow, fmt.Sprintf("the row has %d files; at most %d are allowed. Give it a folder, and the team tools to read it", len(row.Files), maxRowFiles))
	}
	if row.Folder != "" {
		if err := b.within(row.Folder).Check(); err != nil {
			return row.bad(KindInvalidRow, err.Error())
		}
	}
	return b.eachFile(row, func(root *os.Root, name string) error {
		info, err := root.Stat(filepath.FromSlash(name))
		if err != nil {
			return err
		}
		return attachable(info)
	})
}

// within is a folder below the root of files.
func (b *Batch) within(path string) agent.Folder {
	return agent.Folder{Root: b.config.FilesRoot, Path: path}
}

// eachFile visits the files of a row, until one cannot be had.
func (b *Batch) eachFile(row *Row, visit func(root *os.Root, name string) error) error {
	if len(row.Files) == 0 {
		return nil
	}
	root, err := b.within(".").Open()
	if err != nil {
		return row.bad(KindInvalidRow, err.Error())
	}
	defer func() { _ = root.Close() }()
	for _, name := range row.Files {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return row.bad(KindInvalidRow, fmt.Sprintf("the file %q leads out of the root of files: give a path within it", name))
		}
		if err := visit(root, name); err != nil {
			return row.bad(KindInvalidRow, fmt.Sprintf("the file %q cannot be read: %v", name, withoutPath(err)))
		}
	}
	return nil
}

// attachable refuses what is no file, unopened: to open a pipe or a device may do something.
func attachable(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errors.New("it is a folder")
	case !info.Mode().IsRegular():
		return errors.New("it is no regular file")
	case info.Size() > events.MaxArtifactBytes:
		return events.ErrArtifactSize
	}
	return nil
}

// attach reads the files of a row: the job has them, and its request what a model can read of
// them.
func (b *Batch) attach(ctx context.Context, row *Row, job *runner.Job) error {
	select {
	case b.extracting <- struct{}{}:
		defer func() { <-b.extracting }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return b.eachFile(row, func(root *os.Root, name string) error {
		data, err := contents(root, name)
		if err != nil {
			return err
		}
		file := agent.File{Name: name, Data: data}
		if b.config.Extract != nil {
			file = b.config.Extract(ctx, name, data)
		}
		section, err := artifact.Section(&file)
		job.Files, job.Request = append(job.Files, file), job.Request+section
		return err
	})
}

func contents(root *os.Root, name string) ([]byte, error) {
	info, err := root.Stat(filepath.FromSlash(name))
	if err == nil {
		err = attachable(info)
	}
	if err != nil {
		return nil, err
	}
	file, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, events.MaxArtifactBytes+1))
	if err == nil && len(data) > events.MaxArtifactBytes {
		err = events.ErrArtifactSize // it has grown
	}
	return data, err
}

// withoutPath is an error of a file without its path, which the message has.
func withoutPath(err error) error {
	if failed := new(fs.PathError); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
