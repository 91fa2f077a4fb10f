package board

import (
	"fmt"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/quote"
)

// render writes tasks for a model: a line of counts, then one line for each task, in
// the order given, and one more with the reason where it is declined. A text stands at
// the end of its line, so that it cannot pass for what the board says.
//
//	1/2 done, declined: 2
//	- [x] 1 (food) Find three restaurants
//	- [ ] 2 (logistics, declined) Book the train
//	  declined: the timetable is not out yet
func (b *Board) render(tasks []events.Task) string {
	if len(tasks) == 0 {
		return "There are no tasks yet."
	}
	var lines strings.Builder
	var open, declined []events.TaskID
	done, all := 0, 0
	for _, task := range tasks {
		mark := " "
		switch {
		case task.Finished:
			mark = "x"
			done++
		case !b.open(task):
			all--
		case task.Declined != "":
			declined = append(declined, task.ID)
		default:
			open = append(open, task.ID)
		}
		all++
		fmt.Fprintf(&lines, "\n- [%s] %d (%s) %s", mark, task.ID, b.standing(task), quote.OneLine(task.Text))
		if task.Declined != "" {
			lines.WriteString("\n  declined: " + quote.OneLine(task.Declined))
		}
	}
	counts := fmt.Sprintf("%d/%d done", done, all)
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

// RenderTasks writes the tasks with these ids, in that order and each once, or
// the whole plan if there are none. An id that the board does not have is said
// so at the end.
func (b *Board) RenderTasks(ids []events.TaskID) string {
	if len(ids) == 0 {
		return b.render(b.tasks)
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
		return b.render(tasks)
	}
	absent := joinProblems(missing)
	if len(tasks) == 0 {
		return absent
	}
	return b.render(tasks) + "\n" + absent
}
