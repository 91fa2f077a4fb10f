package board_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/board"
	"github.com/convene-run/convene/events"
)

// Whatever is decided in whatever order, the fold of the log so far is the board
// as it stands; done tasks stay done; nobody closes another's task; the bound
// holds. Proves R1, R6, R7, R8.
func TestBoardIsItsLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const maxTasks = 12
		rules := team
		rules.MaxTasks = maxTasks
		agent := rapid.SampledFrom(rules.Specialists)
		taskIDs := rapid.SliceOfN(rapid.Map(rapid.IntRange(-1, maxTasks+1), func(i int) events.TaskID { return events.TaskID(i) }), 0, 5)
		var live board.Board
		var log []events.Envelope
		record := func(facts ...events.Event) {
			for _, fact := range facts {
				env := envelope(t, len(log)+1, fact)
				require.NoError(t, live.Apply(env), "a decision's event fits the board")
				log = append(log, env)
			}
		}
		unchangedBut := func(before []events.Task, allowed []events.TaskID) {
			for i, task := range live.Tasks()[:len(before)] {
				if !slices.Contains(allowed, task.ID) {
					require.Equal(t, before[i], task)
				}
				require.True(t, task.Finished || !before[i].Finished)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				var asked []board.Draft
				for range rapid.IntRange(0, 6).Draw(t, "drafts") {
					asked = append(asked, board.Draft{Text: rapid.String().Draw(t, "text"), AssignedTo: agent.Draw(t, "agent")})
				}
				if created, err := live.Create(asked, rules); err == nil {
					record(created)
				}
			},
			"complete": func(t *rapid.T) {
				assigned, before := taskIDs.Draw(t, "assigned"), live.Tasks()
				updated, warning, _, err := live.Complete(agent.Draw(t, "agent"), assigned, taskIDs.Filter(func(ids []events.TaskID) bool { return len(ids) > 0 }).Draw(t, "id")[0])
				if updated == nil {
					require.Nil(t, warning)
					return
				}
				require.NoError(t, err)
				record(*updated)
				unchangedBut(before, assigned)
			},
			"auto-complete": func(t *rapid.T) {
				assigned, before := taskIDs.Draw(t, "assigned"), live.Tasks()
				odd := func(id events.TaskID) bool { return id%2 == 1 }
				record(live.AutoComplete(assigned, odd)...)
				unchangedBut(before, assigned)
				for _, id := range live.Undecided(assigned) {
					require.False(t, odd(id))
				}
			},
			"decline": func(t *rapid.T) {
				assigned, before := taskIDs.Draw(t, "assigned"), live.Tasks()
				if updated, _, err := live.Decline(assigned, rapid.SampledFrom(append(assigned, 1)).Draw(t, "id"), rapid.String().Draw(t, "reason")); err == nil {
					record(updated)
				}
				unchangedBut(before, assigned)
			},
			"replace": func(t *rapid.T) {
				open := live.Open("")
				created, err := live.Create([]board.Draft{{Text: "Instead", AssignedTo: agent.Draw(t, "agent"), Replaces: taskIDs.Draw(t, "ids")}}, rules)
				if err != nil {
					return
				}
				record(created)
				for _, id := range created.Tasks[0].Replaces {
					require.Contains(t, open, id, "what is replaced was missing")
					require.NotContains(t, live.Open(""), id)
				}
			},
			"": func(t *rapid.T) {
				var rebuilt board.Board
				for _, env := range log {
					require.NoError(t, rebuilt.Apply(env))
				}
				require.Equal(t, live.Tasks(), rebuilt.Tasks())
				require.Equal(t, live.RenderTasks(nil), rebuilt.RenderTasks(nil))
				require.LessOrEqual(t, len(live.Tasks()), maxTasks)
			},
		})
	})
}
