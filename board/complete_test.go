package board_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
)

type ids = []events.TaskID

// Proves R4, R6. The board: 1 to 3 are food's, 3 is done; 4 is logistics'.
func TestComplete(t *testing.T) {
	for _, c := range []struct {
		name     string
		assigned ids
		id       events.TaskID
		updates  events.TaskID
		warns    string
		result   string
		err      string
	}{
		{name: "own", assigned: ids{1, 2}, id: 2, updates: 2, result: "Done. Still open: 1."},
		{name: "last of its own", assigned: ids{2, 3}, id: 2, updates: 2, result: "All your tasks are done: now sum up."},
		{name: "another's", assigned: ids{1, 2}, id: 4, updates: 1, warns: "food completed task 4, which is not its own; task 1 was completed instead",
			result: "Task 4 is not yours, so task 1 was marked done instead. Your open tasks: 2."},
		{name: "another's, first is done", assigned: ids{3, 2}, id: 99, updates: 2, warns: "food completed task 99, which is not its own; task 2 was completed instead",
			result: "Task 99 is not yours, so task 2 was marked done instead. All your tasks are done: now sum up."},
		{name: "its specialist's, of another dispatch", assigned: ids{2}, id: 1, updates: 2, warns: "food completed task 1, which is not its own; task 2 was completed instead",
			result: "Task 1 is not yours, so task 2 was marked done instead. All your tasks are done: now sum up."},
		{name: "another's, all own done", assigned: ids{3}, id: 4, result: "Task 4 is not yours. All your tasks are done: now sum up."},
		{name: "done before", assigned: ids{3, 1}, id: 3, result: "Task 3 was already done. Your open tasks: 1."},
		{name: "assigned twice", assigned: ids{1, 1}, id: 1, updates: 1, result: "All your tasks are done: now sum up."},
		{name: "no tasks", id: 4, err: "Task 4 is not yours and you have no tasks: there is nothing to complete."},
		{name: "assigned what does not exist", assigned: ids{9}, id: 9, err: "There is no task 9: the plan has tasks 1 to 4."},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := plan(t, "food", "food", "food", "logistics")
			finish(t, b, 3)
			updated, warning, result, err := b.Complete("food", c.assigned, c.id)
			assert.Equal(t, c.result, result)
			if c.err != "" {
				require.EqualError(t, err, c.err)
			} else {
				require.NoError(t, err)
			}
			if c.warns == "" {
				assert.Nil(t, warning)
			} else {
				assert.Equal(t, &events.Warning{Code: events.WarnTaskIDCorrected, Message: c.warns}, warning)
			}
			if c.updates == 0 {
				assert.Nil(t, updated)
				return
			}
			require.NotNil(t, updated)
			require.NoError(t, b.Apply(envelope(t, 5, *updated)))
			task, _ := b.Task(c.updates)
			assert.True(t, task.Finished)
			assert.False(t, b.AutoCompleted(c.updates))
		})
	}
}

// Proves R7: what is written and not ticked off is completed; what is not written, or
// was declined, stays open.
func TestAutoCompleteClosesWhatIsWritten(t *testing.T) {
	written := func(id events.TaskID) bool { return id != 5 }
	b := plan(t, "food", "food", "food", "logistics", "food", "food")
	finish(t, b, 2)
	decline(t, b, 6, "no sources")
	facts := b.AutoComplete(ids{1, 2, 3, 3, 77, 5, 6}, written)
	require.Len(t, facts, 4)
	assert.Equal(t, events.Warning{
		Code:    events.WarnTaskAutoCompleted,
		Message: "food wrote task 1 and ended well without completing it; it was completed for it",
	}, facts[1])
	for i, fact := range facts {
		require.NoError(t, b.Apply(envelope(t, 5+i, fact)))
	}
	assert.Equal(t, ids{4, 5, 6}, b.Open(""))
	assert.True(t, b.AutoCompleted(1))
	assert.False(t, b.AutoCompleted(2), "its specialist said so itself")
	assert.True(t, b.AutoCompleted(3))
	assert.Empty(t, b.AutoComplete(ids{1, 2, 3}, written), "nothing is left to close")
}

// Proves R3.
func TestAssignable(t *testing.T) {
	b := plan(t, "food", "food", "logistics")
	finish(t, b, 1, 3)
	assert.NoError(t, b.Assignable("food", ids{2, 1}), "a finished task may be worked over")
	assert.EqualError(t, b.Assignable("food", nil), "task_ids is empty. Open tasks of food: 2.")
	assert.EqualError(t, b.Assignable("food", ids{2, 3}), "Task 3 is assigned to logistics, not to food. Open tasks of food: 2.")
	assert.EqualError(t, b.Assignable("logistics", ids{9}), "There is no task 9: the plan has tasks 1 to 3. logistics has no open tasks: create one for it first.")
	empty := plan(t)
	assert.EqualError(t, empty.Assignable("food", ids{1}), "There is no task 1: the plan has no tasks yet. food has no open tasks: create one for it first.")
}
