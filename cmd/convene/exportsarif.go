package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/cmd/internal/sarif"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// exportSARIF writes the findings of a batch's output, or of a run.
func (a *app) exportSARIF(ctx context.Context, args []string, output string) error {
	reviews, err := a.reviews(ctx, args)
	if err != nil {
		return err
	}
	var file bytes.Buffer
	if err := sarif.Write(&file, reviews, version()); err != nil {
		return err
	}
	if output == "" {
		_, err := unaltered(a.out).Write(file.Bytes())
		return err
	}
	if err := writeOutput(output, file.Bytes()); err != nil {
		return err
	}
	found := 0
	for _, review := range reviews {
		found += len(review.Findings)
	}
	fmt.Fprintf(a.err, "wrote %s: %d findings of %d reviews\n", output, found, len(reviews))
	return nil
}

// reviews are those of the file that is named, else of the run.
func (a *app) reviews(ctx context.Context, args []string) ([]sarif.Review, error) {
	if len(args) == 0 {
		return a.reviewOfRun(ctx, args)
	}
	file, err := os.Open(args[0])
	if errors.Is(err, fs.ErrNotExist) {
		return a.reviewOfRun(ctx, args)
	}
	if err != nil {
		return nil, usage(unreadable(args[0], err))
	}
	defer func() { _ = file.Close() }()
	var reviews []sarif.Review
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLineBytes)
	for number := 1; lines.Scan(); number++ {
		review, err := reviewOfRow(lines.Bytes())
		if err != nil {
			return nil, usage(fmt.Errorf("%s:%d: %w", args[0], number, err))
		}
		reviews = append(reviews, review)
	}
	if err := lines.Err(); err != nil {
		return nil, usage(unreadable(args[0], err))
	}
	return reviews, nil
}

// reviewOfRow reads a line of a batch's output.
func reviewOfRow(line []byte) (sarif.Review, error) {
	var row batch.Output
	if err := json.Unmarshal(line, &row); err != nil || row.Status == "" {
		return sarif.Review{}, errors.New("this is no row that a batch wrote: give the file after its -o, or a run")
	}
	review := sarif.Review{Name: row.ID, Status: row.Status, Simulated: row.Simulated, Run: row.RunID, Basis: row.Basis}
	if row.Error != nil {
		review.Reason = row.Error.Message
	}
	return withFindings(review, row.Data)
}

// reviewOfRun reads the answer of the run that is named.
func (a *app) reviewOfRun(ctx context.Context, args []string) (_ []sarif.Review, err error) {
	log, err := a.storeToRead(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	summary, err := a.namedRun(ctx, log, args)
	if err != nil {
		return nil, err
	}
	run, err := loadRun(ctx, log, summary)
	if err != nil {
		return nil, err
	}
	d := describe(run, web.RunView{})
	review := sarif.Review{Name: string(run.Run), Status: run.Status, Simulated: run.Simulated, Run: run.Run, Reason: run.Reason, Basis: d.Basis}
	review, err = withFindings(review, []byte(d.Answer))
	if err != nil {
		return nil, usage(fmt.Errorf("run %s: %w", run.Run, err))
	}
	return []sarif.Review{review}, nil
}

// withFindings adds what an answer found; only a review that was completed must have one.
func withFindings(review sarif.Review, answer []byte) (sarif.Review, error) {
	findings, err := sarif.Read(answer)
	if err != nil && review.Status == events.StatusCompleted {
		return review, err
	}
	review.Findings = findings
	return review, nil
}
