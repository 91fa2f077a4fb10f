package otel

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel/attribute"
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
	traces  *sdktrace.TracerProvider
	tracer  trace.Tracer
	meters  *sdkmetric.MeterProvider
	metrics *metrics // nil where they are not wanted

	mu      sync.Mutex // guards what follows
	threads map[events.ThreadKey]*followed
}

// followed is a thread whose run is driven here.
type followed struct {
	seq events.Seq
	run *traced // nil between runs
	// lost is a run whose beginning could not be read: it is left out.
	lost events.RunID
}

// traced is a run with its root, which is begun with the SDK so that its sampler has decided
// before the first child ends.
type traced struct {
	*fold
	root trace.Span
}

// OnEvent takes an event of a run that is driven here, for [runner.Hooks]: those of a thread in
// their order. It returns soon, and never waits for a collector.
func (e *Exporter) OnEvent(env events.Envelope) {
	thread := e.thread(env)
	if started, ok := env.Data.(events.WorkflowStarted); ok {
		thread.run = e.begin(env, started)
		return
	}
	if env.Run == "" || env.Run == thread.lost {
		return
	}
	if thread.run == nil || thread.run.run != env.Run {
		if thread.run = e.load(env); thread.run == nil {
			thread.lost = env.Run
			return
		}
	}
	e.end(thread.run, thread.run.apply(env))
	if e.metrics != nil {
		e.metrics.count(env)
	}
	switch env.Data.(type) {
	case events.WorkflowFinished, events.RunSuspended:
		e.forget(env.Key())
	}
}

// thread finds the event's thread. What was known of one that another process has driven
// meanwhile is out of date.
func (e *Exporter) thread(env events.Envelope) *followed {
	e.mu.Lock()
	defer e.mu.Unlock()
	thread := e.threads[env.Key()]
	if thread == nil || thread.seq+1 != env.Seq {
		thread = &followed{}
		e.threads[env.Key()] = thread
	}
	thread.seq = env.Seq
	return thread
}

func (e *Exporter) forget(key events.ThreadKey) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.threads, key)
}

// load folds what a run had before the event, nil if that cannot be read. A process that let
// go of the run in good order has exported it; what one that died has not, nobody knows, and
// the same spans may come twice.
func (e *Exporter) load(next events.Envelope) *traced {
	before, err := e.log.Read(context.Background(), next.Key(), 0, 0, folded...)
	if err != nil {
		return nil
	}
	var run *traced
	var spans []span
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
		e.end(run, spans)
	}
	return run
}

// begin opens the root of a run's trace, within that of whoever asked for it.
func (e *Exporter) begin(env events.Envelope, started events.WorkflowStarted) *traced {
	run := &traced{fold: newFold(env, started, e.content)}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": started.Traceparent})
	run.fold.root.parent = trace.SpanContextFromContext(ctx).SpanID()
	ctx = context.WithValue(ctx, idsKey{}, ids{traceOf(env.Run), run.fold.root.id})
	_, run.root = e.tracer.Start(ctx, run.fold.root.name, trace.WithTimestamp(run.fold.root.start))
	return run
}

// Traceparent gives the span that the call of a tool will have, as W3C Trace Context writes
// it, for the call to take along. The flag is what the sampler says of the run's trace.
// above is the span that the run is part of, "" for none.
func (e *Exporter) Traceparent(run events.RunID, above string, call events.CallRef) string {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": above})
	ctx = context.WithValue(ctx, idsKey{}, ids{traceOf(run), rootSpan(run)})
	_, root := e.tracer.Start(ctx, invokeWorkflow) // never ended, and so never exported
	span := root.SpanContext().WithSpanID(toolSpan(run, call))
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), span), carrier)
	return carrier["traceparent"]
}

// end exports spans of a run.
func (e *Exporter) end(run *traced, spans []span) {
	root := run.root.SpanContext()
	for _, s := range spans {
		if s.id == root.SpanID() {
			finish(run.root, s)
			continue
		}
		parent := trace.ContextWithSpanContext(context.Background(), root.WithSpanID(s.parent))
		parent = context.WithValue(parent, idsKey{}, ids{span: s.id})
		_, child := e.tracer.Start(parent, s.name, trace.WithTimestamp(s.start), trace.WithSpanKind(s.kind))
		finish(child, s)
	}
}

func finish(to trace.Span, s span) {
	to.SetAttributes(s.attributes...)
	to.SetStatus(s.status(), "")
	for _, event := range s.events {
		to.AddEvent(event.name, trace.WithTimestamp(event.at), trace.WithAttributes(event.attributes...))
	}
	to.End(trace.WithTimestamp(s.end))
}

// Shutdown sends what is left, as long as ctx lasts. Nothing is exported afterwards.
func (e *Exporter) Shutdown(ctx context.Context) error {
	err := errors.Join(e.traces.Shutdown(ctx), e.meters.Shutdown(ctx))
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

func with(all ...attribute.KeyValue) attribute.Set { return attribute.NewSet(all...) }
