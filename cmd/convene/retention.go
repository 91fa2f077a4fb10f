package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/lifetime"
	"github.com/convene-run/convene/tenants"
)

func newStorePruneCommand(a *app) *cobra.Command {
	var path string
	var dry bool
	c := &cobra.Command{
		Use:   "prune --tenants FILE",
		Short: "Remove what is older than a file of tenants has it kept",
		Long: `Remove what is older than a file of tenants has it kept (retention), of all tenants. convene
serve --tenants does so at its start and every hour. Runs in progress, and batches that can
be continued, are kept with their rows. ` + "`convene store compact`" + ` then reclaims the space.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.storePrune(c.Context(), path, dry) },
	}
	c.Flags().StringVar(&path, "tenants", "", "file (YAML) with how long the data of each tenant is kept (required)")
	c.Flags().BoolVar(&dry, "dry-run", false, "only print what would be removed")
	return c
}

func (a *app) storePrune(ctx context.Context, path string, dry bool) (err error) {
	if path == "" {
		return usage(errors.New("name the file of tenants: --tenants FILE. convene runs prune removes runs by their age alone"))
	}
	file, err := tenantsFile(path)
	if err != nil {
		return usage(err)
	}
	log, err := a.existingStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	gone, err := lifetime.Prune(ctx, log, lifetime.Retained(file, time.Now()), dry)
	if !dry {
		err = errors.Join(err, auditPruned(ctx, log, &events.Actor{Door: events.DoorCLI}, gone))
	}
	if err != nil {
		return err
	}
	return a.sayPruned(lifetime.Sum(gone), dry)
}

// auditPruned has the audit of each tenant say what was removed; by is nil where nobody asked.
func auditPruned(ctx context.Context, log events.Writer, by *events.Actor, gone map[events.TenantID]lifetime.Pruned) (err error) {
	for _, tenant := range slices.Sorted(maps.Keys(gone)) {
		err = errors.Join(err, audit.Append(ctx, log, tenant, by, events.Audited{Action: events.AuditRemoved, What: whatPruned(gone[tenant]) + ", by retention"}))
	}
	return err
}

func whatPruned(gone lifetime.Pruned) string {
	return fmt.Sprintf("%s and %s", termview.Plural(gone.Runs, "run"), batches(gone.Batches))
}

// sweep removes what is too old by the file of tenants, now and every hour, until stop is
// called. A store that is only shown is left as it is.
func (a *app) sweep(ctx context.Context, log events.Log, file *tenants.File) (stop func()) {
	if file == nil {
		return func() {}
	}
	sweeping, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lifetime.Sweep(sweeping, log, file, func(gone map[events.TenantID]lifetime.Pruned, err error) {
			if err = errors.Join(err, auditPruned(ctx, log, nil, gone)); err != nil && !errors.Is(err, sqlite.ErrReadOnly) {
				a.say(termview.Line("what is too old could not all be removed: " + err.Error()))
			}
			if sum := lifetime.Sum(gone); sum != (lifetime.Pruned{}) {
				a.say(whatPruned(sum) + " removed that had been kept for as long as the file of tenants says")
			}
		})
	}()
	return func() {
		cancel()
		<-ended
	}
}
