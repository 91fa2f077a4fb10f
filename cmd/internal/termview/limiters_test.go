package termview_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// What goes on at several endpoints is told of each by its name, and a bound only where
// there is one to speak of.
func TestLimitersAreNamedWhereThereAreSeveral(t *testing.T) {
	free := events.BatchLimiter{Endpoint: "vllm", Limit: llm.DefaultMaxInFlight, InFlight: 1}
	bound := events.BatchLimiter{Endpoint: "openai", Limit: 8, InFlight: 8, Waiting: 3}
	line := func(limiters ...events.BatchLimiter) string {
		var p batch.Progress
		p.Limiters = limiters
		return termview.BatchLines(p)[0]
	}
	require.Contains(t, line(free, bound), " · vllm: 1 call in flight, 0 waiting · openai: 8 calls in flight (at most 8), 3 waiting")
	require.Contains(t, line(bound), " · 8 calls in flight (at most 8), 3 waiting")
}
