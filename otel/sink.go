package otel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// traceSink takes spans that have ended to the SDK's queue. Its tracer is not asked to make them:
// it builds up, guards with a lock and then copies what the log has given whole, at twice the
// cost.
type traceSink struct {
	queue  sdktrace.SpanProcessor
	limits sdktrace.SpanLimits
	about  *resource.Resource
}

func newTraceSink(to sdktrace.SpanExporter, about *resource.Resource) *traceSink {
	return &traceSink{queue: sdktrace.NewBatchSpanProcessor(to), limits: sdktrace.NewSpanLimits(), about: about}
}

// add queues a span of a run, or drops it where the queue is full.
func (t *traceSink) add(run *traced, s *span) {
	stub := tracetest.SpanStub{
		Name: s.name, SpanContext: run.root.WithSpanID(s.id), Parent: run.root.WithSpanID(s.parent), SpanKind: s.kind,
		StartTime: s.start, EndTime: s.end, Attributes: s.attributes, Status: sdktrace.Status{Code: s.status()},
		Resource: t.about, InstrumentationScope: instrumentation.Scope{Name: scope},
	}
	if s.id == run.root.SpanID() {
		stub.Parent = run.above
	}
	for _, event := range s.events {
		stub.Events = append(stub.Events, sdktrace.Event{Name: event.name, Time: event.at, Attributes: event.attributes})
	}
	t.limit(&stub)
	t.queue.OnEnd(stub.Snapshot())
}

// limit cuts a span down to what the variables of OpenTelemetry allow, below 0 without limit.
func (t *traceSink) limit(s *tracetest.SpanStub) {
	if over := len(s.Attributes) - t.limits.AttributeCountLimit; over > 0 && t.limits.AttributeCountLimit >= 0 {
		s.Attributes, s.DroppedAttributes = s.Attributes[:t.limits.AttributeCountLimit], over
	}
	if over := len(s.Events) - t.limits.EventCountLimit; over > 0 && t.limits.EventCountLimit >= 0 {
		s.Events, s.DroppedEvents = s.Events[over:], over
	}
	if t.limits.AttributeValueLengthLimit < 0 {
		return
	}
	for i, a := range s.Attributes {
		if a.Value.Type() == attribute.STRING {
			s.Attributes[i].Value = attribute.StringValue(head(a.Value.AsString(), t.limits.AttributeValueLengthLimit))
		}
	}
}

// head gives the first n characters of a text.
func head(text string, n int) string {
	for at := range text {
		if n == 0 {
			return text[:at]
		}
		n--
	}
	return text
}

func (t *traceSink) shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.queue.Shutdown(ctx)
}
