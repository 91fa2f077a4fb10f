package termview_test

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// Proves R70: every picture of a run fits every terminal, whatever its size, so that
// it neither wraps nor scrolls.
func TestEveryPictureFits(t *testing.T) {
	envs := recorded(t)
	eachState(t, envs, func(run *thread.Run, env events.Envelope) {
		for _, size := range [][2]int{{200, 60}, {120, 40}, {80, 24}, {80, 12}, {60, 8}, {40, 10}, {25, 5}} {
			for _, color := range []bool{true, false} {
				lines := termview.Render(termview.Frame{
					Run: run, Active: termview.Activities(run), Now: env.Time.Add(3 * time.Second),
					Width: size[0], Height: size[1], Notice: "finishing calls in flight",
				}, termview.Theme{Color: color})
				require.Less(t, len(lines), size[1], "at %v: %q", size, lines)
				for _, line := range lines {
					require.Less(t, ansi.StringWidth(line), size[0], "at %v: %q", size, line)
					require.NotContains(t, line, "\n")
				}
				require.Contains(t, lines[0], "Plan three", "the header stays")
				require.Contains(t, lines[len(lines)-1], "finishing calls", "so does what is said to the person")
			}
		}
	})
}

// What a narrow terminal shows of events and sources is what a wide one shows: broken between
// words, and nothing left out but of an entry's text.
func TestNarrowLinesLeaveNothingOut(t *testing.T) {
	letters := func(lines []string) string {
		text, _, _ := strings.Cut(strings.Join(lines, " "), "“")
		return strings.Join(strings.Fields(text), "")
	}
	var last *thread.Run
	eachState(t, recorded(t), func(run *thread.Run, env events.Envelope) {
		last = run
		narrow := termview.EventLines(run, env, 40)
		require.Equal(t, letters(termview.EventLines(run, env, 400)), letters(narrow))
		for _, line := range narrow {
			require.LessOrEqual(t, ansi.StringWidth(line), 40, line)
		}
	})
	narrow := termview.Sources(last, termview.Theme{}, 40)
	require.Contains(t, strings.Join(strings.Fields(strings.Join(narrow, " ")), " "), " ← Sightseeing ← task 6 ← call d3.1 “")
	for _, line := range narrow {
		require.LessOrEqual(t, ansi.StringWidth(line), 40, line)
	}
}

