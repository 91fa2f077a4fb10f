package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/cmd/internal/config"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

// tokenFlags are those of `convene token add`.
type tokenFlags struct {
	tenant  string
	user    string
	roles   []string
	expires time.Duration
	note    string
}

func newTokenCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke the tokens of those who use convene serve",
		Long: `Make, list and revoke the tokens of those who use convene serve. A token says who sends it:
the tenant, the user, and the roles that say what they may do. The file of tokens holds hashes
only. A server that runs reads it again when it changes: a revoked token ends at once, and
so do the connections that it opened.

Roles:
  admin     everything in the tenant
  operator  runs and threads of all users
  user      runs and threads of one's own
  viewer    sees everything, changes nothing
  auditor   as viewer, and sees who did what
  monitor   /metrics of the whole server
Others, with permissions of your own, stand under access.roles in the configuration.`,
		Args: unknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newTokenAddCommand(a), newTokenListCommand(a), newTokenRevokeCommand(a))
	return c
}

func newTokenAddCommand(a *app) *cobra.Command {
	var f tokenFlags
	c := &cobra.Command{
		Use:   "add",
		Short: "Make a token, and show it once",
		Example: `  convene token add --user ann
  convene token add --tenant acme --user bob --role operator --expires 2160h`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.addToken(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.tenant, "tenant", string(events.LocalTenant), "tenant whose data the token is for")
	flags.StringVar(&f.user, "user", "", "id of the user; may be left out for roles that see the threads of all")
	flags.StringSliceVar(&f.roles, "role", []string{access.RoleUser}, "role: see convene token --help; may be repeated")
	flags.DurationVar(&f.expires, "expires", 0, "time after which the token ends, such as 720h (default: never)")
	flags.StringVar(&f.note, "note", "", "what the token is for, to be shown by convene token list")
	return c
}

// tokensPath is where the file of tokens is.
func (a *app) tokensPath() (string, error) {
	path, _ := a.config.Tokens()
	if path == "" {
		return "", config.ErrNoHome
	}
	return path, nil
}

func (a *app) addToken(ctx context.Context, f tokenFlags) (err error) {
	if f.expires < 0 {
		return usage(errors.New("--expires is below 0: give the time for which the token is good, such as 720h"))
	}
	path, err := a.tokensPath()
	if err != nil {
		return err
	}
	roles, err := a.config.Roles()
	if err != nil {
		return usage(err)
	}
	who := access.Token{Tenant: events.TenantID(f.tenant), User: f.user, Roles: f.roles, Note: f.note}
	if f.expires > 0 {
		end := time.Now().Add(f.expires).UTC().Truncate(time.Second)
		who.Expires = &end
	}
	log, err := a.storeOfTokens(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.close()) }()
	credential, added, err := access.Add(path, roles, who)
	if errors.Is(err, access.ErrNoUser) {
		err = fmt.Errorf("%w. Name the user with --user", err)
	}
	if err != nil {
		return usage(err)
	}
	if err := log.record(ctx, events.AuditTokenAdded, added); err != nil {
		return fmt.Errorf("token %s was added and is not shown, because that cannot be recorded: revoke it. %w", added.ID, err)
	}
	fmt.Fprintln(a.err, termview.Line(fmt.Sprintf("token %s, in %s. It is shown this once:", added.ID, path)))
	_, err = fmt.Fprintln(a.out, credential)
	return err
}

func newTokenListCommand(a *app) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "list",
		Short: "List the tokens, without the secrets",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return a.listTokens(asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "write one JSON object per line")
	return c
}

func (a *app) listTokens(asJSON bool) error {
	path, err := a.tokensPath()
	if err != nil {
		return err
	}
	list, err := access.List(path)
	if err != nil {
		return err
	}
	if asJSON {
		out := json.NewEncoder(a.out)
		for _, token := range list {
			token.SHA256 = ""
			if err := out.Encode(token); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		fmt.Fprintln(a.err, "there is no token: convene token add makes one")
		return nil
	}
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tTENANT\tUSER\tROLES\tCREATED\tEXPIRES\tNOTE")
	for _, token := range list {
		expires := "never"
		if token.Expires != nil {
			expires = token.Expires.Format(time.DateOnly)
			if !time.Now().Before(*token.Expires) {
				expires = "expired"
			}
		}
		fmt.Fprintln(table, termview.Line(token.ID)+"\t"+termview.Line(string(token.Tenant))+"\t"+termview.Line(token.User)+"\t"+
			termview.Line(strings.Join(token.Roles, ", "))+"\t"+token.Created.Format(time.DateOnly)+"\t"+expires+"\t"+termview.Line(token.Note))
	}
	return table.Flush()
}

func newTokenRevokeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke ID",
		Short:   "Revoke a token; servers that run notice at once",
		Example: `  convene token revoke k3xq7wd2ba`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.revokeToken(c.Context(), args[0]) },
	}
}

func (a *app) revokeToken(ctx context.Context, id string) error {
	path, err := a.tokensPath()
	if err != nil {
		return err
	}
	revoked, err := access.Revoke(path, id)
	if err != nil {
		return usage(err)
	}
	fmt.Fprintln(a.err, termview.Line(fmt.Sprintf("token %s of %s is revoked", revoked.ID, whose(revoked))))
	log, err := a.storeOfTokens(ctx) // afterwards: a store that cannot be opened keeps nobody's token
	if err != nil {
		return err
	}
	return errors.Join(log.record(ctx, events.AuditTokenRevoked, revoked), log.close())
}

// tokenStore is the store in whose audit it stands what is done with tokens; its log is nil
// where there is none.
type tokenStore struct{ log *sqlite.Log }

// storeOfTokens opens the store that a server started here would use. Where nobody names one
// and there is none it is not made: tokens are of the user, not of a folder.
func (a *app) storeOfTokens(ctx context.Context) (tokenStore, error) {
	if _, err := os.Stat(a.storePath()); errors.Is(err, fs.ErrNotExist) && a.namedStore() == "" && a.config.Store() == "" {
		a.say("note: there is no store here, so no audit has this: --store names the one that convene serve uses")
		return tokenStore{}, nil
	}
	log, err := a.openStore(ctx)
	return tokenStore{log}, err
}

// record keeps what was done with a token.
func (s tokenStore) record(ctx context.Context, action events.AuditAction, token access.Token) error {
	if s.log == nil {
		return nil
	}
	return audited(ctx, s.log, token.Tenant, events.Audited{
		Action: action, UserID: token.User, TokenID: token.ID, What: strings.Join(token.Roles, " and "),
	})
}

func (s tokenStore) close() error {
	if s.log == nil {
		return nil
	}
	return s.log.Close()
}

// whose says of whom a token is.
func whose(t access.Token) string {
	if t.User == "" {
		return "tenant " + string(t.Tenant)
	}
	return t.User + " in tenant " + string(t.Tenant)
}
