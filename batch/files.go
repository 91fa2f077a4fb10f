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

	"github.com/convene-run/convene/events"
)

// stdio stands for standard input or output in place of a file.
const stdio = "-"

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
	// RetryFailed runs the rows again that failed.
	RetryFailed bool
	// Fresh starts over: what an earlier call of the batch wrote is removed.
	Fresh bool
}

// Job is a batch from files to files. Run may be called once; Close must be.
type Job struct {
	*Batch
	files Files
	in    *input
	// dir holds the manifest and what the batch keeps on disk.
	dir      string
	manifest *manifest
	// ours is set where the directory has a manifest, be it readable or not.
	ours bool
	// replaced is the journal of the batch whose output is removed to start over.
	replaced *journal
	// resumed is set where an earlier call left outputs or runs.
	resumed   bool
	selection selection
	ids       *ids
	done      *done
	lines     *lines
	bad       int
	closers   []func() error
}

// ErrNotOurs is for an output file that no batch wrote.
var ErrNotOurs = errors.New("the file exists and is not the output of a batch: move it away, or choose another")

// Open makes a batch ready, or finds out how far an earlier call of it came. All
// that can be wrong with configuration, input and output shows here, before the
// first model call: duplicate ids are a [*DuplicateError], another configuration
// than before a [*ChangedError], a batch that runs already an [*events.HeldError].
func Open(ctx context.Context, files Files, config Config) (_ *Job, err error) {
	j := &Job{files: files}
	defer func() {
		if err != nil {
			err = errors.Join(err, j.Close())
		}
	}()
	if files.Limit < 0 || files.Sample < 0 {
		return nil, errors.New("limit and sample are numbers of rows, not below 0")
	}
	if err := j.find(); err != nil {
		return nil, err
	}
	config.Identity, config.Resumed = NewIdentity(), j.manifest != nil && !files.Fresh
	if config.Resumed {
		config.Identity = j.manifest.Identity
	}
	if j.Batch, err = New(config); err != nil {
		return nil, err
	}
	if err := j.lock(ctx); err != nil {
		return nil, err
	}
	created, err := j.makeDir(ctx)
	if err != nil {
		return nil, err
	}
	if created {
		defer func() {
			if err != nil {
				err = errors.Join(err, j.Close(), os.RemoveAll(j.dir))
			}
		}()
	}
	return j, j.prepare(ctx)
}

// ToStdout reports whether the outputs go to standard output, so that the batch
// cannot be resumed.
func (j *Job) ToStdout() bool { return j.files.Output == stdio }

// find looks for what an earlier call left.
func (j *Job) find() error {
	if j.ToStdout() {
		if j.files.RetryFailed || j.files.Fresh {
			return errors.New("only a batch into a file can be resumed: name one with -o")
		}
		return nil
	}
	j.dir = j.files.Output + workdirSuffix
	info, err := os.Stat(j.files.Output)
	exists := err == nil
	switch {
	case exists && !info.Mode().IsRegular():
		return fmt.Errorf("write to %s: it is a %s, not a file", j.files.Output, info.Mode().Type())
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("write to %s: %w", j.files.Output, err)
	}
	if j.manifest, err = readManifest(j.dir); err != nil && !j.files.Fresh {
		return err
	}
	_, err = os.Stat(filepath.Join(j.dir, manifestName))
	if j.ours = err == nil; !j.ours && exists && info.Size() > 0 {
		return fmt.Errorf("write to %s: %w", j.files.Output, ErrNotOurs)
	}
	return nil
}

// lock keeps others from the same batch until Close, and from the one that is removed
// to start over.
func (j *Job) lock(ctx context.Context) error {
	err := j.claim(ctx)
	j.closers = append(j.closers, func() error { j.release(); return nil })
	if err == nil && j.files.Fresh && j.manifest != nil {
		old, r := j.manifest.key(j.config.Tenant), j.config.Runner
		var epoch events.Epoch
		if epoch, err = r.Claim(ctx, old); err == nil {
			j.replaced = &journal{batch: j.Batch, key: old, epoch: epoch}
			j.closers = append(j.closers, func() error { r.Release(old, epoch); return nil })
		}
	}
	if errors.Is(err, events.ErrHeld) {
		return fmt.Errorf("the batch into %s is under way already: %w", j.files.Output, err)
	}
	return err
}

