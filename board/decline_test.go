package board_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/board"
	"github.com/convene-run/convene/events"
)

// decline says that a task cannot be done, as its specialist would.
func decline(t require.TestingT, b *board.Board, id events.TaskID, reason string) string {
	updated, result, err := b.Decline(ids{id}, id, reason)
	require.NoError(t, err)
	require.NoError(t, b.Apply(envelope(t, 9, updated)))
	return result
}

// Proves R7: a declined task is open, with the reason, until it is done after all.
func TestDecline(t *testing.T) {
	b := plan(t, "food", "food", "logistics")
	updated, result, err := b.Decline(ids{1, 2}, 2, " no\nsources ")
	require.NoError(t, err)
	assert.Equal(t, events.TaskUpdated{Task: events.Task{ID: 2, Text: "Do it", AssignedTo: "food", Declined: "no sources"}}, updated)
	assert.Equal(t, "Task 2 is declined, and the facilitator is told why. Your open tasks: 1.", result)
	require.NoError(t, b.Apply(envelope(t, 3, updated)))
	assert.Equal(t, ids{1, 2, 3}, b.Open(""))
	assert.Equal(t, ids{1}, b.Undecided(ids{1, 2}))

	done, _, result, err := b.Complete("food", ids{1, 2}, 1)
	require.NoError(t, err)
	assert.Equal(t, "All your tasks are done or declined: now sum up.", result)
	require.NoError(t, b.Apply(envelope(t, 4, *done)))
	_, _, err = b.Decline(ids{1, 2}, 1, "too late")
	require.EqualError(t, err, "Task 1 is already done. All your tasks are done or declined: now sum up.")

	require.NoError(t, b.Assignable("food", ids{2}), "it may be asked again")
	done, _, _, err = b.Complete("food", ids{2}, 2)
	require.NoError(t, err)
	assert.Equal(t, &events.TaskUpdated{Task: events.Task{ID: 2, Text: "Do it", AssignedTo: "food", Finished: true}}, done, "the reason is gone")
}

func TestDeclineRefusesWhatCannotBe(t *testing.T) {
	b := plan(t, "food", "food", "logistics")
	for want, c := range map[string]struct {
		id     events.TaskID
		reason string
	}{
		"Task 3 is not yours. Your open tasks: 1, 2.":     {3, "no"},
		"Task 9 is not yours. Your open tasks: 1, 2.":     {9, "no"},
		"reason is empty: say why task 1 cannot be done.": {1, " \n"},
	} {
		_, _, err := b.Decline(ids{1, 2}, c.id, c.reason)
		require.EqualError(t, err, want)
	}
	updated, _, err := b.Decline(ids{1}, 1, strings.Repeat("é", 5000))
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("é", 1000)+"…", updated.Declined)
}

// Proves R7: a declined task that another replaces is no longer missing; nothing else
// can be replaced, and nothing is done to a task that was.
func TestCreateReplacesDeclinedTasks(t *testing.T) {
	b := plan(t, "food", "food", "logistics")
	decline(t, b, 1, "no sources")
	instead := func(ids ...events.TaskID) []board.Draft {
		return []board.Draft{{Text: "Do it", AssignedTo: "logistics", Replaces: ids}}
	}
	for want, drafts := range map[string][]board.Draft{
		"Nothing was created. tasks[0]: replaces: task 2 is not one that its specialist has declined; only such tasks are replaced.": instead(1, 2),
		"Nothing was created. tasks[0]: replaces: There is no task 9: the plan has tasks 1 to 3.":                                    instead(9),
	} {
		_, err := b.Create(drafts, team)
		require.EqualError(t, err, want)
	}
	created, err := b.Create(append(instead(1, 1), instead(1)...), team)
	require.NoError(t, err)
	assert.Equal(t, ids{1}, created.Tasks[0].Replaces)
	require.NoError(t, b.Apply(envelope(t, 5, created)))
	assert.Equal(t, ids{2, 3, 4, 5}, b.Open(""))
	assert.Equal(t, events.TaskID(4), b.ReplacedBy(1))
	require.EqualError(t, b.Assignable("food", ids{1}), "Task 1 was declined, and task 4 was created in its place. Open tasks of food: 2.")
	_, err = b.Create(instead(1), team)
	require.ErrorContains(t, err, "task 1 is not one")
	assert.Equal(t, `0/4 done, open: 2, 3, 4, 5
- [ ] 1 (food, declined, replaced by task 4) Do it
  declined: no sources
- [ ] 2 (food) Do it
- [ ] 3 (logistics) Do it
- [ ] 4 (logistics) Do it
- [ ] 5 (logistics) Do it`, b.RenderTasks(nil))

	_, _, err = b.Decline(ids{1}, 1, "again")
	require.EqualError(t, err, "Task 1 was declined before, and task 4 stands in for it. All your tasks are done or declined: now sum up.")
	done, _, result, err := b.Complete("food", ids{1}, 1)
	require.NoError(t, err)
	assert.Nil(t, done)
	assert.Equal(t, "Task 1 was declined, and task 4 stands in for it. All your tasks are done or declined: now sum up.", result)

	for name, fact := range map[string]events.Event{
		"an update of a replaced task": events.TaskUpdated{Task: events.Task{ID: 1, Text: "Do it", AssignedTo: "food", Finished: true}},
		"declined and done":            events.TaskUpdated{Task: events.Task{ID: 2, Finished: true, Declined: "no"}},
		"created declined":             events.TasksCreated{Tasks: []events.Task{{ID: 6, Declined: "no"}}},
		"in place of an open task":     events.TasksCreated{Tasks: []events.Task{{ID: 6, Replaces: ids{2}}}},
	} {
		require.Error(t, b.Apply(envelope(t, 6, fact)), name)
	}
}
