package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
)

// batchDriver runs a batch in front of a person: its view, and what ^C does.
type batchDriver struct {
	app *app
	log events.Log
	job *batch.Job
	// watched is the dashboard beside the batch, nil without one.
	watched *watched
	view    batchView
	// again gives the command that goes on with the batch.
	again func(more ...string) string

	interrupted int
	notice      string
	drained     <-chan time.Time
}

// leaveTime bounds the wait for runs to be parked after the second ^C: parking takes
// milliseconds, and what is not parked is resumed as after a kill.
const leaveTime = 500 * time.Millisecond

type batchEnd struct {
	report batch.Report
	err    error
}

func (d *batchDriver) drive(ctx context.Context) error {
	interrupts := d.app.interrupts()
	ended := make(chan batchEnd, 1)
	known, tellKnown := context.WithCancel(ctx)
	go func() {
		report, err := d.job.Run(ctx)
		tellKnown()
		ended <- batchEnd{report, err}
	}()
	_ = d.log.Wait(known, d.job.Key(), 0) // until the log has what the dashboard is to show
	if err := d.watched.announce(d.job.ID()); err != nil {
		d.job.Halt()
		return errors.Join(err, (<-ended).err)
	}
	ticker := time.NewTicker(d.view.interval())
	defer ticker.Stop()
	d.view.progress(d.job.Progress(), d.notice)
	var left <-chan time.Time
	for {
		select {
		case end := <-ended:
			return d.end(end)
		case <-left:
			return d.end(batchEnd{report: d.job.Report()})
		case <-ticker.C:
		case <-d.drained:
			d.job.Halt()
		case <-interrupts:
			if d.interrupt(); d.interrupted > 1 {
				left = time.After(leaveTime)
			}
		}
		d.view.progress(d.job.Progress(), d.notice)
	}
}

// interrupt lets calls in flight end first; asked again, it leaves.
func (d *batchDriver) interrupt() {
	if d.interrupted++; d.interrupted > 1 {
		d.notice = "stopping"
		d.job.Halt()
		return
	}
	d.notice = fmt.Sprintf("finishing calls in flight (up to %d s) – ^C again stops at once", drainTime/time.Second)
	d.drained = time.After(drainTime)
	d.job.Suspend()
}

func (d *batchDriver) end(end batchEnd) error {
	code := batchCode(end.report, end.err, d.interrupted > 0)
	d.view.report(end.report, d.commands(end.report))
	if d.interrupted == 0 {
		d.watched.linger()
	}
	if end.err != nil {
		return &exitError{code, fmt.Errorf("%w. What is done is kept: mend it and go on with %s", end.err, d.again())}
	}
	if code != exitDone {
		return &exitError{code: code}
	}
	return nil
}

// commands are those that lead on.
func (d *batchDriver) commands(report batch.Report) []string {
	switch {
	case d.job.ToStdout():
		return nil
	case report.Left > 0:
		return []string{"go on with: " + d.again()}
	case report.Failed > 0:
		return []string{"run the failed rows again with: " + d.again("--retry-failed")}
	}
	return nil
}

func batchCode(report batch.Report, err error, interrupted bool) int {
	stop := report.Stop
	switch {
	case interrupted && report.Left != 0:
		return exitInterrupted
	case err != nil:
		return exitFailed
	case stop != nil && report.Left != 0 && (stop.Kind == batch.StopBudget || stop.Kind == batch.StopTimeout):
		return exitBudget
	case stop != nil && report.Left != 0:
		return exitFailed
	case report.Failed+report.Degraded > 0:
		return exitDegraded
	}
	return exitDone
}
