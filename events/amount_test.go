package events_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
)

// A bound is written as people type it.
func TestAmountsAreWrittenAsPeopleTypeThem(t *testing.T) {
	for _, c := range []struct {
		limit events.Limit
		value float64
		text  string
	}{
		{events.LimitMaxCostUSD, 0.00001, "0.00001"}, {events.LimitMaxCostUSD, 0.0052, "0.0052"}, {events.LimitMaxCostUSD, 0, "0"},
		{events.LimitMaxTokens, 2e6, "2000000"}, {events.LimitMaxTime, 90, "1m30s"},
	} {
		require.Equal(t, c.text, events.Amount(c.limit, c.value))
	}
}
