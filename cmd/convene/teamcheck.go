package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/cmd/internal/config"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/mcpclient"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/toolbox"
)

// checkFlags are those of `convene team check`.
type checkFlags struct{ connect, yes bool }

func newTeamCheckCommand(a *app) *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check FILE…",
		Short: "Report every problem in team files, with line and column",
		Long: `Report every problem in team files, with line and column.

Tools of a team that reach into this machine need your consent, once: folders that are
read, for example. --connect shows what a team asks for, asks you, opens its tools and
lists them. Consent is to exactly what was shown: a team that asks for more asks again.`,
		Example: `  convene team check launch.yaml
  convene team check --connect research.yaml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var problems error
			for _, path := range args {
				problems = errors.Join(problems, a.teamCheck(c.Context(), path, f))
			}
			return usage(problems)
		},
	}
	c.Flags().BoolVar(&f.connect, "connect", false, "show what the team asks for, ask for your consent, open its tools and list them")
	c.Flags().BoolVar(&f.yes, "yes", false, "with --connect: consent without being asked")
	return c
}

func (a *app) teamCheck(ctx context.Context, path string, f checkFlags) error {
	t, err := team.Load(path)
	if err == nil {
		err = t.CheckTools(slices.Concat(t.Tools.Names(), t.ServerTools()))
	}
	if err == nil {
		err = runner.CheckSearch(runner.Job{Team: t}, a.models(""))
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s: team %s with %d specialists is valid\n", path, t.Name, len(t.Specialists))
	ask := toolbox.AskOf(t)
	switch allowed := len(ask.Lines) == 0 || a.consented(ask); {
	case f.connect:
		return a.connect(ctx, path, t, ask, allowed, f.yes)
	case !allowed:
		fmt.Fprintf(a.out, "  it asks for what nobody on this machine has allowed: `convene team check --connect %s` shows it and asks you\n", path)
	}
	return nil
}

// connect opens the tools of a team, once its user has consented to what it asks for. What
// its MCP servers list is consented to with it, and anew where it has changed.
func (a *app) connect(ctx context.Context, path string, t *team.Team, ask toolbox.Ask, allowed, yes bool) error {
	for _, line := range ask.Lines {
		fmt.Fprintf(a.out, "  %s\n", termview.Line(line))
	}
	if !allowed && !yes && !a.agrees("Allow this?") {
		return fmt.Errorf("%s: nothing was allowed, and nothing was opened. Answer y, or give --yes, to allow it", path)
	}
	opened := toolbox.New(toolbox.Config{
		Env: a.env, Extract: a.extractor().File, Consented: func(asked toolbox.Ask) bool { return asked.Hash == ask.Hash }, SignIns: a.config, Browse: a.signIn,
	})
	defer opened.Close()
	tools, err := opened.Open(ctx, t)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
		fmt.Fprintf(a.out, "  tool %s: %s\n", tool.Name, termview.Line(tool.Description))
	}
	if err := t.CheckTools(names); err != nil {
		return err
	}
	if err := a.confirm(ctx, path, t, opened, yes); err != nil || allowed {
		return err
	}
	consent := config.Consent{Team: path, Asks: ask.Lines, Given: time.Now().UTC().Truncate(time.Second)}
	if err := a.config.Allow(ask.Hash, consent); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "  allowed\n")
	return nil
}

// confirm records what the team's servers list, and asks where they listed something else
// when it was confirmed before.
func (a *app) confirm(ctx context.Context, path string, t *team.Team, opened *toolbox.Toolbox, yes bool) error {
	servers, err := opened.Servers(ctx, t)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, server := range servers {
		said := server.Listing
		fmt.Fprintf(a.out, "  server %s: %s, protocol %s, %d tools\n", server.Name, termview.Line(said.Server), termview.Line(said.Protocol), len(said.Tools))
		for _, note := range server.Notes {
			fmt.Fprintf(a.out, "    %s\n", termview.Line(note))
		}
		for _, tool := range said.Tools {
			if len(tool.Hints) > 0 {
				fmt.Fprintf(a.out, "    %s is %s, it says\n", termview.Line(tool.Name), strings.Join(tool.Hints, ", "))
			}
		}
		before, err := a.config.Confirmed(server.Key)
		if err != nil {
			return err
		}
		if before != nil && before.Hash() == said.Hash() {
			continue
		}
		if before != nil {
			a.showChanges(before, said)
			if !yes && !a.agrees("Confirm these changes?") {
				return fmt.Errorf("%s: the changed tools of %s were not confirmed, and stay refused", path, server.Name)
			}
		}
		if err := a.config.Confirm(server.Key, said, time.Now().UTC().Truncate(time.Second)); err != nil {
			return err
		}
	}
	return nil
}

// showChanges tells what a server lists otherwise than before.
func (a *app) showChanges(before, now *mcpclient.Listing) {
	for _, tool := range now.Tools {
		i := slices.IndexFunc(before.Tools, func(t mcpclient.Tool) bool { return t.Name == tool.Name })
		switch {
		case i < 0:
			fmt.Fprintf(a.out, "    new: %s\n", termview.Line(tool.Name))
		case before.Tools[i].Hash() != tool.Hash():
			fmt.Fprintf(a.out, "    changed: %s\n      was: %s %s\n      now: %s %s\n", termview.Line(tool.Name),
				termview.Line(before.Tools[i].Description), termview.Line(string(before.Tools[i].Schema)), termview.Line(tool.Description), termview.Line(string(tool.Schema)))
		}
	}
	for _, tool := range before.Tools {
		if !slices.ContainsFunc(now.Tools, func(t mcpclient.Tool) bool { return t.Name == tool.Name }) {
			fmt.Fprintf(a.out, "    gone: %s\n", termview.Line(tool.Name))
		}
	}
}

// signIn shows where to sign in to an MCP server, in the browser if there is one.
func (a *app) signIn(server, address string) error {
	fmt.Fprintf(a.err, "The MCP server %s asks for a sign-in. If no browser opens, open this address on this machine:\n%s\n", termview.Line(server), termview.Line(address))
	_ = openBrowser(address) // the address is on the screen
	return nil
}

// agrees asks the person at the command line. Nobody there is no consent.
func (a *app) agrees(question string) bool {
	fmt.Fprint(a.err, question+" [y/N] ")
	answer, err := a.answer()
	if err != nil {
		fmt.Fprintln(a.err)
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// answer reads one line, and nothing behind it: another question may follow.
func (a *app) answer() (string, error) {
	var line []byte
	for char := make([]byte, 1); len(line) < maxAnswerBytes; {
		n, err := a.in.Read(char)
		if n > 0 && char[0] == '\n' {
			break
		}
		line = append(line, char[:n]...)
		if err != nil {
			return string(line), err
		}
	}
	return string(line), nil
}

// maxAnswerBytes bounds what is read for a yes.
const maxAnswerBytes = 100

// consented reports whether the user has consented to what a team asks for.
func (a *app) consented(ask toolbox.Ask) bool {
	given, err := a.config.Consented(ask.Hash)
	if err != nil {
		a.say(termview.Line(err.Error()))
	}
	return given
}
