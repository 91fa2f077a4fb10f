package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/internal/sim"
)

// simFlags are those of `convene sim`.
type simFlags struct {
	addr      string
	faults    string
	behaviour string
	report    bool
	options   sim.Options
}

func newSimCommand(a *app) *cobra.Command {
	var f simFlags
	c := &cobra.Command{
		Use:   "sim",
		Short: "Serve the simulated model over chat completions, Responses and Messages",
		Long: `Serve a simulated model over the APIs that real models have: chat completions, and
Responses and Messages, validated as strictly as their providers do. Latency and faults
are configurable. It plays the part of any team's agents from the request alone; it knows a
few cities, a few things to compare and some mistakes in code, and says of all else that it
only shows how a run goes. ^C stops it.

It plays conversations too: a specialist that has one asks the questions of its prompt, one
step at a time, and gives it back; "cancel", "never mind" and "that's all" end it sooner.

Behaviours, in place of a good model:
  endless   calls tools for ever, whatever it is told
  circles   dispatches the same tasks again and again
  once      dispatches once and answers, whatever came of it
  flood     creates 500 tasks at once
  huge      ends every conversation with ten megabytes of text
  empty     answers nothing at all
  decline   each specialist declines the last of its tasks

Faults are ` + sim.FaultSyntax + `.`,
		Example: `  convene sim --first-token 150ms --per-chunk 10ms
  convene sim --faults "503=10%,429-above=8,cut=5%"`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.sim(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.addr, "addr", "127.0.0.1:8485", "address to listen on; port 0 takes a free one")
	flags.DurationVar(&f.options.FirstToken, "first-token", 0, "time to the first token of a reply")
	flags.DurationVar(&f.options.PerChunk, "per-chunk", 0, "time between the chunks of a reply")
	flags.Uint64Var(&f.options.Seed, "seed", 0, "seed for text and faults; equal seeds give equal replies")
	flags.BoolVar(&f.options.EarlyDispatch, "early-dispatch", false, "plan and dispatch in one turn")
	flags.StringVar(&f.faults, "faults", "", "faults to inject, such as \"503=10%,cut=5%\"")
	flags.StringVar(&f.behaviour, "behaviour", "", "simulate a misbehaving model: "+names(sim.Behaviours()[1:]))
	flags.BoolVar(&f.report, "report", false, "print what was served, as JSON, on exit")
	return c
}

func (a *app) sim(ctx context.Context, f simFlags) error {
	var err error
	if f.options.Faults, err = sim.ParseFaults(f.faults); err != nil {
		return usage(err)
	}
	f.options.Behaviour = sim.Behaviour(f.behaviour)
	if !slices.Contains(sim.Behaviours(), f.options.Behaviour) {
		return usage(fmt.Errorf("--behaviour %q is none of %s", f.behaviour, names(sim.Behaviours()[1:])))
	}
	if f.options.FirstToken < 0 || f.options.PerChunk < 0 {
		return usage(errors.New("--first-token and --per-chunk cannot be negative"))
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.addr)
	if err != nil {
		return usage(fmt.Errorf("%w. --addr sets another address", err))
	}
	interrupts := a.interrupts()
	fmt.Fprintf(a.err, "simulated model at http://%s/v1 – use it with: convene run --base-url http://%[1]s/v1 --model sim \"…\"\n", listener.Addr())
	return a.serveSim(ctx, interrupts, listener, sim.NewServer(f.options), f.report)
}

// simGrace is how long replies under way may take to end after ^C.
const simGrace = 2 * time.Second

func (a *app) serveSim(
	ctx context.Context, interrupts <-chan os.Signal, listener net.Listener, model *sim.Server, report bool,
) error {
	server := &http.Server{Handler: model, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-interrupts:
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), simGrace)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		_ = server.Close() // replies that are still under way are cut
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	if !report {
		return nil
	}
	encoder := json.NewEncoder(a.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(model.Report())
}
