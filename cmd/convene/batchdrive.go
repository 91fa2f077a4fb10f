package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
)

// batchDriver runs a batch in front of a person: its view, and what ^C does.
type batchDriver struct {
	app   *app
	log   events.Reader
	batch *batch.FileBatch
	// companion is the dashboard beside the batch, nil without one.
	companion *companion
	view      batchView
	// again gives the command that continues the batch.
	again func(more ...string) string
	// open makes the batch ready once more; retry has its failed and degraded rows run again.
	open func(ctx context.Context, retry bool) (*batch.FileBatch, error)

	// rests has one token while the batch can be continued from its dashboard. Who takes it
	// may read batch, and sends to wanted: true for a retry.
	rests  chan struct{}
	wanted chan bool

	announced   bool
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

// run drives the batch, and again when that is asked for from its dashboard.
func (d *batchDriver) run(ctx context.Context) error {
	err := d.drive(ctx)
	for d.interrupted == 0 {
		retry, again := d.rest()
		if !again {
			break
		}
		opened, failed := d.open(ctx, retry)
		if failed != nil {
			d.app.say(termview.Line(fmt.Sprintf("the batch cannot be continued: %v", failed)))
			continue
		}
		d.batch = opened
		err = d.drive(ctx)
	}
	return err
}

// rest waits, where the dashboard lingers, for ^C or for what is asked from there.
func (d *batchDriver) rest() (retry, again bool) {
	if d.companion == nil || !d.companion.flags.linger {
		return false, false
	}
	d.companion.dash.say(stays)
	if !d.batch.ToStdout() {
		d.rests <- struct{}{}
	}
	select {
	case <-d.app.interrupts():
		return false, false
	case retry = <-d.wanted:
		return retry, true
	}
}

// restWait is how long a request waits for the batch to rest: its log says a moment earlier
// that it has ended.
const restWait = 2 * time.Second

// goOn continues the batch while it rests, and reports whether it does.
func (d *batchDriver) goOn(id events.BatchID, retry bool) bool {
	select {
	case <-d.rests:
	case <-time.After(restWait):
		return false
	}
	if id != d.batch.ID() {
		d.rests <- struct{}{}
		return false
	}
	d.wanted <- retry
	return true
}

func (d *batchDriver) drive(ctx context.Context) error {
	interrupts := d.app.interrupts()
	ended := make(chan batchEnd, 1)
	known, tellKnown := context.WithCancel(ctx)
	go func() {
		report, err := d.batch.Run(ctx)
		tellKnown()
		ended <- batchEnd{report, err}
	}()
	_ = d.log.Wait(known, d.batch.Key(), 0) // until the log has what the dashboard is to show
	if err := d.announce(); err != nil {
		d.batch.Halt()
		return errors.Join(err, (<-ended).err)
	}
	ticker := time.NewTicker(d.view.interval())
	defer ticker.Stop()
	d.view.progress(d.batch.Progress(), d.notice)
	var left <-chan time.Time
	for {
		select {
		case end := <-ended:
			return d.end(end)
		case <-left:
			return d.end(batchEnd{report: d.batch.Report()})
		case <-ticker.C:
		case <-d.drained:
			d.batch.Halt()
		case <-interrupts:
			if d.interrupt(); d.interrupted > 1 {
				left = time.After(leaveTime)
			}
		}
		d.view.progress(d.batch.Progress(), d.notice)
	}
}

// announce shows the batch once it has started, the first time.
func (d *batchDriver) announce() error {
	if d.announced {
		return nil
	}
	d.announced = true
	return d.companion.announce(d.batch.ID())
}

// interrupt lets calls in flight end first; asked again, it leaves.
func (d *batchDriver) interrupt() {
	if d.interrupted++; d.interrupted > 1 {
		d.notice = "stopping"
		d.batch.Halt()
		return
	}
	d.notice = fmt.Sprintf("finishing calls in flight (up to %d s) – ^C again stops at once", drainTime/time.Second)
	d.drained = time.After(drainTime)
	d.batch.Suspend()
}

func (d *batchDriver) end(end batchEnd) error {
	code := batchCode(end.report, end.err, d.interrupted > 0)
	d.view.report(end.report, d.commands(end.report))
	if end.err != nil {
		return &exitError{code, fmt.Errorf("%w. What is done is kept: fix the cause and continue with: %s", end.err, d.again())}
	}
	if code != exitDone {
		return &exitError{code: code}
	}
	return nil
}

// commands are those that lead on.
func (d *batchDriver) commands(report batch.Report) []string {
	switch {
	case d.batch.ToStdout():
		return nil
	case report.Left > 0 && report.Stop != nil && report.Stop.Limit != "":
		// The same bound again would start nothing.
		return []string{"continue it with: " + d.again(events.Flag(report.Stop.Limit), events.Amount(report.Stop.Limit, report.Stop.Suffices))}
	case report.Left > 0:
		return []string{"continue it with: " + d.again()}
	}
	switch failed, degraded := report.Retriable(); {
	case failed > 0 && degraded > 0:
		return []string{"run the failed and degraded rows again with: " + d.again("--retry-failed", "--retry-degraded")}
	case failed > 0:
		return []string{"run the failed rows again with: " + d.again("--retry-failed")}
	case degraded > 0:
		return []string{"run the degraded rows again with: " + d.again("--retry-degraded")}
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
	case stop != nil && report.Left != 0 && stop.Kind == batch.StopInterrupted: // from a dashboard
		return exitInterrupted
	case stop != nil && report.Left != 0 && stop.Kind == batch.StopEndpoint:
		return exitAway
	case stop != nil && report.Left != 0 && stop.Kind == batch.StopInput:
		return exitInput
	case stop != nil && report.Left != 0 && (stop.Kind == batch.StopBudget || stop.Kind == batch.StopTimeout):
		return exitBudget
	case stop != nil && report.Left != 0:
		return exitFailed
	case report.Failed+report.Degraded > 0:
		return exitDegraded
	}
	return exitDone
}
