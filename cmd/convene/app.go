package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/cmd/internal/config"
	"github.com/convene-run/convene/cmd/internal/extract"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/otel"
	"github.com/convene-run/convene/toolbox"
)

// app is what every command works with: the process's surroundings, so that tests
// can give others.
type app struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
	// interrupts gives ^C, termination and the end of the terminal to whoever calls it.
	interrupts func() <-chan os.Signal

	flags globalFlags
	// config is what the files say; it says nothing before it was read.
	config *config.Config
	// extracted reads files, once extracts has set it up.
	extracts  sync.Once
	extracted extract.Extractor
	// toolbox opens the tools that teams switch on.
	toolbox *toolbox.Toolbox
	// exporter is set before runs begin that are exported to OpenTelemetry.
	exporter *otel.Exporter
	// endpoints gives those that have been asked; nil before there are any.
	endpoints func() []*llm.Endpoint
	// notices takes lines for the person who watches. Defaults to err as it is.
	notices func(line string)
	// running is set once a command has taken its arguments: errors before that are
	// mistakes in how it was called.
	running bool
	// damaged is what a command that only read found out about the store it read.
	damaged error
}

// globalFlags are the flags that every command has.
type globalFlags struct {
	store    string
	logLevel string
	prices   string
	// api is that of the commands that ask models.
	api string
	// limits are those of the commands that make many calls.
	limits endpointLimits
}

// main runs the command line and gives the exit code.
func (a *app) main(args []string) int {
	a.forPeople()
	root := newRootCommand(a)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(context.Background())
	if a.toolbox != nil {
		a.toolbox.Close()
	}
	if err == nil && a.damaged != nil {
		err = &exitError{exitDamaged, a.damaged}
	}
	if err != nil && !a.running && !errors.As(err, new(*exitError)) {
		err = usage(err)
	}
	return a.report(command, err)
}

// say gives a line to the person who watches.
func (a *app) say(line string) {
	if a.notices != nil {
		a.notices(line)
		return
	}
	fmt.Fprintln(a.err, line)
}

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "convene",
		Short: "Gather a team of LLM specialists around one request",
		Long: `convene gathers a team of LLM specialists around one request: a facilitator plans
tasks, dispatches the specialists in parallel, they write into a shared document,
and the facilitator consolidates it and answers. Every run is kept in a log that can
be resumed, shown and replayed.`,
		Example: `  convene run --model sim "Plan three days in Kyoto for two"
  convene runs`,
		SilenceErrors: true, SilenceUsage: true, Version: version(),
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if err := exclusive(c); err != nil {
				return err
			}
			a.running = true
			return a.configure(c)
		},
		Args: unknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate(versionLine())
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(flagError)
	flags := root.PersistentFlags()
	flags.StringVar(&a.flags.store, "store", "", "database file for the runs (or CONVENE_STORE, or store in the configuration; default .convene/convene.db in this directory, or in the nearest parent that has one)")
	flags.StringVar(&a.flags.logLevel, "log-level", "", "write structured log lines to stderr: debug, info, warn or error")
	flags.StringVar(&a.flags.prices, "prices", "", "file with model prices, which override the built-in ones: see convene models --help")
	root.AddCommand(
		newRunCommand(a), newChatCommand(a), newBatchCommand(a), newServeCommand(a), newMCPCommand(a), newResumeCommand(a), newForkCommand(a), newCancelCommand(a),
		newRunsCommand(a), newBatchesCommand(a), newShowCommand(a), newExportCommand(a), newReplayCommand(a), newAuditCommand(a),
		newStoreCommand(a), newTeamCommand(a), newTokenCommand(a), newUserCommand(a), newModelsCommand(a), newConfigCommand(a), newDoctorCommand(a), unconfigured(newSimCommand(a)), unconfigured(newVersionCommand(a)),
	)
	a.addAPIFlag(root)
	a.addCompletions(root)
	root.SetHelpCommand(newHelpCommand(root))
	a.fitHelp(root)
	root.InitDefaultCompletionCmd()
	if addManCommand != nil {
		addManCommand(root)
	}
	inOurWords(root)
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Args, completion.RunE = unknownCommand, func(c *cobra.Command, _ []string) error { return c.Help() }
		unconfigured(completion)
	}
	return root
}

// addManCommand adds the command that writes the man pages, in the build that has it.
var addManCommand func(root *cobra.Command)
