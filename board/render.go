package board

import (
	"fmt"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/quote"
)

// list writes tasks for a model: a line of counts, then one line for each task, in
// the order given, and one more with the reason where it is declined. A text stands at
// the end of its line, so that it cannot pass for what the board says.
//
//	1/2 done, declined: 2
//	- [x] 1 (food) Find three restaurants
//	- [ ] 2 (logistics, declined) Book the train
//	  declined: the timetable is not out yet
//
// A task whose text the reader knows has no line if there is nothing unusual about it: the
// first line says by id how it stands, or that all are done. nil knows none.
func (b *Board) list(tasks []events.Task, known func(events.Task) bool) string {
	if len(tasks) == 0 {
		return "There are no tasks yet."
	}
	var lines strings.Builder
	var finished, open, declined []events.TaskID
	all := len(tasks)
	for _, task := range tasks {
		mark := " "
		switch {
		case task.Finished:
			mark = "x"
			finished = append(finished, task.ID)
		case !b.open(task):
			all--
		case task.Declined != "":
			declined = append(declined, task.ID)
		default:
			open = append(open, task.ID)
		}
		standing := b.standing(task)
		if known != nil && known(task) && standing == string(task.AssignedTo) {
			continue
		}
		fmt.Fprintf(&lines, "\n- [%s] %d (%s) %s", mark, task.ID, standing, quote.OneLine(task.Text))
		if task.Declined != "" {
			lines.WriteString("\n  declined: " + quote.OneLine(task.Declined))
		}
	}
	counts := fmt.Sprintf("%d/%d done", len(finished), all)
	if known != nil && len(finished) > 0 && len(finished) < all {
		counts += " (" + join(finished) + ")"
	}
	if len(open) > 0 {
		counts += ", open: " + join(open)
	}
	if len(declined) > 0 {
		counts += ", declined: " + join(declined)
	}
	return counts + lines.String()
}

// standing is whose the task is and what is unusual about it.
func (b *Board) standing(task events.Task) string {
	words := string(task.AssignedTo)
	if b.auto[task.ID] {
		words += ", auto-completed"
	}
	if task.Declined != "" {
		words += ", declined"
	}
	if by := b.replaced[task.ID]; by != 0 {
		words += fmt.Sprintf(", replaced by task %d", by)
	}
	return words
}

// RenderStatus writes the whole plan for who made it: of a task that is done and has nothing
// unusual about it the id alone.
//
//	1/2 done (1), declined: 2
//	- [ ] 2 (logistics, declined) Book the train
//	  declined: the timetable is not out yet
func (b *Board) RenderStatus() string {
	return b.list(b.tasks, func(task events.Task) bool { return task.Finished })
}

// RenderCreated says which ids the tasks of a creation were given, to who has just named them:
// their specialists in the order in which they come first, each with its tasks.
//
//	Created, numbered in the order given.
//	food: 1, 3
//	logistics: 2
func RenderCreated(created events.TasksCreated) string {
	ids := map[events.AgentID][]events.TaskID{}
	var agents []events.AgentID
	for _, task := range created.Tasks {
		if ids[task.AssignedTo] == nil {
			agents = append(agents, task.AssignedTo)
		}
		ids[task.AssignedTo] = append(ids[task.AssignedTo], task.ID)
	}
	text := "Created, numbered in the order given."
	for _, agent := range agents {
		text += fmt.Sprintf("\n%s: %s", agent, join(ids[agent]))
	}
	return text
}

// RenderTasks writes the tasks with these ids, in that order and each once, or
// the whole plan if there are none. An id that the board does not have is said
// so at the end.
func (b *Board) RenderTasks(ids []events.TaskID) string { return b.renderTasks(ids, nil) }

// RenderFor is RenderTasks for whom the assigned tasks were told: of these, how they stand and
// not their texts again.
//
//	1/3 done (1), open: 2, 3
//	- [ ] 3 (logistics) Book the train
func (b *Board) RenderFor(assigned, ids []events.TaskID) string {
	return b.renderTasks(ids, func(task events.Task) bool { return slices.Contains(assigned, task.ID) })
}

func (b *Board) renderTasks(ids []events.TaskID, known func(events.Task) bool) string {
	if len(ids) == 0 {
		return b.list(b.tasks, known)
	}
	var tasks []events.Task
	var missing []string
	seen := make(map[events.TaskID]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		if task, ok := b.Task(id); ok {
			tasks = append(tasks, task)
		} else {
			missing = append(missing, b.noSuchTask(id))
		}
	}
	if len(missing) == 0 {
		return b.list(tasks, known)
	}
	absent := joinProblems(missing)
	if len(tasks) == 0 {
		return absent
	}
	return b.list(tasks, known) + "\n" + absent
}
