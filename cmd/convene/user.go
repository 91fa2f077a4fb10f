package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/lifetime"
)

func newUserCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "user",
		Short: "Export or erase everything that is of one user",
		Long: `Export or erase everything that is of one user: the threads that the user began, with all
that was said in them, and their files. What the user said in threads of others stays there.
Threads of the command line that name no user, and batches, are nobody's.`,
		Args: unknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newUserExportCommand(a), newUserEraseCommand(a))
	return c
}

// addTenantFlag adds the flag that says whose user is meant.
func addTenantFlag(c *cobra.Command, tenant *string) {
	c.Flags().StringVar(tenant, "tenant", string(events.LocalTenant), "tenant that the user is of")
}

func newUserExportCommand(a *app) *cobra.Command {
	var tenant, output string
	c := &cobra.Command{
		Use:   "export USER -o FILE",
		Short: "Write the threads of a user, with their files, into a ZIP archive",
		Long: `Write the threads of a user, with their files, into a ZIP archive: manifest.json says what is
in it, each threads/*.jsonl is a log that convene replay plays, and artifacts/ has the files
by their SHA-256.`,
		Example: `  convene user export ann -o ann.zip`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.exportUser(c.Context(), events.TenantID(tenant), args[0], output)
		},
	}
	addTenantFlag(c, &tenant)
	c.Flags().StringVarP(&output, "output", "o", "", "file to write (required)")
	return c
}

func (a *app) exportUser(ctx context.Context, tenant events.TenantID, user, output string) (err error) {
	if err := checkUser(tenant, user); err != nil {
		return usage(err)
	}
	if output == "" {
		return usage(errors.New("name the file to write: -o FILE"))
	}
	if err := checkOutput(output); err != nil {
		return usage(err)
	}
	log, err := a.storeToRead(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	var manifest *lifetime.Manifest
	err = writeWhole(output, func(w io.Writer) (err error) {
		manifest, err = lifetime.Export(ctx, log, tenant, user, true, w)
		return err
	})
	if err != nil {
		return a.ofNobody(err, tenant, user)
	}
	err = audit.Append(ctx, log, tenant, onCommandLine, events.Audited{
		Action: events.AuditExported, UserID: user, What: manifest.String(),
	})
	if err != nil && !errors.Is(err, sqlite.ErrReadOnly) {
		return err
	}
	for _, thread := range manifest.Threads {
		for i := range thread.Damaged {
			a.noteDamage(&thread.Damaged[i], events.ThreadKey{Tenant: tenant, Thread: thread.Thread})
		}
	}
	_, err = fmt.Fprintf(a.err, "wrote %s: %s and %s of %s\n", termview.Line(output), termview.Plural(len(manifest.Threads), "thread"),
		termview.Plural(len(manifest.Files), "file"), userOf(tenant, user))
	return err
}

// writeWhole has a file written for its owner's eyes only: as a whole or not at all.
func writeWhole(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0) // a device or a pipe: there is nothing to replace
		if err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		return errors.Join(write(file), file.Close())
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".convene-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	err = write(temp)
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}

func newUserEraseCommand(a *app) *cobra.Command {
	var tenant string
	c := &cobra.Command{
		Use:   "erase USER",
		Short: "Erase the threads of a user permanently, with their files",
		Long: `Erase the threads of a user permanently, with the files that no other thread has. Parked
and interrupted runs go too; while one is in progress nothing is erased. Revoke the user's
tokens first.

The store is then rewritten, so that nothing of them is left in its files; runs in progress
wait meanwhile. Backups, exports and outputs of batches are yours to delete.`,
		Example: `  convene user erase ann --tenant acme`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.eraseUser(c.Context(), events.TenantID(tenant), args[0])
		},
	}
	addTenantFlag(c, &tenant)
	return c
}

func (a *app) eraseUser(ctx context.Context, tenant events.TenantID, user string) (err error) {
	if err := checkUser(tenant, user); err != nil {
		return usage(err)
	}
	log, err := a.existingStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	erased, err := lifetime.Erase(ctx, log, tenant, user)
	var live *lifetime.LiveError
	switch {
	case errors.As(err, &live) && erased.Threads == 0:
		return usage(fmt.Errorf("nothing of %s was erased: %w", userOf(tenant, user), err))
	case err != nil && erased.Threads == 0:
		return a.ofNobody(err, tenant, user)
	}
	recorded := audit.Append(ctx, log, tenant, onCommandLine, events.Audited{
		Action: events.AuditErased, UserID: user, What: erased.String(),
	})
	_, _, wiping := log.Compact(ctx)
	if err = errors.Join(err, recorded, wiping); err != nil {
		return fmt.Errorf("%s of %s gone, but: %w", termview.Plural(erased.Threads, "thread"), userOf(tenant, user), err)
	}
	_, err = fmt.Fprintf(a.out, "%s: %s with %s erased\n", userOf(tenant, user), termview.Plural(erased.Threads, "thread"), termview.Plural(erased.Runs, "run"))
	return err
}

// checkUser refuses what names nobody.
func checkUser(tenant events.TenantID, user string) error {
	if err := access.CheckTenant(tenant); err != nil {
		return fmt.Errorf("--tenant: %w", err)
	}
	if user == "" {
		return errors.New("name the user")
	}
	return nil
}

// ofNobody says where a user was looked for in vain.
func (a *app) ofNobody(err error, tenant events.TenantID, user string) error {
	if errors.Is(err, lifetime.ErrNobody) {
		return usage(fmt.Errorf("no thread in %s is of %s. --tenant names another tenant", a.storePath(), userOf(tenant, user)))
	}
	return err
}

// userOf names a user on a line.
func userOf(tenant events.TenantID, user string) string {
	return termview.Line(user + " of tenant " + string(tenant))
}
