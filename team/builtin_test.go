package team_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
)

func TestBuiltinTeams(t *testing.T) {
	require.Equal(t, []string{"assessment", "general", "research", "review", "skill-builder", "support", "trip"}, team.BuiltinNames())
	require.Contains(t, team.BuiltinNames(), team.DefaultName)
	for _, name := range team.BuiltinNames() {
		got, err := team.Builtin(name)
		require.NoError(t, err)
		require.Equal(t, name, got.Name)
		require.NotEmpty(t, got.Description)
		require.NotEmpty(t, got.Facilitator.Prompt)
		require.Empty(t, got.Facilitator.Model, "built-in teams take the run's model")
		for _, s := range got.Specialists {
			require.Empty(t, s.Model, s.ID)
		}
	}
}

// Proves R9: the travel team has the travel layout.
func TestTripIsTheTravelTeam(t *testing.T) {
	trip, err := team.Builtin("trip")
	require.NoError(t, err)
	require.Equal(t, document.KindTravel, trip.Document.Kind())
	for _, id := range []events.AgentID{"logistics", "food", "sightseeing"} {
		s, ok := trip.Specialist(id)
		require.True(t, ok, id)
		require.Equal(t, id, s.ID)
	}
	_, ok := trip.Specialist("nobody")
	require.False(t, ok)
}

func TestResolve(t *testing.T) {
	t.Chdir(t.TempDir())
	got, err := team.Resolve("")
	require.NoError(t, err)
	require.Equal(t, team.DefaultName, got.Name)

	require.NoError(t, os.WriteFile("mine.yaml", []byte(small), 0o600))
	got, err = team.Resolve("mine.yaml")
	require.NoError(t, err)
	require.Equal(t, "small", got.Name)

	require.NoError(t, os.WriteFile("trip", []byte(small), 0o600))
	got, err = team.Resolve("trip")
	require.NoError(t, err)
	require.Equal(t, "trip", got.Name)
	got, err = team.Resolve("." + string(filepath.Separator) + "trip")
	require.NoError(t, err)
	require.Equal(t, "small", got.Name)

	_, err = team.Resolve("reserch")
	var unknown *team.UnknownError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, "research", unknown.Near)
	require.ErrorContains(t, err, `unknown team "reserch"`)
	require.ErrorContains(t, err, `did you mean "research"?`)
	require.ErrorContains(t, err, "assessment, general, research, review, skill-builder, support, trip")
	_, err = team.Resolve("no/such/file.yaml")
	require.ErrorAs(t, err, &unknown)
	require.Empty(t, unknown.Near)
	_, err = team.Builtin("../builtin/trip")
	require.ErrorAs(t, err, &unknown)
}

func TestTemplateIsATeam(t *testing.T) {
	got, err := team.Parse("new.yaml", team.Template("claims"))
	require.NoError(t, err)
	require.Equal(t, "claims", got.Name)
	require.Len(t, got.Specialists, 2)
}
