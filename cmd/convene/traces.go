package main

import (
	"context"
	"time"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/otel"
	"github.com/convene-run/convene/runner"
)

// flushTime is how long the end of a command waits for a collector to take the last spans:
// one that is there takes milliseconds, and a person waits.
const flushTime = 5 * time.Second

// exportDelay is how long events wait to become spans: the SDK keeps those for five seconds.
const exportDelay = time.Second

// traces exports what the runs of a runner do, as the variables of OpenTelemetry ask. A nil
// one exports nothing.
type traces struct {
	app      *app
	exporter *otel.Exporter
	runner   *runner.Runner
}

func (a *app) traces(log events.Reader) (*traces, error) {
	if !otel.Enabled(a.env) {
		return nil, nil
	}
	exporter, err := otel.New(context.Background(), otel.Config{Log: log, Env: a.env, Version: version(), OnError: func(err error) {
		a.say(termview.Line("OpenTelemetry: " + err.Error()))
	}})
	a.exporter = exporter
	return &traces{app: a, exporter: exporter}, err
}

// traceparent gives the span that a call of a tool is: the one that is exported, or where
// nothing is, that of whoever asked for the run.
func (a *app) traceparent(in agent.Invocation) string {
	if a.exporter == nil {
		return in.Traceparent
	}
	return a.exporter.Traceparent(in.Run, in.Traceparent, in.Ref)
}

func (t *traces) hooks() runner.Hooks {
	if t == nil {
		return runner.Hooks{}
	}
	return runner.Hooks{OnEvent: t.exporter.OnEvent, Delay: exportDelay}
}

// of says whose runs are exported.
func (t *traces) of(r *runner.Runner) {
	if t != nil {
		t.runner = r
	}
}

// stop exports the end of what was driven. Whatever comes of it, the runs have ended.
func (t *traces) stop() error {
	if t == nil || t.runner == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	err := t.runner.Shutdown(ctx) // its hooks have been told of everything
	if late := t.exporter.Shutdown(ctx); late != nil {
		t.app.say(termview.Line("OpenTelemetry: " + late.Error()))
	}
	return err
}
