package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events/sqlite"
)

func newStoreCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "store",
		Short: "Check, back up, prune or compact the database file of the runs",
		Args:  unknownCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newStoreCheckCommand(a), newStoreBackupCommand(a), newStoreCompactCommand(a), newStorePruneCommand(a))
	return c
}

func newStoreCheckCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check",
		Short: "Check the whole store for damage",
		Long: `Check the whole store for damage: every event against its checksum, and the listings of
runs against their events. Damage is reported by thread and event number (seq);
everything else can still be shown, exported and continued.

Exit codes: 0 no damage, 2 wrong usage, 7 damage found.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.storeCheck(c.Context(), asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "write one JSON object: what was checked, and a list of the damage")
	return c
}

// checkResult is `store check --json`.
type checkResult struct {
	Store string `json:"store"`
	sqlite.CheckReport
	Damage []sqlite.Damage `json:"damage"`
}

func (a *app) storeCheck(ctx context.Context, asJSON bool) (err error) {
	log, err := a.storeToRead(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	result := checkResult{Store: a.storePath(), Damage: []sqlite.Damage{}}
	result.CheckReport, err = log.Check(ctx, func(d sqlite.Damage) {
		result.Damage = append(result.Damage, d)
		if !asJSON {
			fmt.Fprintln(a.out, termview.Line(damageLine(d)))
		}
	})
	if err != nil {
		return err
	}
	if asJSON {
		body, err := json.Marshal(result)
		if err != nil {
			return err
		}
		if err := a.printJSON(body); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.out, "%s, %s, %s: %s\n", counted(result.CheckReport),
			termview.Plural(result.Threads, "thread"), termview.Plural(result.Events, "event"), findings(len(result.Damage)))
	}
	if len(result.Damage) > 0 {
		return &exitError{code: exitDamaged}
	}
	return nil
}

func counted(r sqlite.CheckReport) string {
	return termview.Plural(r.Runs, "run") + ", " + batches(r.Batches)
}

func batches(n int) string {
	if n == 1 {
		return "1 batch"
	}
	return fmt.Sprintf("%d batches", n)
}

func findings(n int) string {
	if n == 0 {
		return "no damage"
	}
	return termview.Plural(n, "place") + " damaged"
}

// damageLine names a damage by thread and seq.
func damageLine(d sqlite.Damage) string {
	line := "store"
	if d.Thread != "" {
		line = fmt.Sprintf("thread=%s", d.Thread)
	}
	switch {
	case d.Seq == 0:
	case d.Through > d.Seq:
		line += fmt.Sprintf(" seq=%d to %d", d.Seq, d.Through)
	default:
		line += fmt.Sprintf(" seq=%d", d.Seq)
	}
	if d.Run != "" {
		line += fmt.Sprintf(" (run %s)", d.Run)
	}
	return line + ": " + d.Problem
}

func newStoreBackupCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the store to a new file, even while runs are in progress",
		Long: `Copy a consistent snapshot of the store to a new file, even while runs are in progress.
A plain copy of the file may be inconsistent, and lacks what is in the -wal file next to
it. The backup is checked; use it with --store, or replace the store with it while no
process has the store open.

Exit codes: 0 done, 1 failed, 2 wrong usage, 7 written, including the store's damage.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.storeBackup(c.Context(), args[0]) },
	}
}

func (a *app) storeBackup(ctx context.Context, path string) (err error) {
	log, err := a.storeToRead(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if err := log.Backup(ctx, path); err != nil {
		if errors.Is(err, sqlite.ErrExists) {
			err = usage(fmt.Errorf("%w. Name a new file", err))
		}
		return err
	}
	return a.checkBackup(ctx, path)
}

// checkBackup reads the backup as who restores it would.
func (a *app) checkBackup(ctx context.Context, path string) (err error) {
	backup, err := sqlite.OpenReadOnly(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backup.Close()) }()
	damage := 0
	report, err := backup.Check(ctx, func(d sqlite.Damage) {
		damage++
		fmt.Fprintln(a.err, termview.Line(damageLine(d)))
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s: %s, %s: %s\n", path, counted(report), termview.Plural(report.Events, "event"), findings(damage))
	if damage > 0 {
		return &exitError{code: exitDamaged}
	}
	return nil
}

func newStoreCompactCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "compact",
		Short: "Reclaim and wipe the space of removed runs",
		Long: `Rewrite the store without the space left by removed runs, which later runs would
otherwise reuse. Runs in progress wait meanwhile. This needs free disk space of up to
twice the size of the store.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.storeCompact(c.Context()) },
	}
}

func (a *app) storeCompact(ctx context.Context) (err error) {
	log, err := a.existingStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	before, after, err := log.Compact(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s: %s, was %s\n", a.storePath(), megabytes(after), megabytes(before))
	return err
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
