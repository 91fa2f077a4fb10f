package events_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
)

// What a person or a model reads of a bound says in which unit it is.
func TestLimitErrorSaysTimesWithTheirUnit(t *testing.T) {
	for _, c := range []struct {
		limit       events.Limit
		value, used float64
		want        string
	}{
		{events.LimitMaxTime, 40, 36.00171, "the limit --timeout=40s is reached (36s used)"},
		{events.LimitSilenceTimeout, 0.05, 0.0512, "the limit silence_timeout=50ms is reached (50ms used)"},
		{events.LimitMaxTokens, 2000000, 1609931, "the limit --max-tokens=2000000 is reached (1609931 used)"},
		{events.LimitMaxCostUSD, 0.004, 0.0027307, "the limit --max-cost=0.004 is reached (0.0027307 used)"},
	} {
		err := &events.LimitError{Limit: c.limit, Value: c.value, Used: c.used}
		require.Equal(t, c.want, err.Error())
	}
}
