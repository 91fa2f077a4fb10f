package otel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/convene-run/convene/events"
)

// metrics count what model calls used. An event is counted by the process that drove its run
// when it was written, so a run that is resumed, or a trace that comes again, counts nothing
// twice.
type metrics struct {
	tokens   metric.Int64Histogram
	duration metric.Float64Histogram
	cost     metric.Float64Counter
}

func newMetrics(meter metric.Meter) (*metrics, error) {
	tokens, err1 := meter.Int64Histogram(tokenUsageMetric, metric.WithUnit("{token}"),
		metric.WithDescription("Number of input and output tokens used."), metric.WithExplicitBucketBoundaries(tokenBuckets...))
	duration, err2 := meter.Float64Histogram(durationMetric, metric.WithUnit("s"),
		metric.WithDescription("GenAI operation duration."), metric.WithExplicitBucketBoundaries(durationBuckets...))
	cost, err3 := meter.Float64Counter(costMetric, metric.WithUnit("{USD}"),
		metric.WithDescription("Cost of model calls with a known price."))
	return &metrics{tokens, duration, cost}, errors.Join(err1, err2, err3)
}

// count adds the model call that an event tells of. Its attempts that failed are operations
// of their own.
func (m *metrics) count(env events.Envelope) {
	switch e := env.Data.(type) {
	case events.ModelCalled:
		labels := []attribute.KeyValue{operationName.String(chat), provider(e.Provider), requestModel.String(e.Model)}
		m.spent(&events.Spent{Usage: e.Usage, CostUSD: e.CostUSD}, labels)
		m.spent(e.Lost, labels)
		m.duration.Record(context.Background(), ms(e.TotalMS).Seconds(), metric.WithAttributeSet(with(labels...)))
		m.failed(e.Retries, labels[1])
	case events.ModelCallFailed:
		m.callFailed(e.FailedCall)
	case events.AgentFinished:
		m.callFailed(e.FailedCall)
	case events.Error:
		m.callFailed(e.FailedCall)
	}
}

// callFailed counts a call without a reply. The log does not name its provider.
func (m *metrics) callFailed(e events.FailedCall) {
	if len(e.Attempts) == 0 {
		return
	}
	m.spent(e.Lost, []attribute.KeyValue{operationName.String(chat), provider(""), requestModel.String(e.Attempts[len(e.Attempts)-1].Model)})
	m.failed(e.Attempts, provider(""))
}

func (m *metrics) spent(s *events.Spent, labels []attribute.KeyValue) {
	if s == nil {
		return
	}
	ctx := context.Background()
	typed := func(kind string) metric.MeasurementOption {
		return metric.WithAttributeSet(with(append(labels[:len(labels):len(labels)], tokenType.String(kind))...))
	}
	m.tokens.Record(ctx, s.Usage.InputTokens, typed(tokenTypeInput))
	m.tokens.Record(ctx, s.Usage.OutputTokens, typed(tokenTypeOutput))
	if s.CostUSD != nil {
		m.cost.Add(ctx, *s.CostUSD, metric.WithAttributeSet(with(labels...)))
	}
}

func (m *metrics) failed(attempts []events.FailedAttempt, by attribute.KeyValue) {
	for _, a := range attempts {
		m.duration.Record(context.Background(), ms(a.RanMS).Seconds(), metric.WithAttributeSet(with(
			operationName.String(chat), by, requestModel.String(a.Model), errorType.String(a.Error))))
	}
}
