package main

import (
	"bytes"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/events"
)

func newExportCommand(a *app) *cobra.Command {
	var jsonl bool
	var output string
	c := &cobra.Command{
		Use:   "export RUN --jsonl",
		Short: "Write a run's log, one event a line",
		Long: `Write a run's log, one event a line: everything in its thread up to the run's last
event, so that convene replay can show it anywhere.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !jsonl {
				return usage(errors.New("say which format: --jsonl"))
			}
			return a.export(c.Context(), args[0], output)
		},
	}
	c.Flags().BoolVar(&jsonl, "jsonl", false, "the log as JSON lines")
	c.Flags().StringVarP(&output, "output", "o", "", "write to this file instead of stdout")
	return c
}

func (a *app) export(ctx context.Context, id, output string) (err error) {
	if output != "" {
		if err := checkOutput(output); err != nil {
			return usage(err)
		}
	}
	log, err := a.existingStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	run, err := a.findRun(ctx, log, id)
	if err != nil {
		return err
	}
	var file bytes.Buffer
	err = eachEvent(ctx, log, run, func(env events.Envelope) error {
		body, err := events.Encode(env)
		switch {
		case err != nil:
			return err
		case output == "":
			return a.printJSON(body)
		}
		file.Write(append(body, '\n'))
		return nil
	})
	if err != nil || output == "" {
		return err
	}
	return writeOutput(output, file.Bytes())
}
