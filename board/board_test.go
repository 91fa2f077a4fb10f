package board_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/board"
	"github.com/convene-run/convene/events"
)

var team = board.Rules{Specialists: []events.AgentID{"food", "logistics"}}

// envelope gives a fact its place in the log, through the codec, as a fold meets
// it after a restart.
func envelope(t require.TestingT, seq int, fact events.Event) events.Envelope {
	body, err := json.Marshal(events.Envelope{
		Tenant: events.LocalTenant, Thread: "t", Run: "r", Seq: events.Seq(seq),
		Time: time.Unix(int64(seq), 0).UTC(), Data: fact,
	})
	require.NoError(t, err)
	var env events.Envelope
	require.NoError(t, json.Unmarshal(body, &env))
	return env
}

// plan is a board with these tasks, by assignee.
func plan(t require.TestingT, assignees ...events.AgentID) *board.Board {
	var b board.Board
	var tasks []events.Task
	for i, agent := range assignees {
		tasks = append(tasks, events.Task{ID: events.TaskID(i + 1), Text: "Do it", AssignedTo: agent})
	}
	require.NoError(t, b.Apply(envelope(t, 1, events.TasksCreated{Tasks: tasks})))
	return &b
}

func finish(t require.TestingT, b *board.Board, ids ...events.TaskID) {
	for _, id := range ids {
		task, ok := b.Task(id)
		require.True(t, ok)
		task.Finished = true
		require.NoError(t, b.Apply(envelope(t, 2, events.TaskUpdated{Task: task})))
	}
}

// Proves R1.
func TestBoardFoldsTasks(t *testing.T) {
	b := plan(t, "food", "logistics", "food")
	finish(t, b, 1)

	assert.Equal(t, []events.Task{
		{ID: 1, Text: "Do it", AssignedTo: "food", Finished: true},
		{ID: 2, Text: "Do it", AssignedTo: "logistics"},
		{ID: 3, Text: "Do it", AssignedTo: "food"},
	}, b.Tasks())
	assert.Equal(t, []events.TaskID{2, 3}, b.Open(""))
	assert.Equal(t, []events.TaskID{3}, b.Open("food"))
	assert.Empty(t, b.Open("nobody"))

	b.Tasks()[1].Finished = true
	assert.Equal(t, []events.TaskID{2, 3}, b.Open(""), "what Tasks returned is not the board's own")
	for _, id := range []events.TaskID{-1, 0, 4} {
		_, ok := b.Task(id)
		assert.False(t, ok, id)
	}
}

func TestBoardIgnoresWhatIsNotAboutTasks(t *testing.T) {
	b := plan(t, "food")
	require.NoError(t, b.Apply(envelope(t, 2, events.FinalAnswer{Content: "Done"})))
	assert.Len(t, b.Tasks(), 1)
}

func TestBoardRefusesEventsThatDoNotFit(t *testing.T) {
	task := func(id events.TaskID, finished bool) events.Task {
		return events.Task{ID: id, Text: "Do it", AssignedTo: "food", Finished: finished}
	}
	for name, env := range map[string]events.Envelope{
		"skipped id":              envelope(t, 7, events.TasksCreated{Tasks: []events.Task{task(4, false)}}),
		"repeated id":             envelope(t, 7, events.TasksCreated{Tasks: []events.Task{task(3, false), task(3, false)}}),
		"created finished":        envelope(t, 7, events.TasksCreated{Tasks: []events.Task{task(3, true)}}),
		"unknown task":            envelope(t, 7, events.TaskUpdated{Task: task(3, true)}),
		"finished twice":          envelope(t, 7, events.TaskUpdated{Task: task(1, true)}),
		"open and auto-completed": envelope(t, 7, events.TaskUpdated{Task: task(2, false), AutoCompleted: true}),
		"another run":             {Run: "other", Seq: 7, Data: events.TaskUpdated{Task: task(2, true)}},
		"no data":                 {Run: "r", Seq: 7},
	} {
		t.Run(name, func(t *testing.T) {
			b := plan(t, "food", "food")
			finish(t, b, 1)
			before := b.Tasks()
			err := b.Apply(env)
			require.ErrorContains(t, err, "seq=7")
			assert.Equal(t, before, b.Tasks(), "a refused event changes nothing")
			assert.False(t, b.AutoCompleted(2))
		})
	}
}
