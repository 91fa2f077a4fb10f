package otel

import (
	"context"
	"fmt"
	"sync/atomic"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/convene-run/convene/internal/lazyregexp"
)

// troubles tells once that a collector does not take what it is sent, and again once it has
// taken something in between. The SDK would print each failure.
type troubles struct {
	of   string
	told func(error)
	down atomic.Bool
}

// secrets are the parts of addresses in errors that may hold one.
var secrets = lazyregexp.New(`//[^/\s"@]*@|\?[^\s":]*`)

func (t *troubles) after(err error) {
	if err == nil {
		t.down.Store(false)
		return
	}
	if !t.down.Swap(true) {
		t.told(fmt.Errorf("%s are not exported, the collector does not take them: %s", t.of, secrets.ReplaceAllString(err.Error(), "//")))
	}
}

type spanExporter struct {
	sdktrace.SpanExporter
	troubles
}

// ExportSpans sends spans. Its failure was told: the SDK need not know.
func (e *spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.after(e.SpanExporter.ExportSpans(ctx, spans))
	return nil
}

type metricExporter struct {
	sdkmetric.Exporter
	troubles
}

// Export sends metrics. Its failure was told: the SDK need not know.
func (e *metricExporter) Export(ctx context.Context, of *metricdata.ResourceMetrics) error {
	e.after(e.Exporter.Export(ctx, of))
	return nil
}
