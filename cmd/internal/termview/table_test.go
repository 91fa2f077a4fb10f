package termview_test

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

const longRequest = "Plan three days in Kyoto for two people who like gardens and noodles"

func listed() []events.RunSummary {
	return []events.RunSummary{
		{Run: "01a20515-4a5b-764e-8000-000000000001", Status: events.StatusCompleted, Team: "trip", Start: start, Request: longRequest},
		{Run: "01a20515-9d40-7000-8000-000000000002", Status: events.StatusFailed, Team: "general", Start: start, Request: "Plan a day in Nara",
			Batch: &events.BatchRow{Row: "ac537d62b8a2d355", Index: 1, Line: 2}},
		{Run: "01a20515-9d41-7000-8000-000000000003", Status: events.StatusRunning, Team: "general", Start: start, Request: "Plan a day in Rome",
			Batch: &events.BatchRow{Row: "rome", Index: 2}},
	}
}

// Proves R70: a list fits the terminal, and what was asked can be read on a narrow one, too.
func TestListsFit(t *testing.T) {
	for _, width := range []int{40, 80, 200} {
		for _, theme := range []termview.Theme{{}, {Screen: true, Color: true}} {
			lines := termview.RunTable(listed(), start.Add(time.Hour), theme, width)
			for _, line := range lines {
				require.LessOrEqual(t, ansi.StringWidth(line), width, "at %d: %q", width, line)
			}
			text := ansi.Strip(strings.Join(lines, "\n"))
			require.Contains(t, text, "Plan a day in Nara", "at %d", width)
			require.Contains(t, text, "line 2", "at %d", width)
			require.NotContains(t, text, "ac537", "at %d", width)
			require.Contains(t, text, "rome", "at %d", width)
		}
	}
	require.Equal(t, strings.TrimPrefix(`
RUN                 ROW     STATUS
01a20515-4a5b-764e          completed
  Plan three days in Kyoto for two
  people who like gardens and noodles
01a20515-9d40-7000  line 2  failed
  Plan a day in Nara
01a20515-9d41-7000  rome    running
  Plan a day in Rome`, "\n"), strings.Join(termview.RunTable(listed(), start, termview.Theme{}, 40), "\n"))
}

// A request stands whole at the top of a run; above a picture it has two lines where there is
// room.
func TestRequestOnNarrowTerminals(t *testing.T) {
	run := &thread.Run{}
	run.Request = longRequest
	require.Equal(t, []string{"Plan three days in Kyoto for two people", "who like gardens and noodles"}, termview.Request(run, 40))
	require.Equal(t, []string{longRequest}, termview.Request(run, 80))

	th := thread.New()
	for _, env := range inTheMiddle() {
		if started, is := env.Data.(events.WorkflowStarted); is {
			started.Message = longRequest + ", in autumn"
			env.Data = started
		}
		require.NoError(t, th.Apply(env))
	}
	frame := termview.Frame{Run: th.Current(), Active: termview.Activities(th.Current()), Now: start.Add(42 * time.Second), Width: 40, Height: 24}
	lines := termview.Render(frame, termview.Theme{})
	require.Equal(t, []string{"Plan three days in Kyoto for two people", "who like gardens and noodles, in autumn"}, lines[:2])
	require.Equal(t, []string{"NOW", "  Facilitator  waiting for speci…  0:39", "  Food         working             0:39"}, lines[len(lines)-3:])
	frame.Height = 10
	require.Equal(t, "Plan three days in Kyoto for two peopl…", termview.Render(frame, termview.Theme{})[0])
}

// Proves R70, R72: what a batch came to is broken between words on a terminal and not at all
// elsewhere; a row without an id of its own is named by its line, and that once.
func TestBatchReportNamesRows(t *testing.T) {
	report := batch.Report{
		Rows: 3, Completed: 1, Failed: 2, Slowest: []batch.RowFigure{{ID: "a", DurationMS: 2000}, {ID: "1429e3fd2fd67100", Line: 3, DurationMS: 1000}},
		Causes: []batch.Cause{
			{Kind: "invalid_row", Status: events.StatusFailed, Count: 1, ID: "64879f7d6b960a01", Line: 4, Message: "line 4: the row is not a JSON object"},
			{Kind: "unknown_team", Status: events.StatusFailed, Count: 1, ID: "rome", Message: `line 5: no team "nobody"`},
			{Kind: "timeout", Status: events.StatusDegraded, Count: 2, ID: "64879f7d6b960a01", Line: 9, Message: "out of time"},
		},
	}
	text := strings.Join(termview.BatchReport(report, termview.Theme{}, 40), "\n")
	require.Contains(t, text, "  1 failed: invalid_row, line 4: the row is not a JSON object\n")
	require.Contains(t, text, "  1 failed: unknown_team, row rome: line 5: no team \"nobody\"\n")
	require.Contains(t, text, "  2 degraded: timeout, such as line 9: out of time\n")
	require.Contains(t, text, "  slowest: a 2.0s, line 3 1.0s")
	for _, line := range termview.BatchReport(report, termview.Theme{Screen: true}, 40) {
		require.LessOrEqual(t, ansi.StringWidth(line), 40, line)
	}
}
