package otel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/convene-run/convene/events"
)

// Config is what an [Exporter] works with. Log is required.
type Config struct {
	// Log is that of the runs, read where a run was begun by another process.
	Log events.Reader
	// Env gives the variables that say what is exported. Defaults to [os.Getenv]. The SDK
	// reads those of the process: addresses, headers, bounds of its queue.
	Env func(string) string
	// Version is convene's.
	Version string
	// OnError is told when a collector does not take something, until it takes something
	// again. Defaults to nobody.
	OnError func(error)
}

// Exporter makes traces and metrics of runs. It is safe for concurrent use.
type Exporter struct {
	log     events.Reader
	content bool
	// tracer decides which traces are sampled. Spans are made without it.
	tracer  trace.Tracer
	traces  *traceSink // nil where they are not wanted
	meters  *sdkmetric.MeterProvider
	metrics *metrics // nil where they are not wanted

	mu sync.Mutex // guards what follows
	// runs are those that are driven here. One that is not exported, since it is not sampled or
	// its beginning could not be read, is nil.
	runs map[events.RunID]*traced
}

// traced is a run whose trace is sampled.
type traced struct {
	*fold
	// root is the span of the run, above the one that it is part of.
	root, above trace.SpanContext
}

// OnEvent takes an event of a run that is driven here, for [runner.Hooks]: those of a thread in
// their order. It returns soon, and never waits for a collector.
func (e *Exporter) OnEvent(env events.Envelope) {
	if e.metrics != nil {
		e.metrics.count(env)
	}
	if e.traces == nil || env.Run == "" || !folded[env.Data.Kind()] {
		return
	}
	if run := e.runOf(env); run != nil {
		for _, s := range run.apply(env) {
			e.traces.add(run, s)
		}
	}
	switch env.Data.(type) {
	case events.WorkflowFinished, events.RunSuspended:
		e.mu.Lock()
		delete(e.runs, env.Run)
		e.mu.Unlock()
	}
}

// runOf gives the run of an event, nil if that is not exported. What was known of one that is
// resumed is out of date: another process may have driven it meanwhile.
func (e *Exporter) runOf(env events.Envelope) *traced {
	started, begins := env.Data.(events.WorkflowStarted)
	_, resumed := env.Data.(events.RunResumed)
	e.mu.Lock()
	run, known := e.runs[env.Run]
	e.mu.Unlock()
	if known && !begins && !resumed {
		return run
	}
	if begins {
		run = e.begin(env, started)
	} else {
		run = e.load(env)
	}
	e.mu.Lock()
	e.runs[env.Run] = run
	e.mu.Unlock()
	return run
}

// load folds what a run had before the event, nil if that cannot be read. A process that let
// go of the run in good order has exported it; what one that died has not, nobody knows, and
// the same spans may come twice.
func (e *Exporter) load(next events.Envelope) *traced {
	before, err := e.log.Read(context.Background(), next.Key(), 0, 0, slices.Collect(maps.Keys(folded))...)
	if err != nil {
		return nil
	}
	var run *traced
	var spans []*span
	for _, env := range before {
		if env.Run != next.Run || env.Seq >= next.Seq {
			continue
		}
		if started, ok := env.Data.(events.WorkflowStarted); ok {
			run = e.begin(env, started)
		} else if run != nil {
			spans = append(spans, run.apply(env)...)
		}
	}
	if run != nil && !run.parked {
		for _, s := range spans {
			e.traces.add(run, s)
		}
	}
	return run
}

// begin begins a run's trace, within that of whoever asked for it: nil if it is not sampled.
func (e *Exporter) begin(env events.Envelope, started events.WorkflowStarted) *traced {
	root, above := e.root(env.Run, started.Traceparent)
	if !root.IsSampled() {
		return nil
	}
	run := &traced{newFold(env, started, e.content), root, above}
	run.fold.root.parent = above.SpanID()
	return run
}

// root gives the span of a run as the sampler decides on it, and the one that it is part of.
func (e *Exporter) root(run events.RunID, traceparent string) (root, above trace.SpanContext) {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent})
	above = trace.SpanContextFromContext(ctx)
	_, span := e.tracer.Start(context.WithValue(ctx, idsKey{}, ids{traceOf(run), rootSpan(run)}), invokeWorkflow) // for its context: it never ends
	return span.SpanContext(), above
}

// Traceparent gives the span that the call of a tool will have, as W3C Trace Context writes
// it, for the call to take along. The flag is what the sampler says of the run's trace.
// above is the span that the run is part of, "" for none.
func (e *Exporter) Traceparent(run events.RunID, above string, call events.CallRef) string {
	root, _ := e.root(run, above)
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), root.WithSpanID(toolSpan(run, call))), carrier)
	return carrier["traceparent"]
}

// Shutdown sends what is left, as long as ctx lasts. Nothing is exported afterwards.
func (e *Exporter) Shutdown(ctx context.Context) error {
	err := errors.Join(e.traces.shutdown(ctx), e.meters.Shutdown(ctx))
	if err != nil {
		return fmt.Errorf("export the last traces and metrics: %w", err)
	}
	return nil
}

// ids are those that the next span gets.
type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

type idsKey struct{}

// givenIDs are ids that the context has: those of the log.
type givenIDs struct{}

func (givenIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	given, _ := ctx.Value(idsKey{}).(ids)
	return given.trace, given.span
}

func (givenIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	given, _ := ctx.Value(idsKey{}).(ids)
	return given.span
}

var _ sdktrace.IDGenerator = givenIDs{}

// scope names the package to collectors.
const scope = "github.com/convene-run/convene/otel"
