package termview

import (
	"fmt"

	"github.com/charmbracelet/x/ansi"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

func cells(s string) int { return ansi.StringWidth(s) }

// group is one specialist's share of the plan.
type group struct {
	agent events.AgentID
	tasks []events.Task
}

// minPlan is the least that is worth drawing of a plan: its title, a name, a task.
const minPlan = 3

// planLines draw the plan by specialist in at most room lines. Where there is not
// room for all, finished tasks are counted first, then the rest is.
func planLines(run *thread.Run, theme Theme, width, room int) []string {
	groups := groupTasks(run)
	if len(groups) == 0 || room < minPlan {
		return nil
	}
	lines := drawPlan(run, groups, theme, width, false)
	if len(lines) > room {
		lines = drawPlan(run, groups, theme, width, true)
	}
	if len(lines) <= room {
		return lines
	}
	kept := room - 1
	return append(lines[:kept:kept], theme.quiet(cut(fmt.Sprintf("  … %d more lines of plan", len(lines)-kept), width)))
}

// groupTasks sorts the tasks under their specialists, in the team's order.
func groupTasks(run *thread.Run) []group {
	byAgent := map[events.AgentID][]events.Task{}
	var order []events.AgentID
	for _, card := range run.Started.Agents {
		order = append(order, card.ID)
	}
	for _, task := range run.Board.Tasks() {
		byAgent[task.AssignedTo] = append(byAgent[task.AssignedTo], task)
	}
	var groups []group
	for _, id := range order {
		if tasks := byAgent[id]; len(tasks) > 0 {
			groups = append(groups, group{id, tasks})
		}
	}
	return groups
}

func drawPlan(run *thread.Run, groups []group, theme Theme, width int, countDone bool) []string {
	busy := run.Busy()
	lines := []string{theme.quiet("PLAN")}
	for _, g := range groups {
		name := "  " + theme.strong(Line(DisplayName(run, g.agent)))
		done := 0
		var open []string
		for _, task := range g.tasks {
			if _, active := busy[task.ID]; countDone && task.Finished && !active {
				done++
				continue
			}
			open = append(open, cut("    "+taskLine(run, task, busy, theme), width))
		}
		if done > 0 {
			name += "  " + theme.good(signDone) + theme.quiet(fmt.Sprintf(" %d done", done))
		}
		lines = append(append(lines, cut(name, width)), open...)
	}
	return lines
}

// taskLine is a task with its sign: done, under way, open, declined, or needing a look.
func taskLine(run *thread.Run, task events.Task, busy map[events.TaskID]events.DispatchID, theme Theme) string {
	text := fmt.Sprintf("%d %s", task.ID, Line(task.Text))
	_, active := busy[task.ID]
	switch {
	case run.Board.AutoCompleted(task.ID):
		return theme.notice(signNotice) + " " + text + theme.notice(" auto-done")
	case task.Finished:
		return theme.good(signDone) + " " + text
	case active:
		return theme.active(signActive) + " " + text
	case run.Board.ReplacedBy(task.ID) != 0:
		return theme.quiet(signOpen+" "+text) + theme.quiet(fmt.Sprintf(" replaced by %d", run.Board.ReplacedBy(task.ID)))
	case task.Declined != "":
		return theme.notice(signNotice) + " " + text + theme.notice(" declined: "+Clip(task.Declined, narratedCells))
	case run.Status.Over():
		return theme.notice(signNotice) + " " + text + theme.notice(" missing")
	}
	return theme.quiet(signOpen) + " " + text
}

// Plan draws the whole plan of a run, for a listing.
func Plan(run *thread.Run, theme Theme, width int) []string {
	groups := groupTasks(run)
	if len(groups) == 0 {
		return nil
	}
	return drawPlan(run, groups, theme, min(max(width-1, minWidth), maxWidth), false)
}
