package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

func newExportCommand(a *app) *cobra.Command {
	var jsonl, html, sarif, files, restore bool
	var output string
	c := &cobra.Command{
		Use:   "export [RUN] --jsonl | --zip | --html | --sarif",
		Short: "Write a run's log, one event per line, its dashboard as a single file, or what it found as SARIF",
		Long: `Write a run: everything in its thread up to the run's last event. --jsonl writes one
event per line, which convene replay can show anywhere; --html writes the dashboard as
one file that opens from disk and needs no network; --zip writes an archive with the log
(run.jsonl) and the run's files (artifacts/HASH/NAME), those of its tools included. By default it is the newest run that
is no row of a batch.

--sarif writes what a review found, as code hosts and editors take it (SARIF 2.1.0): the
"findings" of a structured answer, each with "message", and optionally "rule", "level"
(error, warning or note), "file" (relative to the root of the repository), "line",
"end_line" and "code". RUN may then be the output file of a batch: all its rows.`,
		Example: `  convene export --html -o run.html
  convene export reviews.jsonl --sarif -o reviews.sarif`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !jsonl && !html && !sarif && !files {
				return usage(errors.New("choose a format: --jsonl, --zip, --html or --sarif"))
			}
			if output != "" {
				if err := checkOutput(output); err != nil {
					return usage(err)
				}
			}
			if sarif {
				return a.exportSARIF(c.Context(), args, output)
			}
			return a.export(c.Context(), args, output, html, files, restore)
		},
	}
	c.Flags().BoolVar(&jsonl, "jsonl", false, "the log as JSON lines")
	c.Flags().BoolVar(&html, "html", false, "the dashboard with the run in it, as one HTML file")
	c.Flags().BoolVar(&sarif, "sarif", false, "what a review found, as SARIF 2.1.0")
	c.Flags().BoolVar(&files, "zip", false, "the log and the run's files, as a ZIP archive")
	c.Flags().BoolVar(&restore, "restore", false, "with what placeholders such as [EMAIL_1] stand for")
	c.MarkFlagsMutuallyExclusive("jsonl", "zip", "html", "sarif")
	c.MarkFlagsMutuallyExclusive("restore", "sarif")
	c.Flags().StringVarP(&output, "output", "o", "", "write to this file instead of stdout")
	return c
}

func (a *app) export(ctx context.Context, args []string, output string, html, files, restore bool) (err error) {
	log, err := a.storeToRead(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	run, err := a.namedRun(ctx, log, args)
	if err != nil {
		return err
	}
	if err := audited(ctx, log, run.Tenant, events.Audited{Action: events.AuditExported, Target: string(run.Run)}); err != nil {
		return err
	}
	if files {
		return a.exportZIP(ctx, log, run, output, restore)
	}
	if html {
		return a.exportHTML(ctx, log, run, output, restore)
	}
	var file bytes.Buffer
	err = eachEvent(ctx, log, run, func(env events.Envelope) error {
		body, err := events.Encode(env)
		if !restore {
			body = events.WithoutValues(body)
		}
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
	return a.writeExport(run, output, file.Bytes())
}

func (a *app) exportHTML(ctx context.Context, log events.Log, run events.RunSummary, output string, restore bool) error {
	key := events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread}
	var page bytes.Buffer
	if err := web.WriteHTML(&page, run, web.Encoded(ctx, log, key, run.LastSeq), restore); err != nil {
		return err
	}
	if output != "" {
		return a.writeExport(run, output, page.Bytes())
	}
	_, err := unaltered(a.out).Write(page.Bytes())
	return err
}

func (a *app) writeExport(run events.RunSummary, output string, content []byte) error {
	if err := writeOutput(output, content); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "wrote %s: run %s\n", output, run.Run)
	return nil
}
