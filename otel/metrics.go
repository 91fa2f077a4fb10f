package otel

import (
	"context"
	"errors"
	"sync"

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

	mu      sync.Mutex // guards what follows
	options map[labels]metric.MeasurementOption
}

func newMetrics(meter metric.Meter) (*metrics, error) {
	tokens, err1 := meter.Int64Histogram(tokenUsageMetric, metric.WithUnit("{token}"),
		metric.WithDescription("Number of input and output tokens used."), metric.WithExplicitBucketBoundaries(tokenBuckets...))
	duration, err2 := meter.Float64Histogram(durationMetric, metric.WithUnit("s"),
		metric.WithDescription("GenAI operation duration."), metric.WithExplicitBucketBoundaries(durationBuckets...))
	cost, err3 := meter.Float64Counter(costMetric, metric.WithUnit("{USD}"),
		metric.WithDescription("Cost of model calls with a known price."))
	return &metrics{tokens: tokens, duration: duration, cost: cost, options: map[labels]metric.MeasurementOption{}}, errors.Join(err1, err2, err3)
}

// count adds the model call that an event tells of. Its attempts that failed are operations
// of their own.
func (m *metrics) count(env events.Envelope) {
	switch e := env.Data.(type) {
	case events.ModelCalled:
		by := labels{provider: e.Provider, model: e.Model}
		m.spent(&events.Spent{Usage: e.Usage, CostUSD: e.CostUSD}, by)
		m.spent(e.Lost, by)
		m.duration.Record(context.Background(), ms(e.TotalMS).Seconds(), m.option(by))
		m.failed(e.Retries, e.Provider)
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
	m.spent(e.Lost, labels{model: e.Attempts[len(e.Attempts)-1].Model})
	m.failed(e.Attempts, "")
}

func (m *metrics) spent(s *events.Spent, by labels) {
	if s == nil {
		return
	}
	ctx := context.Background()
	input, output := by, by
	input.tokens, output.tokens = tokenTypeInput, tokenTypeOutput
	m.tokens.Record(ctx, s.Usage.InputTokens, m.option(input))
	m.tokens.Record(ctx, s.Usage.OutputTokens, m.option(output))
	if s.CostUSD != nil {
		m.cost.Add(ctx, *s.CostUSD, m.option(by))
	}
}

func (m *metrics) failed(attempts []events.FailedAttempt, provider string) {
	for _, a := range attempts {
		m.duration.Record(context.Background(), ms(a.RanMS).Seconds(), m.option(labels{provider: provider, model: a.Model, failed: a.Error}))
	}
}

// labels are what measurements are told apart by. Empty is without, but for the provider.
type labels struct{ provider, model, tokens, failed string }

// maxLabels bounds what is remembered of labels: the SDK tells 2,000 apart.
const maxLabels = 2000

// option gives the labels as the SDK takes them. Making a set of them costs more than the
// measurement.
func (m *metrics) option(of labels) metric.MeasurementOption {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.options[of]; ok {
		return known
	}
	all := []attribute.KeyValue{operationName.String(chat), provider(of.provider), requestModel.String(of.model)}
	if of.tokens != "" {
		all = append(all, tokenType.String(of.tokens))
	}
	if of.failed != "" {
		all = append(all, errorType.String(of.failed))
	}
	option := metric.WithAttributeSet(attribute.NewSet(all...))
	if len(m.options) < maxLabels {
		m.options[of] = option
	}
	return option
}
