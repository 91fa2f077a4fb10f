package events_test

import (
	"testing"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/eventstest"
)

// Proves R12, R66, R73 for the in-memory log.
func TestMemory(t *testing.T) {
	eventstest.Run(t, func(*testing.T) events.Log { return events.NewMemory() })
}

func BenchmarkMemory(b *testing.B) {
	eventstest.Benchmark(b, func(*testing.B) events.Log { return events.NewMemory() })
}
