package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/steer"
	"github.com/convene-run/convene/web"
)

// watchFlags are those of the commands that can show a run, or a batch, in a browser.
type watchFlags struct {
	open    bool
	address string
	linger  bool
}

// register adds the flags; what is "run" or "batch".
func (f *watchFlags) register(c *cobra.Command, what string) {
	flags := c.Flags()
	flags.BoolVar(&f.open, "open", false, "open the "+what+"'s dashboard in a browser")
	flags.StringVar(&f.address, "dashboard", "", "serve the "+what+"'s dashboard at this local address, such as "+defaultDashboard)
	flags.BoolVar(&f.linger, "linger", false, "keep serving the dashboard after the "+what+" has ended, until ^C")
}

// registerFile adds the flags for what is over already.
func (f *watchFlags) registerFile(c *cobra.Command) {
	c.Flags().BoolVar(&f.open, "open", false, "open the run's dashboard in a browser, until ^C; --speed plays the run")
	c.Flags().StringVar(&f.address, "dashboard", "", "serve the run's dashboard at this local address, such as "+defaultDashboard)
}

// dashboardFlag chooses the address of a run's or a batch's dashboard.
const dashboardFlag = "--dashboard"

// check refuses what would do nothing.
func (f *watchFlags) check() error {
	if f.linger && !f.wanted() {
		return errors.New("--linger needs a dashboard: add --open or --dashboard")
	}
	return nil
}

func (f *watchFlags) wanted() bool { return f.open || f.address != "" }

// companion is the dashboard beside a run or a batch; nil does nothing.
type companion struct {
	app   *app
	flags watchFlags
	// runner drives what is shown, and what is started from the page.
	runner *runner.Runner
	dash   *dashboard
}

// watch serves the dashboard, before anything has started.
func (d *driver) watch(r *runner.Runner) (*companion, error) {
	w := &companion{app: d.app, flags: d.flags.watch, runner: r}
	var err error
	w.dash, err = d.app.dashboard(web.Config{Log: d.log, Kept: r.Kept(), Runs: steer.New(steer.Config{Runner: r}), Batches: &steer.Batches{Runner: r, Again: d.goOn}, Address: w.flags.where(), Logger: d.app.requestLog(d.level)}, dashboardFlag)
	if err != nil {
		return nil, usage(err)
	}
	return w, nil
}

// add shows a run that has started.
func (w *companion) add(run *runner.Run) error {
	if w == nil {
		return nil
	}
	return w.dash.announce(w.flags.open, "runs/"+string(run.ID()))
}

// announce shows a batch that has started.
func (w *companion) announce(id events.BatchID) error {
	if w == nil {
		return nil
	}
	return w.dash.announce(w.flags.open, "batches/"+string(id))
}

// stays is said where the dashboard outlives what it shows.
const stays = "the dashboard stays until ^C"

// linger waits until the person who watches has seen enough, if that is wanted.
func (w *companion) linger() {
	if w == nil || !w.flags.linger {
		return
	}
	w.dash.say(stays)
	<-w.app.interrupts()
}

// stop parks what was started from the page, and ends the serving.
func (w *companion) stop() error {
	if w == nil {
		return nil
	}
	draining, done := context.WithTimeout(context.Background(), drainTime)
	defer done()
	return errors.Join(w.runner.Shutdown(draining), w.dash.stop())
}

// where is the address to serve: any free port unless one was chosen.
func (f *watchFlags) where() string {
	if f.address != "" {
		return f.address
	}
	return "127.0.0.1:0"
}

// showFile serves what a file or a stored run holds until ^C: the same page, with
// nothing to start or steer. speed plays it; 0 shows its end.
func (a *app) showFile(ctx context.Context, config web.Config, run string, f watchFlags, speed float64) error {
	config.Address = f.where()
	dash, err := a.dashboard(config, dashboardFlag)
	if err != nil {
		return usage(err)
	}
	place := "runs/" + run
	if speed > 0 {
		place += fmt.Sprintf("?play=1&speed=%g", speed)
	}
	interrupts := a.interrupts() // before anybody knows where to look
	if err := dash.announce(f.open, place); err != nil {
		return errors.Join(err, dash.stop())
	}
	dash.say(stays)
	select {
	case <-interrupts:
	case <-dash.ended:
	case <-ctx.Done():
	}
	return dash.stop()
}