// A run in the middle: signs, words and order of the page.
func TestPicture(t *testing.T) {
	th := thread.New()
	for _, env := range inTheMiddle() {
		require.NoError(t, th.Apply(env))
	}
	now := start.Add(42 * time.Second)
	lines := termview.Render(termview.Frame{
		Run: th.Current(), Now: now, Width: 64, Height: 30,
		Active: []termview.Activity{
			{Name: "Facilitator", Doing: termview.DoingTeam, Since: now.Add(-12 * time.Second), Text: "old"},
			{Name: "Food", Doing: termview.DoingWriting, Since: now.Add(-5 * time.Second), InCall: true,
				Text: `{"day":1,"time_slot":"evening","content":"Near Gion, the tofu \"house\" on\n`},
			{Name: "Sights", Doing: termview.DoingRetrying, RetryAt: now.Add(7500 * time.Millisecond), Reason: "429"},
			{Name: "Hotels", Doing: termview.DoingWaiting, Since: now.Add(-31 * time.Second), Slow: true},
			{Name: "Maps", Doing: termview.DoingTools, Since: now.Add(-3 * time.Second), Text: "geo__route: 3 of 6, walking"},
		},
	}, termview.Theme{})
	require.Equal(t, strings.TrimPrefix(`
Plan a day in Kyoto
◐ running 0:42   2/4 tasks       0 tok        $0   SIMULATED
PLAN
  Food
    ✓ 1 Find dinner
    ◐ 2 Find lunch
  Sights
    ! 3 Pick a garden auto-done
    ○ 4 Pick a temple
DOCUMENT v1
  Day 1 (1)
NOW
  Facilitator  waiting for specialists  0:12
  Food         writing                  0:05  “…ofu "house" on”
  Sights       retry in 0:08 (429)
  Hotels       waiting for first token  0:31  taking longer th…
  Maps         using tools              0:03  “… of 6, walking”`, "\n"), strings.Join(lines, "\n"))
}

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func inTheMiddle() []events.Envelope {
	ref := func(index int) events.CallRef {
		return events.CallRef{ModelCall: "f.1", Index: index, CallID: events.CallID(rune('a' + index)), Arguments: "{}"}
	}
	facts := []events.Envelope{
		{Data: events.WorkflowStarted{
			Message: "Plan a day in Kyoto", Team: "trip", Simulated: true, Layout: []byte(`{"kind":"travel"}`),
			Agents: []events.AgentCard{{ID: "facilitator", DisplayName: "Facilitator"}, {ID: "food", DisplayName: "Food"}, {ID: "sights", DisplayName: "Sights"}},
		}},
		{Agent: "facilitator", Data: events.TasksCreated{Tasks: []events.Task{
			{ID: 1, Text: "Find dinner", AssignedTo: "food"}, {ID: 2, Text: "Find lunch", AssignedTo: "food"},
			{ID: 3, Text: "Pick a garden", AssignedTo: "sights"}, {ID: 4, Text: "Pick a temple", AssignedTo: "sights"},
		}}},
		{Agent: "sights", Dispatch: "d1", Data: events.AgentStarted{Agent: "sights", DisplayName: "Sights", TaskIDs: []events.TaskID{3}, Tool: "call_sights", CallRef: ref(0)}},
		{Agent: "food", Dispatch: "d2", Data: events.AgentStarted{Agent: "food", DisplayName: "Food", TaskIDs: []events.TaskID{1, 2}, Tool: "call_food", CallRef: ref(1)}},
		{Agent: "food", Dispatch: "d2", Data: events.DocumentUpdated{Version: 1, Author: "food", Content: "Tofu.", Section: "1", Slot: "evening", EntryID: 1}},
		{Agent: "food", Dispatch: "d2", Data: events.TaskUpdated{Task: events.Task{ID: 1, Text: "Find dinner", AssignedTo: "food", Finished: true}}},
		{Agent: "sights", Dispatch: "d1", Data: events.TaskUpdated{AutoCompleted: true, Task: events.Task{ID: 3, Text: "Pick a garden", AssignedTo: "sights", Finished: true}}},
		{Agent: "sights", Dispatch: "d1", Data: events.AgentFinished{Agent: "sights", DisplayName: "Sights", CallID: "a", Status: events.OutcomeOK}},
	}
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: "t"}
	for i := range facts {
		facts[i].Run, facts[i].Tenant, facts[i].Thread = "r", key.Tenant, key.Thread
		facts[i].Seq, facts[i].Time = events.Seq(i+1), start.Add(time.Duration(i)*time.Second)
	}
	return facts
}

// What replay knows of who is at work comes from the log alone.
func TestActivitiesFromTheLog(t *testing.T) {
	th := thread.New()
	for _, env := range inTheMiddle() {
		require.NoError(t, th.Apply(env))
	}
	active := termview.Activities(th.Current())
	require.Len(t, active, 2)
	require.Equal(t, termview.DoingTeam, active[0].Doing)
	require.Equal(t, "Food", active[1].Name)
	require.Nil(t, termview.Activities(nil))
}

// A declined task is told with its reason, in lines and in the plan, and so is what
// stands in for it.
func TestDeclinedTasksAreTold(t *testing.T) {
	facts := inTheMiddle()
	facts = append(facts,
		events.Envelope{Agent: "food", Dispatch: "d2", Data: events.TaskUpdated{Task: events.Task{ID: 2, Text: "Find lunch", AssignedTo: "food", Declined: "all\x1b[31m closed"}}},
		events.Envelope{Agent: "food", Dispatch: "d2", Data: events.AgentFinished{Agent: "food", DisplayName: "Food", CallID: "b", Status: events.OutcomeOK}})
	th := thread.New()
	apply := func(env events.Envelope) []string {
		env.Run, env.Tenant, env.Thread, env.Seq, env.Time = "r", events.LocalTenant, "t", th.Seq+1, th.Time
		require.NoError(t, th.Apply(env))
		return termview.Narrate(th.Current(), env)
	}
	var told []string
	for _, env := range facts {
		told = append(told, apply(env)...)
	}
	require.Contains(t, told, "! task 2 Food: declined: all closed")
	plan := func() string { return strings.Join(termview.Plan(th.Current(), termview.Theme{}, 100), "\n") }
	require.Contains(t, plan(), "! 2 Find lunch declined: all closed")
	lines := apply(events.Envelope{Agent: "facilitator", Data: events.TasksCreated{Tasks: []events.Task{{ID: 5, Text: "Pack lunch", AssignedTo: "sights", Replaces: []events.TaskID{2}}}}})
	require.Equal(t, []string{"○ task 5 Sights: Pack lunch, in place of task 2"}, lines)
	require.Contains(t, plan(), "2 Find lunch replaced by 5")
}