func (j *Job) makeDir(ctx context.Context) (created bool, err error) {
	if j.ToStdout() {
		if j.dir, err = os.MkdirTemp("", "convene-batch-*"); err == nil {
			dir := j.dir
			j.closers = append(j.closers, func() error { return os.RemoveAll(dir) })
		}
		return false, err
	}
	if j.files.Fresh && j.ours {
		j.manifest = nil
		for _, path := range []string{j.files.Output, j.dir} {
			if err := os.RemoveAll(path); err != nil {
				return false, fmt.Errorf("start over: %w", err)
			}
		}
		if j.replaced != nil {
			if err := j.replaced.abandon(ctx); err != nil {
				return false, fmt.Errorf("start over: %w", err)
			}
		}
	}
	err = os.Mkdir(j.dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return false, sweep(j.dir)
	}
	if err != nil {
		return false, fmt.Errorf("write beside the output: %w", err)
	}
	return true, nil
}

// prepare reads the input once, compares it with what was before, and finds out
// which rows are done.
func (j *Job) prepare(ctx context.Context) (err error) {
	if j.in, err = openInput(&j.files, j.dir); err != nil {
		return err
	}
	mark := -1
	if j.manifest != nil {
		mark = j.manifest.Input.Rows
	}
	var check func(Row) error
	if j.files.Strict {
		check = j.check
	}
	found, err := j.in.look(j.dir, mark, check)
	if err != nil {
		return err
	}
	j.ids = found.ids
	j.closers = append(j.closers, found.ids.close)
	if j.files.Strict && found.firstBad != nil {
		return fmt.Errorf("%d rows of %s are bad, and --strict refuses them; nothing was started. The first is %w", found.bad, j.in.name, found.firstBad)
	}
	j.bad = found.bad
	j.selection = selection{limit: j.files.Limit, sample: j.files.Sample, total: found.rows, seed: found.digest}
	j.config.Total = j.selection.size()
	j.config.Input, j.config.Output = j.in.name, j.files.Output
	if err := j.agree(found); err != nil {
		return err
	}
	if j.ToStdout() {
		return j.openStdout()
	}
	if err := j.openOutput(); err != nil {
		return err
	}
	return j.account(ctx)
}

// check finds what makes a row bad beyond its form.
func (j *Job) check(row Row) error {
	job, err := j.job(&row)
	if err != nil {
		return err
	}
	if _, err := j.config.Runner.Check(job); err != nil {
		return row.refused(err)
	}
	return nil
}

// agree compares settings and input with the manifest, or writes a new one.
func (j *Job) agree(found *survey) error {
	now, err := j.settings()
	if err != nil {
		return err
	}
	if j.manifest == nil {
		zero := 0.0
		j.manifest = &manifest{Version: manifestVersion, Identity: j.config.Identity, Earlier: earlier{CostUSD: &zero}}
	} else {
		differences, err := compare(j.manifest.Settings, now)
		if err != nil {
			return err
		}
		before := j.manifest.Input
		if found.marked != before.Digest {
			differences = append(differences, fmt.Sprintf("input: %s had %d rows; of %s the first %d are not the same rows",
				before.Name, before.Rows, j.in.name, min(before.Rows, found.rows)))
		} else if j.files.Sample > 0 && found.rows != before.Rows {
			differences = append(differences, fmt.Sprintf("input: %d rows → %d rows, of which --sample would take others", before.Rows, found.rows))
		}
		if len(differences) > 0 {
			return &ChangedError{Output: j.files.Output, Differences: differences}
		}
		j.resumed = true
	}
	if j.ToStdout() {
		return nil
	}
	j.manifest.Settings = now
	j.manifest.Input = seen{Name: j.in.name, Rows: found.rows, Digest: found.digest}
	if j.manifest.Fingerprint, err = now.fingerprint(); err != nil {
		return err
	}
	return j.manifest.write(j.dir)
}

func (j *Job) settings() (settings, error) {
	teamJSON, err := json.Marshal(j.config.Team)
	s := settings{
		Team: teamJSON, Agents: map[events.AgentID][]string{}, Solo: j.config.Solo,
		Format: j.in.format, Unordered: j.files.Unordered, Sample: j.files.Sample,
	}
	for _, agent := range j.crew.Agents {
		s.Agents[agent.ID] = agent.Models
	}
	return s, err
}

// Close gives back what the batch holds on disk. It may be called twice.
func (j *Job) Close() error {
	var errs []error
	for i := len(j.closers) - 1; i >= 0; i-- {
		errs = append(errs, j.closers[i]())
	}
	j.closers = nil
	return errors.Join(errs...)
}
