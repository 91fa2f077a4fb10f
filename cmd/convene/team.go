package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/team"
)

func newTeamCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "team",
		Short: "List, create, check, show and test teams",
		Args:  unknownCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newTeamListCommand(a), newTeamInitCommand(a), newTeamCheckCommand(a), newTeamShowCommand(a), newTeamTestCommand(a))
	return c
}

func newTeamListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the built-in teams",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return a.teamList() },
	}
}

func newTeamInitCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a commented team file to start from (default team.yaml); never overwrites a file",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path := "team.yaml"
			if len(args) > 0 {
				path = args[0]
			}
			return a.teamInit(path)
		},
	}
}

func (a *app) teamInit(path string) error {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	text := team.Template(name)
	if _, err := team.Parse(path, text); err != nil {
		text = team.Template("my_team") // the file's name cannot be a team's
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, outputMode)
	if errors.Is(err, fs.ErrExist) {
		return usage(fmt.Errorf("%s exists already and was left as it is. Name another file", path))
	}
	if err != nil {
		return usage(err)
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "wrote %s\nnext: edit it, then convene team check %[1]s and convene run --team %[1]s \"…\"\n", path)
	return err
}

func newTeamShowCommand(a *app) *cobra.Command {
	var prompts bool
	c := &cobra.Command{
		Use:   "show [NAME | FILE]",
		Short: "Show a team: specialists, document, and every limit with its default",
		Long: `Show a team: its specialists, its document, and every limit with its default and the
reason for it. Without an argument, list the built-in teams.`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: team.BuiltinNames(),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.teamList()
			}
			t, err := team.Resolve(args[0])
			if err != nil {
				return usage(err)
			}
			return a.printLines(termview.Team(t, prompts, a.theme(a.out), width(a.out)))
		},
	}
	c.Flags().BoolVar(&prompts, "prompts", false, "include the prompts")
	return c
}

func (a *app) teamList() error {
	for _, name := range team.BuiltinNames() {
		t, err := team.Builtin(name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(a.out, "%-14s %s\n", name, t.Description); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.out, "\nconvene team show NAME shows the details; a run that names no team uses %s\n", team.DefaultName)
	return err
}
