package board_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/board"
	"github.com/convene-run/convene/events"
)

// Proves R2.
func TestCreateNumbersOnFromTheBoard(t *testing.T) {
	b := plan(t, "food", "logistics")
	created, err := b.Create([]board.Draft{
		{Text: "  Find a café\n", AssignedTo: "food"},
		{Text: "Book a train", AssignedTo: " Logistics "},
	}, team)
	require.NoError(t, err)
	assert.Equal(t, []events.Task{
		{ID: 3, Text: "Find a café", AssignedTo: "food"},
		{ID: 4, Text: "Book a train", AssignedTo: "logistics"},
	}, created.Tasks)
	assert.Len(t, b.Tasks(), 2, "a decision changes nothing")
}

func drafts(n int) []board.Draft {
	list := make([]board.Draft, n)
	for i := range list {
		list[i] = board.Draft{Text: "Do it", AssignedTo: "food"}
	}
	return list
}

// Proves R8: one below the bound, at it, and past it.
func TestCreateHoldsTheBound(t *testing.T) {
	for _, c := range []struct {
		name      string
		have, ask int
		max       int
		want      string
	}{
		{name: "below", have: 2, ask: 2, max: 5},
		{name: "at", have: 2, ask: 3, max: 5},
		{name: "past", have: 2, ask: 4, max: 5, want: "Nothing was created: the limit is 5 tasks, the plan has 2 and you asked for 4 more. Create at most 3, with related work joined into one task."},
		{name: "full", have: 5, ask: 1, max: 5, want: "Nothing was created: the plan already has 5 tasks and 5 is the limit. Work with the tasks there are; get_plan_status shows them."},
		{name: "far past", have: 0, ask: 500, max: 20, want: "Nothing was created: the limit is 20 tasks, the plan has 0 and you asked for 500 more. Create at most 20, with related work joined into one task."},
		{name: "no bound", have: 0, ask: 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b board.Board
			if c.have > 0 {
				b = *plan(t, make([]events.AgentID, c.have)...)
			}
			rules := team
			rules.MaxTasks = c.max
			created, err := b.Create(drafts(c.ask), rules)
			if c.want == "" {
				require.NoError(t, err)
				assert.Len(t, created.Tasks, c.ask)
				return
			}
			var limit *events.LimitError
			require.ErrorAs(t, err, &limit)
			assert.Equal(t, c.want, err.Error())
			assert.Equal(t, []float64{float64(c.max), float64(c.have + c.ask)}, []float64{limit.Value, limit.Used})
			assert.Empty(t, created.Tasks)
		})
	}
}

func TestCreateIsAllOrNothing(t *testing.T) {
	for name, c := range map[string]struct {
		drafts []board.Draft
		want   string
	}{
		"none":     {nil, "Nothing was created: give at least one task with text and assigned_to."},
		"no text":  {[]board.Draft{{Text: " \n", AssignedTo: "food"}}, "Nothing was created. tasks[0]: text is empty, say what is to be done."},
		"stranger": {[]board.Draft{{Text: "A", AssignedTo: "food"}, {Text: "B", AssignedTo: "chef"}}, `Nothing was created. tasks[1]: assigned_to "chef" is no specialist of this team, use one of: food, logistics.`},
		"too long": {[]board.Draft{{Text: strings.Repeat("é", 12), AssignedTo: "food"}}, "Nothing was created. tasks[0]: text has 12 characters, 11 is the limit: say it shorter, or split the task."},
		"NUL":      {[]board.Draft{{Text: "a\x00b", AssignedTo: "food"}}, "Nothing was created. tasks[0]: text is not valid UTF-8 or contains a NUL character, write it again as plain text."},
		"not text": {[]board.Draft{{Text: "a\xff", AssignedTo: "food"}}, "Nothing was created. tasks[0]: text is not valid UTF-8 or contains a NUL character, write it again as plain text."},
		"several": {
			[]board.Draft{{AssignedTo: "food"}, {Text: "B", AssignedTo: ""}},
			`Nothing was created. tasks[0]: text is empty, say what is to be done. tasks[1]: assigned_to "" is no specialist of this team, use one of: food, logistics.`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b board.Board
			rules := team
			rules.MaxTextChars = 11
			created, err := b.Create(c.drafts, rules)
			require.EqualError(t, err, c.want)
			assert.Empty(t, created.Tasks)
		})
	}
}

func TestCreateErrorsStayShort(t *testing.T) {
	many := make([]board.Draft, 1000)
	for i := range many {
		many[i] = board.Draft{Text: "A", AssignedTo: events.AgentID(strings.Repeat("x", 10_000))}
	}
	rules := team
	rules.MaxTasks = len(many)
	var b board.Board
	_, err := b.Create(many, rules)
	require.ErrorContains(t, err, "And 992 more of the kind.")
	assert.Less(t, len(err.Error()), 2000)
}
