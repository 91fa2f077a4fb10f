package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/team"
)

// completion proposes what a word of the command line may become.
type completion = func(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective)

// addCompletions has a command, and those below it, propose runs, batches, models and teams
// where they are to be named.
func (a *app) addCompletions(c *cobra.Command) {
	for flag, propose := range map[string]completion{"model": a.completeModels, "batch": a.completeBatches, "team": completeTeams} {
		if c.Flags().Lookup(flag) == nil && c.PersistentFlags().Lookup(flag) == nil {
			continue
		}
		if _, has := c.GetFlagCompletionFunc(flag); !has {
			_ = c.RegisterFlagCompletionFunc(flag, propose) // fails only for a flag that is not there
		}
	}
	_, wanted, _ := strings.Cut(c.Use, " ")
	if c.ValidArgsFunction == nil && strings.Contains(wanted, "RUN") {
		c.ValidArgsFunction = a.completeRuns
	}
	for _, sub := range c.Commands() {
		a.addCompletions(sub)
	}
}

// toComplete opens the store for a completion, which says nothing of what goes wrong. The
// caller closes it.
func (a *app) toComplete(c *cobra.Command) (events.Log, error) {
	a.notices = func(string) {}
	if loaded, err := loadConfig(); err == nil {
		a.config, a.env = loaded, loaded.Env(a.env)
	}
	return a.storeToRead(c.Context())
}

// maxProposed bounds what is proposed: more than that nobody reads.
const maxProposed = 50

// completeRuns proposes the newest runs, and files where a command takes those, too.
func (a *app) completeRuns(c *cobra.Command, args []string, word string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	if strings.Contains(c.Use, "FILE") {
		directive = cobra.ShellCompDirectiveKeepOrder
	}
	if len(args) > 0 && !strings.Contains(c.Use, "RUN...") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	log, err := a.toComplete(c)
	if err != nil {
		return nil, directive
	}
	defer func() { _ = log.Close() }()
	runs, err := log.Runs(c.Context(), events.RunQuery{Tenant: events.LocalTenant, Own: true, Limit: maxProposed})
	if err != nil {
		return nil, directive
	}
	for _, run := range runs {
		id := termview.ShortID(run.Run)
		if strings.HasPrefix(id, word) && !slices.Contains(args, id) {
			found = append(found, cobra.CompletionWithDesc(id, termview.StatusWord(run.Status)+": "+termview.Clip(run.Request, describedCells)))
		}
	}
	return found, directive
}

// describedCells bounds what is said of a proposal.
const describedCells = 50

func (a *app) completeBatches(c *cobra.Command, _ []string, word string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	log, err := a.toComplete(c)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer func() { _ = log.Close() }()
	batches, err := log.Batches(c.Context(), events.BatchQuery{Tenant: events.LocalTenant, Limit: maxProposed})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for i := range batches {
		if id := termview.ShortID(events.RunID(batches[i].Batch)); strings.HasPrefix(id, word) {
			found = append(found, cobra.CompletionWithDesc(id, termview.Clip(batches[i].Input, describedCells)))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeModels proposes the models whose price is known, and the simulated one.
func (a *app) completeModels(_ *cobra.Command, _ []string, word string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	if loaded, err := loadConfig(); err == nil {
		a.config, a.env = loaded, loaded.Env(a.env)
	}
	table, err := a.prices()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, name := range append(table.Names(), sim.Provider) {
		if strings.HasPrefix(name, word) {
			found = append(found, name)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeTeams proposes the built-in teams, and files.
func completeTeams(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return team.BuiltinNames(), cobra.ShellCompDirectiveDefault
}
