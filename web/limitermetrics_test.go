package web_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// Proves R74: /metrics tells what holds calls back at each endpoint.
func TestMetricsTellOfLimiters(t *testing.T) {
	server := serve(t, web.Config{Log: events.NewMemory(), Limiters: func() []events.BatchLimiter {
		return []events.BatchLimiter{
			{Endpoint: "openai", Limit: 64, InFlight: 60, Waiting: 3, RequestsPerMinute: 600, HeldBackMS: 1500},
			{Endpoint: "openai", Limit: 6, InFlight: 6},
			{Endpoint: "local", Limit: 4, TokensPerMinute: 90_000},
		}
	}})
	_, _, body := server.get(t, "/metrics")
	for _, line := range []string{
		`convene_endpoint_calls_in_flight{endpoint="openai"} 66`,
		`convene_endpoint_calls_in_flight_limit{endpoint="openai"} 70`,
		`convene_endpoint_calls_waiting{endpoint="openai"} 3`,
		`convene_endpoint_held_back_seconds{endpoint="openai"} 1.5`,
		`convene_endpoint_requests_per_minute_limit{endpoint="openai"} 600`,
		`convene_endpoint_calls_in_flight_limit{endpoint="local"} 4`,
		`convene_endpoint_tokens_per_minute_limit{endpoint="local"} 90000`,
	} {
		require.Contains(t, body, line+"\n")
	}
	require.NotContains(t, body, `convene_endpoint_requests_per_minute_limit{endpoint="local"}`)
}
