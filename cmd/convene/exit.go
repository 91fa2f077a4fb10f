package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/runner"
)

// The exit codes. Where several apply the first of interrupted, failed, input, away,
// budget and degraded does.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2 // found before anything started
	exitDegraded    = 3
	exitBudget      = 4 // a bound of tokens, cost or time was met
	exitInput       = 5 // waiting for input
	exitAway        = 6 // parked: an endpoint could not be used
	exitDamaged     = 7 // of the store, named; what could be read was shown
	exitInterrupted = 130
)

// exitError ends the command with a code. Without an error inside, everything was
// said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage marks an error as found before anything was started.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err}
}

// beforeStart gives the code to an error that kept a run from being driven. A run
// that is held was found well and fails only for now.
func beforeStart(err error) error {
	if err == nil || errors.Is(err, events.ErrHeld) {
		return err
	}
	return usage(err)
}

// codeOf maps how a run ended, or where it stands, to the exit code.
func codeOf(result runner.Result, interrupted bool) int {
	switch {
	case interrupted && !result.Status.Over():
		return exitInterrupted
	case result.Status == events.StatusFailed && result.Failure == nil && budgetLimit(result.Limit):
		return exitBudget // met before there was anything to answer from
	case result.Status == events.StatusFailed, result.Status == events.StatusCancelled,
		result.Status == events.StatusRunning:
		return exitFailed
	case result.Status == events.StatusAwaitingInput:
		return exitInput
	case result.Status == events.StatusSuspended && result.Code != "":
		return exitAway
	case result.Status == events.StatusCompleted:
		return exitDone
	case budgetLimit(result.Limit):
		return exitBudget
	case result.Status == events.StatusSuspended:
		return exitInterrupted
	}
	return exitDegraded
}

// budgetLimit reports whether the bound is one of tokens, cost or time.
func budgetLimit(limit events.Limit) bool {
	return limit == events.LimitMaxTokens || limit == events.LimitMaxCostUSD || limit == events.LimitMaxTime
}

// aboveZero refuses flags that bound something and were given as nothing: 0 is not "no
// bound", which is what leaving the flag out means.
func aboveZero(c *cobra.Command, names ...string) error {
	for _, name := range names {
		flag := c.Flags().Lookup(name)
		if flag == nil || !flag.Changed {
			continue
		}
		value := flag.Value.String()
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			var duration time.Duration
			duration, err = time.ParseDuration(value)
			number = duration.Seconds()
		}
		if err != nil || math.IsInf(number, 0) || !(number > 0) { // NaN is not above 0 either
			return fmt.Errorf("--%s %s is not above 0. Leave it out to set no limit of your own", name, value)
		}
	}
	return nil
}

// report prints what went wrong, if anything, and gives the exit code.
func (a *app) report(command *cobra.Command, err error) int {
	if err == nil {
		return exitDone
	}
	var exit *exitError
	code := exitFailed
	if errors.As(err, &exit) {
		code = exit.code
		if exit.err == nil {
			return code
		}
	}
	if errors.Is(err, events.ErrDamaged) || errors.Is(err, sqlite.ErrDamaged) {
		code = exitDamaged
	}
	text := "convene: " + termview.Text(err.Error())
	if a.theme(a.err).Screen {
		text = termview.HelpText(text, width(a.err))
	}
	fmt.Fprintln(a.err, text)
	if code == exitUsage && !a.running && command != nil {
		fmt.Fprintf(a.err, "See `%s --help`.\n", command.CommandPath())
	}
	return code
}

// heldBy puts into words for a person that another process drives what they named;
// next is what they can do. Other errors pass.
func heldBy(err error, what, next string) error {
	var held *events.HeldError
	if !errors.As(err, &held) {
		return err
	}
	return fmt.Errorf("%s was left alone: %s drives it, since %s. %s (%w)",
		what, held.Owner, held.Since.Local().Format(time.DateTime), next, events.ErrHeld)
}
