package events_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/eventstest"
)

// What is posted stands in one table; who asks for one event need not look it up there.
func TestPostedIsAsTheRulesSay(t *testing.T) {
	kinds := events.PostedKinds()
	for _, event := range eventstest.Samples() {
		if said, ok := event.(events.UserMessage); ok && said.Synthetic {
			continue
		}
		require.Equal(t, slices.Contains(kinds, event.Kind()), events.Posted(event), event.Kind())
	}
	require.False(t, events.Posted(events.UserMessage{Synthetic: true}))
}
