package webhook

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are by the receivers' hosts: a path may hold a secret.
type metrics struct {
	attempts *prometheus.CounterVec
	newest   *prometheus.GaugeVec
}

func newMetrics() *metrics {
	return &metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "convene_webhook_attempts_total", Help: "Attempts to send an event to a webhook, by host and outcome (delivered, failed).",
		}, []string{"host", "outcome"}),
		newest: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "convene_webhook_delivered_event_timestamp_seconds", Help: "Time of the newest event that a webhook has taken, by host.",
		}, []string{"host"}),
	}
}

// known begins the counts of a host at 0.
func (m *metrics) known(host string) {
	m.attempts.WithLabelValues(host, "delivered")
	m.attempts.WithLabelValues(host, "failed")
}

func (m *metrics) delivered(host string, at time.Time) {
	m.attempts.WithLabelValues(host, "delivered").Inc()
	m.newest.WithLabelValues(host).Set(float64(at.UnixMilli()) / 1000)
}

func (m *metrics) failed(host string) { m.attempts.WithLabelValues(host, "failed").Inc() }

// Metrics are for a registry, such as that of the dashboard's server. They name receivers by
// their hosts.
func (s *Sender) Metrics() []prometheus.Collector {
	return []prometheus.Collector{s.metrics.attempts, s.metrics.newest}
}
