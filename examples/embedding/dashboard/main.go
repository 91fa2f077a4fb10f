// Command dashboard is a program that serves convene's dashboard for one of its tenants:
// people watch runs there, and start and stop them. It is a module of its own, because who
// only drives runs needs nothing of what serves HTTP.
//
//	CONVENE_MODEL=openai/gpt-5-mini go run .   # or with the simulated model, without it
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"time"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/steer"
	"github.com/convene-run/convene/web"
)

// drainTime is how long calls in flight may take once the program is to end.
const drainTime = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, "dashboard.db", "acme", "127.0.0.1:8484"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, store string, tenant events.TenantID, address string) (err error) {
	log, err := sqlite.Open(ctx, store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	model := cmp.Or(os.Getenv("CONVENE_MODEL"), "sim")
	r, err := runner.New(runner.Config{Log: log, Models: endpoint.New(endpoint.Config{Default: model})})
	if err != nil {
		return err
	}
	return serve(ctx, out, log, r, tenant, address)
}

// serve has people watch, start and stop the runs of one tenant in a browser, until ctx
// ends. Runs under way are parked then, to be resumed.
func serve(ctx context.Context, out io.Writer, log events.Log, r *runner.Runner, tenant events.TenantID, address string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	// An address that others can reach needs a Keeper too.
	server, err := web.New(web.Config{
		Log: log, Kept: r.Kept(), Runs: steer.New(steer.Config{Runner: r}), As: access.Operator(tenant), Address: listener.Addr().String(),
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	fmt.Fprintf(out, "dashboard: http://%s/\n", listener.Addr())
	err = server.Serve(ctx, listener) // it is an http.Handler, too
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	return errors.Join(err, r.Shutdown(draining))
}
