package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/convene-run/convene/batch/internal/files"
	"github.com/convene-run/convene/events"
)

// Files says where the rows of a batch come from and where the outputs go.
type Files struct {
	// Input is a file, or "-" for Stdin.
	Input string
	// Format defaults to what the file's name, or else its first byte, says.
	Format Format
	// Output is a file, or "-" for Stdout. Only a batch into a file can be resumed.
	Output string
	// Stdin and Stdout default to the process's own.
	Stdin  io.Reader
	Stdout io.Writer

	// Unordered writes outputs as rows end. The default is the order of the rows.
	Unordered bool
	// Limit takes the first rows alone, Sample as many spread over all; 0 takes all.
	Limit, Sample int
	// Strict refuses the batch, before the first call, if any row is bad.
	Strict bool
	// RetryFailed runs the rows again that failed, RetryDegraded those that are degraded:
	// each goes on from what the log has of it. Rows that are bad themselves stay as they
	// are.
	RetryFailed, RetryDegraded bool
	// Fresh starts over: what an earlier call of the batch wrote is removed.
	Fresh bool
}

// FileBatch is a batch from files to files. Run may be called once; Close must be.
type FileBatch struct {
	*Batch
	files Files
	in    *files.Input
	// output is the file that files.Output leads to.
	output string
	// dir holds the manifest and what the batch keeps on disk. It is locked.
	dir      string
	manifest *files.Manifest
	// replaced is the journal of the batch whose output is removed to start over, nil
	// where that is not known any more.
	replaced *journal
	// resumed is set where an earlier call left outputs or runs.
	resumed   bool
	selection files.Selection
	survey    *files.Survey
	done      *files.Done
	lines     lines
	// sync makes the output durable.
	sync    func() error
	closers []func() error
}

// ErrNotOurs is for an output file that no batch wrote.
var ErrNotOurs = errors.New("the file exists and is not the output of a batch: move it away, or choose another")

// Open makes a batch ready, or finds out how far an earlier call of it came. All
// that can be wrong with configuration, input and output shows here, before the
// first model call: duplicate ids are a [*DuplicateError], another configuration
// than before a [*ChangedError], another store a [*StoreError], a batch that runs
// already an [*events.HeldError]. Where there is an error nothing was changed.
func Open(ctx context.Context, between Files, config Config) (_ *FileBatch, err error) {
	if between.Limit < 0 || between.Sample < 0 {
		return nil, errors.New("limit and sample are numbers of rows and cannot be negative")
	}
	if config.Runner == nil {
		return nil, errIncomplete
	}
	f := &FileBatch{files: between}
	opened := false
	defer func() {
		if !opened {
			err = errors.Join(err, f.Close())
		}
	}()
	if err := f.openDir(config.Runner.Owner(), &opened); err != nil {
		return nil, err
	}
	before, err := files.ReadManifest(f.dir)
	if err != nil && !between.Fresh {
		return nil, err
	}
	config.Identity, config.Resumed = NewIdentity(), before != nil && !between.Fresh
	if config.Resumed {
		f.manifest, config.Identity = before, identityOf(before)
	}
	if f.Batch, err = New(config); err != nil {
		return nil, err
	}
	if err := f.sameStore(ctx); err != nil {
		return nil, err
	}
	if err := f.lock(ctx, before); err != nil {
		return nil, err
	}
	if err := f.prepare(ctx); err != nil {
		return nil, err
	}
	opened = true
	return f, nil
}

// ToStdout reports whether the outputs go to standard output, so that the batch
// cannot be resumed.
func (f *FileBatch) ToStdout() bool { return f.files.Output == files.Stdio }

// InputFile is the file that the rows come from; for standard input the copy that the
// batch keeps.
func (f *FileBatch) InputFile() string { return f.in.Path }

// openDir finds the output and the directory beside it, and keeps other processes from
// both until Close. While *opened is not set, Close removes the directory if it is new.
func (f *FileBatch) openDir(owner events.Owner, opened *bool) (err error) {
	if f.ToStdout() {
		if len(f.files.retries()) > 0 || f.files.Fresh {
			return errors.New("only a batch with an output file can be resumed: set one with -o")
		}
		if f.dir, err = os.MkdirTemp("", "convene-batch-*"); err == nil {
			f.closers = append(f.closers, func() error { return os.RemoveAll(f.dir) })
		}
		return err
	}
	if f.output, err = files.Resolved(f.files.Output); err != nil {
		return fmt.Errorf("write to %s: %w", f.files.Output, err)
	}
	f.dir = f.output + files.DirSuffix
	if err := f.checkOutput(); err != nil {
		return err
	}
	dir, err := files.OpenDir(f.dir, owner)
	if err != nil {
		return f.underWay(err)
	}
	f.closers = append(f.closers, func() error { return dir.Close(!*opened) })
	return files.Sweep(f.dir)
}

