package web

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/convene-run/convene/events"
)

// limiters tells /metrics what holds calls of the endpoints back at this moment.
type limiters func() []events.BatchLimiter

// limiterGauges are the figures of an endpoint. One that is 0 because there is no such
// limit is left out.
var limiterGauges = []struct {
	desc     *prometheus.Desc
	value    func(*events.BatchLimiter) float64
	optional bool
}{
	{limiterGauge("calls_in_flight", "Calls in flight at the endpoint."), func(l *events.BatchLimiter) float64 { return float64(l.InFlight) }, false},
	{limiterGauge("calls_in_flight_limit", "Calls that may be in flight at the endpoint."), func(l *events.BatchLimiter) float64 { return float64(l.Limit) }, false},
	{limiterGauge("calls_waiting", "Calls that wait for their turn at the endpoint."), func(l *events.BatchLimiter) float64 { return float64(l.Waiting) }, false},
	{limiterGauge("held_back_seconds", "Time for which the endpoint still takes no call."), func(l *events.BatchLimiter) float64 { return float64(l.HeldBackMS) / 1000 }, false},
	{limiterGauge("requests_per_minute_limit", "Requests a minute that are kept to, given or told by the endpoint."), func(l *events.BatchLimiter) float64 { return float64(l.RequestsPerMinute) }, true},
	{limiterGauge("tokens_per_minute_limit", "Tokens a minute that are kept to, given or told by the endpoint."), func(l *events.BatchLimiter) float64 { return float64(l.TokensPerMinute) }, true},
}

func limiterGauge(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("convene_endpoint_"+name, help, []string{"endpoint"}, nil)
}

// Describe implements [prometheus.Collector].
func (limiters) Describe(descs chan<- *prometheus.Desc) {
	for _, g := range limiterGauges {
		descs <- g.desc
	}
}

// Collect implements [prometheus.Collector]. Endpoints of one name, with different keys
// or addresses, are told as one: a series may be there once.
func (l limiters) Collect(metrics chan<- prometheus.Metric) {
	all := map[string]events.BatchLimiter{}
	for _, one := range l() {
		sum := all[one.Endpoint]
		sum.InFlight, sum.Limit, sum.Waiting = sum.InFlight+one.InFlight, sum.Limit+one.Limit, sum.Waiting+one.Waiting
		sum.RequestsPerMinute, sum.TokensPerMinute = sum.RequestsPerMinute+one.RequestsPerMinute, sum.TokensPerMinute+one.TokensPerMinute
		sum.HeldBackMS = max(sum.HeldBackMS, one.HeldBackMS)
		all[one.Endpoint] = sum
	}
	for endpoint, sum := range all {
		for _, g := range limiterGauges {
			if value := g.value(&sum); value != 0 || !g.optional {
				metrics <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, value, endpoint)
			}
		}
	}
}
