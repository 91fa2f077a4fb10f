package team_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
)

const tunedFile = `name: tuned
facilitator: {effort: high, tier: priority}
specialists:
  - id: one
    description: d
    prompt: p
    effort: none
    max_output_tokens: 4000
    temperature: 0
    tier: flex
    silence_timeout: 5m
  - {id: two, description: d, prompt: p}
`

// Proves that each agent's model is tuned in the file, and that a team as JSON says the same.
func TestTuning(t *testing.T) {
	require.NoError(t, validate(t, []byte(tunedFile)))
	got, err := team.Parse("f.yaml", []byte(tunedFile))
	require.NoError(t, err)
	zero := 0.0
	want := team.Tuning{Effort: "none", MaxOutputTokens: 4000, Temperature: &zero, Tier: llm.TierFlex, SilenceTimeout: team.Duration(5 * time.Minute)}
	require.Equal(t, want, got.Specialists[0].Tuning)
	require.Equal(t, team.Tuning{Effort: "high", Tier: llm.TierPriority}, got.Facilitator.Tuning)
	require.Zero(t, got.Specialists[1].Tuning)

	text, err := json.Marshal(got)
	require.NoError(t, err)
	require.Contains(t, string(text), `"effort":"none","max_output_tokens":4000,"temperature":0,"tier":"flex","silence_timeout":"5m"`)
	var again team.Team
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, want, again.Specialists[0].Tuning)
}

// What is set for all agents counts before what the file says, and leaves the rest.
func TestTuned(t *testing.T) {
	file, err := team.Parse("f.yaml", []byte(tunedFile))
	require.NoError(t, err)
	got := file.Tuned(team.Tuning{Effort: "low", SilenceTimeout: team.Duration(time.Minute)})
	require.Equal(t, team.Tuning{Effort: "low", Tier: llm.TierPriority, SilenceTimeout: team.Duration(time.Minute)}, got.Facilitator.Tuning)
	require.Equal(t, 4000, got.Specialists[0].MaxOutputTokens)
	require.Equal(t, "low", got.Specialists[0].Effort)
	require.Equal(t, "low", got.Specialists[1].Effort)
	require.Equal(t, "none", file.Specialists[0].Effort, "the team itself stays")
}

// What somebody set of silence holds for all of a reply; the default lets a reply that has
// begun be silent for longer.
func TestSilence(t *testing.T) {
	limits := team.Limits{}.WithDefaults()
	require.Zero(t, limits.Silence(0))
	require.Equal(t, llm.Silence{First: time.Minute, Next: time.Minute}, limits.Silence(team.Duration(time.Minute)))
	limits.SilenceTimeout = 20 * time.Second
	require.Equal(t, llm.Silence{First: 20 * time.Second, Next: 20 * time.Second}, limits.Silence(0))
	require.Equal(t, llm.Silence{First: time.Minute, Next: time.Minute}, limits.Silence(team.Duration(time.Minute)))
}