// checkOutput refuses an output that no batch wrote.
func (f *FileBatch) checkOutput() error {
	info, err := os.Stat(f.output)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	switch {
	case err != nil:
		return fmt.Errorf("write to %s: %w", f.files.Output, err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("write to %s: it is a %s, not a file", f.files.Output, info.Mode().Type())
	}
	_, err = os.Stat(filepath.Join(f.dir, files.ManifestName))
	if err != nil && info.Size() > 0 {
		return fmt.Errorf("write to %s: %w", f.files.Output, ErrNotOurs)
	}
	return nil
}

// underWay puts into words that somebody else has the batch. Other errors pass.
func (f *FileBatch) underWay(err error) error {
	if errors.Is(err, events.ErrHeld) {
		return fmt.Errorf("the batch writing to %s is already running: %w", f.files.Output, err)
	}
	return err
}

// lock claims the thread of the batch until Close, and that of the one that is removed
// to start over.
func (f *FileBatch) lock(ctx context.Context, before *files.Manifest) error {
	err := f.claim(ctx)
	f.closers = append(f.closers, func() error { f.release(); return nil })
	if err == nil && f.files.Fresh && before != nil {
		old, r := identityOf(before).key(f.config.Tenant), f.config.Runner
		var epoch events.Epoch
		if epoch, err = r.Claim(ctx, old); err == nil {
			f.replaced = &journal{batch: f.Batch, key: old, epoch: epoch}
			f.closers = append(f.closers, func() error { r.Release(old, epoch); return nil })
		}
	}
	return f.underWay(err)
}

// prepare reads the input once, compares it with what was before, and finds out
// which rows are done.
func (f *FileBatch) prepare(ctx context.Context) (err error) {
	if f.in, err = files.OpenInput(f.files.Input, f.files.Format, f.files.Stdin, f.dir); err != nil {
		return err
	}
	mark := -1
	if f.manifest != nil {
		mark = f.manifest.Input.Rows
	}
	var check func(files.Row) error
	if f.files.Strict {
		check = f.check
	}
	found, err := f.in.Survey(f.dir, mark, check)
	if err != nil {
		return duplicate(err)
	}
	f.survey = found
	f.closers = append(f.closers, found.Close)
	if f.files.Strict && found.FirstBad != nil {
		return fmt.Errorf("bad rows in %s: %d, and --strict refuses them; nothing was started. The first is %w", f.in.Name, found.Bad, found.FirstBad)
	}
	f.selection = files.Selection{Limit: f.files.Limit, Sample: f.files.Sample, Total: found.Rows, Seed: found.Digest}
	f.config.Total = f.selection.Size()
	f.config.Input, f.config.Output = f.in.Name, f.files.Output
	if err := f.agree(found); err != nil {
		return err
	}
	if f.ToStdout() {
		return f.openStdout()
	}
	if err := f.settle(ctx); err != nil {
		return err
	}
	if err := f.openOutput(); err != nil {
		return err
	}
	return f.account(ctx)
}

// check finds what makes a row bad beyond its form.
func (f *FileBatch) check(read files.Row) error {
	row := rowOf(&read)
	job, err := f.job(&row)
	if err != nil {
		return err
	}
	if _, err := f.config.Runner.Check(job); err != nil {
		return row.refused(err)
	}
	return nil
}

// agree compares settings and input with the manifest, and brings it up to now.
func (f *FileBatch) agree(found *files.Survey) error {
	now, err := f.settings()
	if err != nil {
		return err
	}
	if f.manifest == nil {
		f.manifest = files.NewManifest(f.config.Identity.ID, f.config.Identity.Created)
	} else {
		differences, err := files.Differences(f.manifest.Settings, now)
		if err != nil {
			return err
		}
		before := f.manifest.Input
		if found.Marked != before.Digest {
			differences = append(differences, fmt.Sprintf("input: %s had %d rows; of %s the first %d are not the same rows",
				before.Name, before.Rows, f.in.Name, min(before.Rows, found.Rows)))
		} else if f.files.Sample > 0 && found.Rows != before.Rows {
			differences = append(differences, fmt.Sprintf("input: %d rows → %d rows, of which --sample would take others", before.Rows, found.Rows))
		}
		if len(differences) > 0 {
			return &ChangedError{Output: f.files.Output, Differences: differences}
		}
		f.resumed = true
	}
	f.manifest.Settings, f.manifest.Store = now, f.config.Store
	f.manifest.Input = files.Seen{Name: f.in.Name, Rows: found.Rows, Digest: found.Digest}
	f.manifest.Fingerprint, err = now.Fingerprint()
	return err
}

// settle changes what is on disk, now that nothing keeps the batch from running. Where
// it starts over the old output goes first: were it there beside the new manifest, its
// rows would be taken for rows of the new batch.
func (f *FileBatch) settle(ctx context.Context) error {
	if f.files.Fresh {
		if err := os.Remove(f.output); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("start over: %w", err)
		}
		if err := files.SyncDir(filepath.Dir(f.output)); err != nil {
			return fmt.Errorf("start over: %w", err)
		}
	}
	if err := errors.Join(f.in.Keep(f.dir), f.manifest.Write(f.dir)); err != nil || !f.files.Fresh {
		return err
	}
	aside, err := filepath.Glob(filepath.Join(f.dir, previousName("*")))
	for _, path := range aside {
		err = errors.Join(err, os.Remove(path))
	}
	if f.replaced != nil {
		err = errors.Join(err, f.replaced.abandon(ctx))
	}
	if err != nil {
		return fmt.Errorf("start over: %w", err)
	}
	return nil
}

func (f *FileBatch) settings() (files.Settings, error) {
	teamJSON, err := json.Marshal(f.config.Team)
	s := files.Settings{
		Team: teamJSON, Agents: map[events.AgentID][]string{}, Solo: f.config.Solo,
		Format: f.in.Format, Unordered: f.files.Unordered, Sample: f.files.Sample,
	}
	for _, agent := range f.crew.Agents {
		s.Agents[agent.ID] = agent.Models
	}
	return s, err
}

// Close gives back what the batch holds on disk. It may be called twice.
func (f *FileBatch) Close() error {
	var errs []error
	for i := len(f.closers) - 1; i >= 0; i-- {
		errs = append(errs, f.closers[i]())
	}
	f.closers = nil
	return errors.Join(errs...)
}
