package team_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
)

// Proves R8, R20, R23: the bounds that the requirements name, with their defaults.
func TestDefaultLimits(t *testing.T) {
	l := team.DefaultLimits()
	require.NoError(t, l.Validate())
	require.Equal(t, 20, l.MaxTasks)
	require.Equal(t, 10*time.Second, l.SilenceNotice)
	require.Equal(t, 30*time.Second, l.SilenceSlow)
	require.Equal(t, 120*time.Second, l.SilenceTimeout)
	require.Equal(t, 30*time.Minute, l.MaxTime)
	require.EqualValues(t, 2_000_000, l.MaxTokens)
	require.Zero(t, l.MaxCostUSD)
}

// Each bound is accepted at its limits, refused beyond, reachable by name, and
// explains itself.
func TestEveryBound(t *testing.T) {
	names := map[events.Limit]bool{}
	for _, b := range team.Bounds() {
		t.Run(string(b.Name), func(t *testing.T) {
			require.False(t, names[b.Name], "listed twice")
			names[b.Name] = true
			require.NotEmpty(t, b.Description)
			require.NotEmpty(t, b.Reason)
			require.LessOrEqual(t, b.Min, b.Default)
			require.LessOrEqual(t, b.Default, b.Max)
			require.Equal(t, b.Default, team.DefaultLimits().Value(b.Name))

			for _, good := range []float64{math.Max(b.Min, 1), b.Max} {
				got, err := parseLimit(b, good)
				if err != nil {
					require.NotContains(t, err.Error(), "must be from", "%v", good)
					continue // a silence out of order with the others' defaults
				}
				require.Equal(t, good, got.Value(b.Name))
			}
			for _, bad := range []float64{-1, b.Max + 1} {
				_, err := parseLimit(b, bad)
				require.ErrorContains(t, err, fmt.Sprintf("%s must be from", b.Name))
			}
			_, err := parseLimit(b, 0)
			if b.Min > 0 {
				require.ErrorContains(t, err, "must be from", "0 switches off only where it is said to")
			} else {
				require.NoError(t, err)
			}
		})
	}
	require.Zero(t, team.Limits{}.Value("no_such_limit"))
}

func parseLimit(b team.Bound, value float64) (team.Limits, error) {
	text := fmt.Sprintf("%.0f", value)
	if b.Unit == team.UnitSeconds {
		text += "s"
	}
	parsed, err := team.Parse("f.yaml", fmt.Appendf([]byte(small), "limits: {%s: %s}\n", b.Name, text))
	if err != nil {
		return team.Limits{}, err
	}
	return parsed.Limits, nil
}

func TestBoundFormat(t *testing.T) {
	format := map[events.Limit]func(float64) string{}
	for _, b := range team.Bounds() {
		format[b.Name] = b.Format
	}
	require.Equal(t, "20 tasks", format[events.LimitMaxTasks](20))
	require.Equal(t, "64000 characters", format[events.LimitMaxEntryChars](64_000))
	require.Equal(t, "30m", format[events.LimitMaxTime](1800))
	require.Equal(t, "1m30s", format[events.LimitMaxTime](90))
	require.Equal(t, "2h", format[events.LimitMaxTime](7200))
	require.Equal(t, "1h0m5s", format[events.LimitMaxTime](3605))
	require.Equal(t, "$2.5", format[events.LimitMaxCostUSD](2.5))
	require.Equal(t, "none", format[events.LimitMaxCostUSD](0))
	require.Equal(t, "10%", format[events.LimitWrapUpShare](10))
}

func TestLimitsInJSON(t *testing.T) {
	limits := team.Limits{MaxTime: 95 * time.Second, SilenceNotice: 1500 * time.Millisecond, MaxCostUSD: 0.25}.WithDefaults()
	text, err := json.Marshal(limits)
	require.NoError(t, err)
	require.Contains(t, string(text), `"max_time":"1m35s"`)
	var read team.Limits
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, limits, read)

	require.NoError(t, json.Unmarshal([]byte(`{"max_entry_bytes": 300, "max_tool_result_bytes": 2000}`), &read))
	require.Equal(t, 300, read.MaxEntryChars, "logs of before have bounds of text by other names")
	require.Equal(t, 2000, read.MaxToolResultChars)

	require.NoError(t, json.Unmarshal([]byte(`{"max_tasks": 3, "max_of_a_later_version": 1}`), &read))
	require.Equal(t, 3, read.MaxTasks)
	require.Equal(t, limits.MaxTime, read.MaxTime, "what is not there keeps its value")
	for _, bad := range []string{`[]`, `{"max_tasks": "3"}`, `{"max_time": 3}`, `{"max_time": "soon"}`} {
		require.Error(t, json.Unmarshal([]byte(bad), &read), bad)
	}
}

func TestLimitErrorsNameTheLimit(t *testing.T) {
	limits := team.DefaultLimits()
	limits.SilenceNotice = limits.SilenceSlow
	err := limits.Validate()
	var wrong *team.InvalidLimitError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, events.LimitSilenceNotice, wrong.Limit)
	require.Equal(t, events.LimitSilenceSlow, wrong.Other)

	limits = team.DefaultLimits()
	limits.MaxTasks, limits.MaxTime = -1, -time.Second
	require.ErrorContains(t, limits.Validate(), "max_tasks must be from 1 to 1000 tasks, not -1")
	require.ErrorContains(t, limits.Validate(), "max_time must be from 1s to 168h, not -1s")
}

// Bounds of text counted bytes once: team files that name them so are read.
func TestFormerNamesOfLimits(t *testing.T) {
	for former, now := range map[string]events.Limit{
		"max_task_bytes": events.LimitMaxTaskChars, "max_entry_bytes": events.LimitMaxEntryChars, "max_document_bytes": events.LimitMaxDocumentChars,
		"max_reply_bytes": events.LimitMaxReplyChars, "max_tool_result_bytes": events.LimitMaxToolResultChars,
	} {
		parsed, err := team.Parse("f.yaml", fmt.Appendf([]byte(small), "limits: {%s: 2048}\n", former))
		require.NoError(t, err)
		require.EqualValues(t, 2048, parsed.Limits.Value(now))
		_, err = team.Parse("f.yaml", fmt.Appendf([]byte(small), "limits: {%s: 2048, %s: 4096}\n", former, now))
		require.ErrorContains(t, err, "appears twice")
		_, err = team.Parse("f.yaml", fmt.Appendf([]byte(small), "limits: {%s: 2}\n", former))
		require.ErrorContains(t, err, string(now)+" must be from")
	}
}
