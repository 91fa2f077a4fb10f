package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/convene-run/convene/conversation"
)

// metrics are what /metrics tells.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	sent     prometheus.Counter
	started  *prometheus.CounterVec
}

func newMetrics(s *Server) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "convene_http_requests_total", Help: "Requests answered, by route and status.",
		}, []string{"route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "convene_http_request_duration_seconds", Help: "Time to answer a request, by route.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
		}, []string{"route"}),
		sent: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "convene_events_sent_total", Help: "Events sent to viewers.",
		}),
		started: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "convene_runs_started_total", Help: "Runs started through the API, by tenant.",
		}, []string{"tenant"}),
	}
	viewers := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "convene_viewers", Help: "Connections that follow a thread.",
	}, func() float64 { return float64(s.Viewers()) })
	cached := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "convene_cached_event_bytes", Help: "Encoded events kept for viewers.",
	}, func() float64 { return float64(s.feeds.cached.Load()) })
	if s.config.Limiters != nil {
		m.registry.MustRegister(limiters(s.config.Limiters))
	}
	if s.config.Transitions != nil {
		m.registry.MustRegister(transitions(s.config.Transitions)...)
	}
	if s.config.Loads != nil {
		m.registry.MustRegister(tenantLoads{&s.config})
	}
	m.registry.MustRegister(s.config.Metrics...)
	m.registry.MustRegister(m.requests, m.duration, m.sent, m.started, viewers, cached,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// transitions tells how the ends of phases went.
func transitions(count func() conversation.Transitions) []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "convene_phase_transitions_total", Help: "Ends of phases that gave a conversation to the next agent, those that were taken back included.",
		}, func() float64 {
			t := count()
			return float64(t.Succeeded + t.RolledBack)
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "convene_phase_transitions_rolled_back_total", Help: "Ends of phases that were taken back because the next agent could not go on.",
		}, func() float64 { return float64(count().RolledBack) }),
	}
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

func (m *metrics) request(route string, status int, elapsed time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	if status != http.StatusSwitchingProtocols {
		m.duration.WithLabelValues(route).Observe(elapsed.Seconds())
	}
}
