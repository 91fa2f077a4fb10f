package main

import (
	"errors"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// endpointLimits are the limits of each endpoint, as people set them; 0 leaves one to
// what the endpoint tells, or takes.
type endpointLimits struct {
	requests, tokens, inFlight endpointLimit
}

func (l *endpointLimits) register(flags *pflag.FlagSet) {
	flags.Var(&l.requests, "rpm", "maximum requests per minute at each endpoint (default: what it reports or accepts)")
	flags.Var(&l.tokens, "tpm", "maximum input and output tokens per minute at each endpoint (default: what it reports or accepts)")
	flags.Var(&l.inFlight, "max-in-flight", "maximum calls in flight at each endpoint (default: what it accepts)")
}

// endpointLimit is a number above 0, or 0 where none was given.
type endpointLimit int

// Set implements [pflag.Value].
func (l *endpointLimit) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return errors.New("want a whole number above 0. Leave it out to set no limit of your own")
	}
	*l = endpointLimit(n)
	return nil
}

// Type implements [pflag.Value].
func (l *endpointLimit) Type() string { return "int" }

// String implements [pflag.Value].
func (l *endpointLimit) String() string {
	if *l == 0 {
		return ""
	}
	return strconv.Itoa(int(*l))
}

// limiters gives the state of every endpoint that has been asked.
func (a *app) limiters() []llm.LimiterState {
	if a.endpoints == nil {
		return nil
	}
	var states []llm.LimiterState
	for _, e := range a.endpoints() {
		if limiter, ok := e.Limiter.(interface{ State() llm.LimiterState }); ok {
			state := limiter.State()
			state.Endpoint = e.Name
			states = append(states, state)
		}
	}
	return states
}

// shownLimiters is the same for the dashboard.
func (a *app) shownLimiters() (shown []events.BatchLimiter) {
	now := time.Now()
	for _, state := range a.limiters() {
		shown = append(shown, state.At(now))
	}
	return shown
}
