package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

// storePath is where the runs are kept: the file that was named, else the one of the
// configuration, else the nearest store, else a new one in the working directory.
func (a *app) storePath() string {
	if path := a.namedStore(); path != "" {
		return path
	}
	if path := a.config.Store(); path != "" {
		return path
	}
	if path := nearestStore(); path != "" {
		return path
	}
	return filepath.Join(storeDir, storeFile)
}

// namedStore is the store that the user named, "" where nobody did.
func (a *app) namedStore() string {
	if a.flags.store != "" {
		return a.flags.store
	}
	return a.env("CONVENE_STORE")
}

// openStore opens the store, and makes it where there is none: it then says where. The
// caller closes it.
func (a *app) openStore(ctx context.Context) (*sqlite.Log, error) {
	path := a.storePath()
	if a.namedStore() == "" && !filepath.IsAbs(path) && foreignStore() {
		return nil, usage(fmt.Errorf("%s belongs to another user. Use a store of your own with --store; --store %s uses this one anyway", storeDir, path))
	}
	return a.openStoreAt(ctx, path)
}

func (a *app) openStoreAt(ctx context.Context, path string) (*sqlite.Log, error) {
	_, missing := os.Stat(path)
	log, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, usage(err)
	}
	log.OnLocked(func(waited time.Duration) {
		a.say(fmt.Sprintf("another process has kept %s locked for %s: waiting for it", path, waited))
	})
	if errors.Is(missing, fs.ErrNotExist) {
		a.say("runs are kept in " + absolute(path))
	}
	return log, nil
}

// absolute gives the whole path, for a reader who may be in another folder.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// errNoStore is for a store that is not there, and that a command which only looks
// does not make.
var errNoStore = errors.New("there are no runs yet")

// existingStore opens the store if there is one.
func (a *app) existingStore(ctx context.Context) (*sqlite.Log, error) {
	path := a.storePath()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, usage(fmt.Errorf("%w: %s does not exist. `convene run` creates it, --store names another", errNoStore, path))
	}
	return a.openStore(ctx)
}

// storeToRead opens the store if there is one, for a command that changes nothing: also
// one that cannot be written, or that is damaged. The command's exit code tells the latter.
func (a *app) storeToRead(ctx context.Context) (*sqlite.Log, error) {
	log, err := a.existingStore(ctx)
	if !errors.Is(err, sqlite.ErrReadOnly) && !errors.Is(err, sqlite.ErrDamaged) {
		return log, err
	}
	log, readErr := sqlite.OpenReadOnly(ctx, a.storePath())
	if readErr != nil {
		return nil, usage(readErr)
	}
	a.damaged = log.Damage()
	return log, nil
}

// storeToServe opens the store, or makes it where there is none. One that cannot be
// written, or that is damaged, is shown.
func (a *app) storeToServe(ctx context.Context) (*sqlite.Log, error) {
	log, err := a.openStore(ctx)
	if _, missing := os.Stat(a.storePath()); missing != nil || !errors.Is(err, sqlite.ErrReadOnly) && !errors.Is(err, sqlite.ErrDamaged) {
		return log, err
	}
	a.say("runs are only shown, none can be started: " + err.Error())
	return a.storeToRead(ctx)
}

// findRun gives the run with that id, or with the only id that begins so.
func (a *app) findRun(ctx context.Context, log events.Index, idOrPrefix string) (events.RunSummary, error) {
	run, err := log.FindRun(ctx, events.LocalTenant, idOrPrefix)
	switch {
	case errors.Is(err, events.ErrNotFound):
		if batch, err := log.FindBatch(ctx, events.LocalTenant, idOrPrefix); err == nil {
			return run, usage(notARun(batch))
		}
		return run, usage(fmt.Errorf("no run %q in %s. `convene runs` lists them", idOrPrefix, a.storePath()))
	case errors.Is(err, events.ErrAmbiguous):
		return run, usage(fmt.Errorf("more than one run begins with %q. Give more characters of its id; `convene runs` lists them", idOrPrefix))
	}
	return run, err
}

// namedRun gives the run that is named, else the newest that is no row of a batch.
func (a *app) namedRun(ctx context.Context, log events.Index, args []string) (events.RunSummary, error) {
	if len(args) > 0 {
		return a.findRun(ctx, log, args[0])
	}
	newest, err := log.Runs(ctx, events.RunQuery{Tenant: events.LocalTenant, Own: true, Limit: 1})
	if err != nil {
		return events.RunSummary{}, err
	}
	if len(newest) == 0 {
		return events.RunSummary{}, usage(fmt.Errorf("%w in %s but for the rows of batches. `convene runs --all` lists these", errNoStore, a.storePath()))
	}
	run := newest[0]
	if run.Damaged != nil {
		return run, damagedRun(run)
	}
	return run, nil
}

// damagedRun is the error of a run of which an event cannot be read.
func damagedRun(run events.RunSummary) error {
	err := run.Damaged.In(events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread})
	return fmt.Errorf("run %s: %w. `convene store check` lists what is damaged, `convene runs rm %[1]s` removes it", termview.ShortID(run.Run), err)
}

// notARun says what a batch is to who named it where a run is wanted.
func notARun(b events.BatchSummary) error {
	what := fmt.Sprintf("%s is a batch, not a run: ", b.Batch)
	if b.Output != "" {
		what += fmt.Sprintf("from %s into %s, ", b.Input, b.Output)
	}
	rows := ""
	if b.Rows > 0 {
		rows = fmt.Sprintf(" of %d", b.Rows)
	}
	return fmt.Errorf("%s%d%s rows done. `convene runs --batch %s` lists them, `convene serve --open` shows it; the command that started it continues it", what, b.Done, rows, termview.ShortID(events.RunID(b.Batch)))
}
