package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/artifact"
)

// exportZIP writes a run's log and its files, one at a time.
func (a *app) exportZIP(ctx context.Context, log events.Log, run events.RunSummary, output string, restore bool) error {
	if output == "" {
		return zipped(ctx, log, run, restore, unaltered(a.out))
	}
	if err := writeStream(output, func(w io.Writer) error { return zipped(ctx, log, run, restore, w) }); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "wrote %s: run %s\n", output, run.Run)
	return nil
}

// zipped writes the archive: run.jsonl, and for each file that an event names artifacts/HASH/NAME,
// with the text that was read of it beside it. What the store lacks is left out.
func zipped(ctx context.Context, log events.Log, run events.RunSummary, restore bool, w io.Writer) error {
	archive := zip.NewWriter(w)
	lines, err := archive.Create("run.jsonl")
	if err != nil {
		return err
	}
	var created []events.ArtifactCreated
	err = eachEvent(ctx, log, run, func(env events.Envelope) error {
		if file, ok := env.Data.(events.ArtifactCreated); ok {
			created = append(created, file)
		}
		body, err := events.Encode(env)
		if !restore {
			body = events.WithoutValues(body)
		}
		if err == nil {
			_, err = lines.Write(append(body, '\n'))
		}
		return err
	})
	if err != nil {
		return err
	}
	key, written := events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread}, map[string]bool{}
	for _, file := range created {
		for _, id := range events.Named(file) {
			name := path.Join("artifacts", string(file.Artifact), artifact.Name(file.Name))
			if id != file.Artifact {
				name += ".text.txt"
			}
			if written[name] {
				continue
			}
			written[name] = true
			content, err := log.OpenArtifact(ctx, key, id)
			if errors.Is(err, events.ErrNotFound) {
				continue
			}
			var to io.Writer
			if err == nil {
				to, err = archive.Create(name)
			}
			if err == nil {
				_, err = io.Copy(to, content)
			}
			if err != nil {
				return err
			}
		}
	}
	return archive.Close()
}
