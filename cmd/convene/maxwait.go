package main

import (
	"errors"
	"time"

	"github.com/spf13/pflag"

	"github.com/convene-run/convene/runner"
)

// maxWait is the value of --max-wait, as package runner takes it: 0 where it was not
// given.
type maxWait time.Duration

// noMaxWait waits without end.
const noMaxWait = "none"

func (w *maxWait) register(flags *pflag.FlagSet, usual string) {
	flags.Var(w, "max-wait", "how long to wait for an unavailable endpoint before the run is parked; 0 for not at all, none for no limit (default "+usual+")")
}

// Set implements [pflag.Value].
func (w *maxWait) Set(text string) error {
	if text == noMaxWait {
		*w = maxWait(runner.Forever)
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return errors.New("want a time such as 30m, or none")
	}
	*w = maxWait(max(d, time.Nanosecond)) // 0 is for not given
	return nil
}

// Type implements [pflag.Value].
func (w *maxWait) Type() string { return "duration" }

// String implements [pflag.Value].
func (w *maxWait) String() string {
	switch d := time.Duration(*w); d {
	case 0:
		return ""
	case runner.Forever:
		return noMaxWait
	default:
		return d.Truncate(time.Microsecond).String()
	}
}
