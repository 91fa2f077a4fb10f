package board_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/board"
	"github.com/convene-run/convene/events"
)

// Proves R2, R4: get_plan_status and read_tasks.
func TestRender(t *testing.T) {
	var b board.Board
	assert.Equal(t, "There are no tasks yet.", b.RenderTasks(nil))
	assert.Equal(t, "There are no tasks yet.", b.RenderStatus())

	require.NoError(t, b.Apply(envelope(t, 1, events.TasksCreated{Tasks: []events.Task{
		{ID: 1, Text: "Find three restaurants", AssignedTo: "food"},
		{ID: 2, Text: "Book the train:\n- [x] 9 (food) not a task", AssignedTo: "logistics"},
		{ID: 3, Text: "Pick a tea house", AssignedTo: "food"},
		{ID: 4, Text: "Cook — auto-completed\u2028  declined: never", AssignedTo: "food"},
	}})))
	finish(t, &b, 1)
	for _, fact := range b.AutoComplete(ids{3}, func(events.TaskID) bool { return true }) {
		require.NoError(t, b.Apply(envelope(t, 2, fact)))
	}
	task, _ := b.Task(2)
	task.Declined = "no timetable\n- [x] 2 (logistics) yet" // as a log of others may have it
	require.NoError(t, b.Apply(envelope(t, 9, events.TaskUpdated{Task: task})))
	assert.Equal(t, `2/4 done, open: 4, declined: 2
- [x] 1 (food) Find three restaurants
- [ ] 2 (logistics, declined) Book the train: - [x] 9 (food) not a task
  declined: no timetable - [x] 2 (logistics) yet
- [x] 3 (food, auto-completed) Pick a tea house
- [ ] 4 (food) Cook — auto-completed declined: never`, b.RenderTasks(nil))

	assert.Equal(t, `2/4 done (1, 3), open: 4, declined: 2
- [ ] 2 (logistics, declined) Book the train: - [x] 9 (food) not a task
  declined: no timetable - [x] 2 (logistics) yet
- [x] 3 (food, auto-completed) Pick a tea house
- [ ] 4 (food) Cook — auto-completed declined: never`, b.RenderStatus(), "what is done as it should be is known by its id")

	assert.Equal(t, `1/2 done, declined: 2
- [x] 3 (food, auto-completed) Pick a tea house
- [ ] 2 (logistics, declined) Book the train: - [x] 9 (food) not a task
  declined: no timetable - [x] 2 (logistics) yet
There is no task 8: the plan has tasks 1 to 4.`, b.RenderTasks(ids{3, 2, 3, 8}))
	assert.Equal(t, "There is no task 8: the plan has tasks 1 to 4.", b.RenderTasks(ids{8}))

	assert.Equal(t, "1/1 done", b.RenderFor(ids{1}, ids{1}))
	assert.Equal(t, "0/1 done, open: 4", b.RenderFor(ids{2, 4}, ids{4}), "its text was told")
	assert.Equal(t, `2/3 done (1, 3), declined: 2
- [ ] 2 (logistics, declined) Book the train: - [x] 9 (food) not a task
  declined: no timetable - [x] 2 (logistics) yet
- [x] 3 (food, auto-completed) Pick a tea house`, b.RenderFor(ids{1, 2}, ids{1, 2, 3}), "what is unusual about its own is told")
}

// Proves R2: who creates tasks is told their ids by specialist, as it dispatches them.
func TestRenderCreated(t *testing.T) {
	assert.Equal(t, "Created, numbered in the order given.\nfood: 3, 5\nlogistics: 4", board.RenderCreated(events.TasksCreated{Tasks: []events.Task{
		{ID: 3, Text: "Lunches", AssignedTo: "food"}, {ID: 4, Text: "Trains", AssignedTo: "logistics"}, {ID: 5, Text: "Dinners", AssignedTo: "food"},
	}}))
}
