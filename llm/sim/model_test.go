package sim_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/llm/sim"
)

const tripRequest = "Plan a 3-day trip to Lisbon for two friends, with good food and some history."

func TestPlaysATrip(t *testing.T) {
	team := travelTeam(t, sim.New(sim.Options{}))
	answer := team.run(tripRequest)
	t.Log(team.plan())
	t.Log(strings.Join(team.final(), "\n--------\n"))
	t.Log(answer)
	t.Log(team.calls)
	require.Len(t, team.tasks, 6)
	require.Zero(t, team.open())
}
