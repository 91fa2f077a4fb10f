package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

// storePath is where the runs are kept.
func (a *app) storePath() string {
	switch {
	case a.flags.store != "":
		return a.flags.store
	case a.env("CONVENE_STORE") != "":
		return a.env("CONVENE_STORE")
	}
	return filepath.Join(".convene", "convene.db")
}

// openStore opens the store, and makes it where there is none. The caller closes it.
func (a *app) openStore(ctx context.Context) (events.Log, error) {
	log, err := sqlite.Open(ctx, a.storePath())
	if err != nil {
		return nil, usage(err)
	}
	return log, nil
}

// errNoStore is for a store that is not there, and that a command which only looks
// does not make.
var errNoStore = errors.New("there are no runs yet")

// existingStore opens the store if there is one.
func (a *app) existingStore(ctx context.Context) (events.Log, error) {
	path := a.storePath()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, usage(fmt.Errorf("%w: %s does not exist. `convene run` makes it, --store names another", errNoStore, path))
	}
	return a.openStore(ctx)
}

// findRun gives the run with that id, or with the only id that begins so.
func (a *app) findRun(ctx context.Context, log events.Log, idOrPrefix string) (events.RunSummary, error) {
	run, err := log.FindRun(ctx, events.LocalTenant, idOrPrefix)
	switch {
	case errors.Is(err, events.ErrNotFound):
		if batch, err := log.FindBatch(ctx, events.LocalTenant, idOrPrefix); err == nil {
			return run, usage(notARun(batch))
		}
		return run, usage(fmt.Errorf("no run %q in %s. `convene runs` lists them", idOrPrefix, a.storePath()))
	case errors.Is(err, events.ErrAmbiguous):
		return run, usage(fmt.Errorf("more than one run begins with %q. Give more of its id; `convene runs` lists them", idOrPrefix))
	}
	return run, err
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
	return fmt.Errorf("%s%d%s rows done. `convene serve --open` shows it with its runs, and the command that began it goes on with it", what, b.Done, rows)
}
