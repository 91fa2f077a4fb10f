package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// app is what every command works with: the process's surroundings, so that tests
// can give others.
type app struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
	// interrupts gives ^C and termination to whoever calls it.
	interrupts func() <-chan os.Signal

	flags globalFlags
	// running is set once a command has taken its arguments: errors before that are
	// mistakes in how it was called.
	running bool
}

// globalFlags are the flags that every command has.
type globalFlags struct {
	store    string
	logLevel string
}

// main runs the command line and gives the exit code.
func (a *app) main(args []string) int {
	root := newRootCommand(a)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(context.Background())
	if err != nil && !a.running && !errors.As(err, new(*exitError)) {
		err = usage(err)
	}
	return a.report(command, err)
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
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if err := c.ValidateFlagGroups(); err != nil {
				return err
			}
			a.running = true
			return nil
		},
		Args: unknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(flagError)
	flags := root.PersistentFlags()
	flags.StringVar(&a.flags.store, "store", "", "file that keeps the runs (default ./.convene/convene.db, or CONVENE_STORE)")
	flags.StringVar(&a.flags.logLevel, "log-level", "", "write structured log lines to stderr: debug, info, warn or error")
	root.AddCommand(
		newRunCommand(a), newBatchCommand(a), newServeCommand(a), newResumeCommand(a), newForkCommand(a), newCancelCommand(a),
		newRunsCommand(a), newShowCommand(a), newExportCommand(a), newReplayCommand(a),
		newTeamCommand(a), newDoctorCommand(a), newSimCommand(a), newVersionCommand(a),
	)
	return root
}
