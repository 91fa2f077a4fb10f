package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
)

// What a person or a model reads of a bound says in which unit it is.
func TestLimitErrorSaysTimesWithTheirUnit(t *testing.T) {
	for _, c := range []struct {
		limit       events.Limit
		value, used float64
		want        string
	}{
		{team.LimitMaxTime, 40, 36.00171, "the bound max_time=40s is reached (36s used)"},
		{team.LimitSilenceTimeout, 0.05, 0.0512, "the bound silence_timeout=50ms is reached (50ms used)"},
		{team.LimitMaxTokens, 2000000, 1609931, "the bound max_tokens=2000000 is reached (1609931 used)"},
		{team.LimitMaxCostUSD, 0.004, 0.0027307, "the bound max_cost_usd=0.004 is reached (0.0027307 used)"},
	} {
		err := &agent.LimitError{Limit: c.limit, Value: c.value, Used: c.used}
		require.Equal(t, c.want, err.Error())
	}
}
