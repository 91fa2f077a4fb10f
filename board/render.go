package board

import (
	"fmt"
	"strings"

	"github.com/convene-run/convene/events"
)

// Render writes tasks for a model: a line of counts, then one line for each
// task, in the order given. auto says which tasks the safety net completed; nil
// means none.
//
//	1/2 done, open: 2
//	- [x] 1 (food) Find three restaurants
//	- [ ] 2 (logistics) Book the train
func Render(tasks []events.Task, auto func(events.TaskID) bool) string {
	if len(tasks) == 0 {
		return "There are no tasks yet."
	}
	var lines strings.Builder
	var open []events.TaskID
	for _, task := range tasks {
		mark, end := "x", ""
		if !task.Finished {
			mark = " "
			open = append(open, task.ID)
		}
		if auto != nil && auto(task.ID) {
			end = " — auto-completed"
		}
		// A text of several lines would read as several tasks.
		text := strings.Join(strings.Fields(task.Text), " ")
		fmt.Fprintf(&lines, "\n- [%s] %d (%s) %s%s", mark, task.ID, task.AssignedTo, text, end)
	}
	counts := fmt.Sprintf("%d/%d done", len(tasks)-len(open), len(tasks))
	if len(open) > 0 {
		counts += ", open: " + join(open)
	}
	return counts + lines.String()
}

// RenderTasks writes the tasks with these ids, in that order and each once, or
// the whole plan if there are none. An id that the board does not have is said
// so at the end.
func (b *Board) RenderTasks(ids []events.TaskID) string {
	if len(ids) == 0 {
		return Render(b.tasks, b.AutoCompleted)
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
		return Render(tasks, b.AutoCompleted)
	}
	absent := joinProblems(missing)
	if len(tasks) == 0 {
		return absent
	}
	return Render(tasks, b.AutoCompleted) + "\n" + absent
}
