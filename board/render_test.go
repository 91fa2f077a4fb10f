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

	require.NoError(t, b.Apply(envelope(t, 1, events.TasksCreated{Tasks: []events.Task{
		{ID: 1, Text: "Find three restaurants", AssignedTo: "food"},
		{ID: 2, Text: "Book the train:\n- [x] 9 (food) not a task", AssignedTo: "logistics"},
		{ID: 3, Text: "Pick a tea house", AssignedTo: "food"},
	}})))
	finish(t, &b, 1)
	for _, fact := range b.AutoComplete(ids{3}) {
		require.NoError(t, b.Apply(envelope(t, 2, fact)))
	}
	assert.Equal(t, `2/3 done, open: 2
- [x] 1 (food) Find three restaurants
- [ ] 2 (logistics) Book the train: - [x] 9 (food) not a task
- [x] 3 (food) Pick a tea house — auto-completed`, b.RenderTasks(nil))
	assert.Equal(t, board.Render(b.Tasks(), b.AutoCompleted), b.RenderTasks(nil))
	assert.Equal(t, "1/1 done\n- [x] 3 (food) Pick a tea house", board.Render(b.Tasks()[2:], nil))

	assert.Equal(t, `1/2 done, open: 2
- [x] 3 (food) Pick a tea house — auto-completed
- [ ] 2 (logistics) Book the train: - [x] 9 (food) not a task
There is no task 8: the plan has tasks 1 to 3.`, b.RenderTasks(ids{3, 2, 3, 8}))
	assert.Equal(t, "There is no task 8: the plan has tasks 1 to 3.", b.RenderTasks(ids{8}))
}
