package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// showArtifacts lists the files of a run.
func (a *app) showArtifacts(ctx context.Context, log events.Log, summary events.RunSummary) error {
	all, err := runArtifacts(ctx, log, summary)
	if err != nil {
		return err
	}
	lines, w := []string{}, width(a.out)
	for i := range all {
		lines = append(lines, termview.ArtifactLines(&all[i].ArtifactCreated, all[i].Agent, w)...)
	}
	if len(lines) == 0 {
		lines = append(lines, fmt.Sprintf("run %s has no files", summary.Run))
	}
	return a.printLines(lines)
}

// runArtifacts are the files of a run, without those of earlier runs of its thread.
func runArtifacts(ctx context.Context, log events.Log, summary events.RunSummary) ([]web.ArtifactView, error) {
	all, err := web.ArtifactsOf(ctx, log, summary)
	return slices.DeleteFunc(all, func(a web.ArtifactView) bool { return a.Run != summary.Run }), err
}

// writeArtifact writes the bytes of a file of the run's thread, or the text that was read of
// it, to a file or to standard output.
func (a *app) writeArtifact(ctx context.Context, log events.Log, summary events.RunSummary, named string, text bool, output string) error {
	all, err := web.ArtifactsOf(ctx, log, summary)
	if err != nil {
		return err
	}
	known := agent.Artifacts{Open: func(ctx context.Context, id events.ArtifactID) (*io.SectionReader, error) {
		return log.OpenArtifact(ctx, events.ThreadKey{Tenant: summary.Tenant, Thread: summary.Thread}, id)
	}}
	for _, view := range all {
		known.Known = append(known.Known, view.ArtifactCreated)
	}
	created, err := known.Find(named)
	if err != nil {
		return usage(fmt.Errorf("run %s: %w", summary.Run, err))
	}
	id := created.Artifact
	if text {
		if id = created.Readable(); id == "" {
			return usage(fmt.Errorf("%s has no text: leave --text out for its bytes", created.Name))
		}
	}
	content, err := known.Open(ctx, id)
	if errors.Is(err, events.ErrNotFound) {
		return fmt.Errorf("the log names artifact %s (%s), and this store does not have its bytes", id.Short(), created.Name)
	}
	if err != nil {
		return err
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	if output == "" {
		_, err = unaltered(a.out).Write(data)
		return err
	}
	if err := writeOutput(output, data); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "wrote %s: artifact %s of run %s\n", output, id.Short(), summary.Run)
	return nil
}
