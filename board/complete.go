package board

import (
	"fmt"
	"slices"

	"github.com/convene-run/convene/events"
)

// Complete decides what happens when a specialist says that a task is done.
// assigned are the tasks of its dispatch.
//
// An id that is not among them is corrected to the first of them that is open,
// and a warning goes with the update. A task that is already done gives neither
// update nor warning, only a friendly result. The error is for a dispatch that
// has no tasks; like the result it is meant for the model.
func (b *Board) Complete(agent events.AgentID, assigned []events.TaskID, id events.TaskID) (
	updated *events.TaskUpdated, warning *events.Warning, result string, err error,
) {
	open := b.openAmong(assigned)
	target := id
	if !slices.Contains(assigned, id) {
		if len(assigned) == 0 {
			return nil, nil, "", refuse("Task %d is not yours and you have no tasks: there is nothing to complete.", id)
		}
		if len(open) == 0 {
			return nil, nil, fmt.Sprintf("Task %d is not yours. %s", id, whatIsLeft(nil)), nil
		}
		target = open[0]
		warning = &events.Warning{
			Code:    events.WarnTaskIDCorrected,
			Message: fmt.Sprintf("%s completed task %d, which is not its own; task %d was completed instead", agent, id, target),
		}
	}
	task, ok := b.Task(target)
	if !ok {
		return nil, nil, "", refusal(b.noSuchTask(target))
	}
	if task.Finished {
		return nil, nil, fmt.Sprintf("Task %d was already done. %s", target, whatIsLeft(open)), nil
	}
	task.Finished = true
	left := slices.DeleteFunc(open, func(other events.TaskID) bool { return other == target })
	result = fmt.Sprintf("Task %d is done. %s", target, whatIsLeft(left))
	if warning != nil {
		result = fmt.Sprintf("Task %d is not yours, so task %d was marked done instead. %s", id, target, whatIsLeft(left))
	}
	return &events.TaskUpdated{Task: task}, warning, result, nil
}

// AutoComplete decides the safety net for a dispatch that ended well: each task
// of it that is still open is completed, with a warning. It must not be asked
// after a failure.
func (b *Board) AutoComplete(assigned []events.TaskID) []events.Event {
	var facts []events.Event
	for _, id := range b.openAmong(assigned) {
		task := b.tasks[id-1]
		task.Finished = true
		facts = append(facts,
			events.TaskUpdated{Task: task, AutoCompleted: true},
			events.Warning{
				Code:    events.WarnTaskAutoCompleted,
				Message: fmt.Sprintf("%s ended well without completing task %d; it was completed for it", task.AssignedTo, id),
			})
	}
	return facts
}

// Assignable reports, with an error for a model, what keeps these tasks from
// being dispatched to the agent: each must exist and be assigned to it. Finished
// tasks may be dispatched again, for rework.
func (b *Board) Assignable(agent events.AgentID, ids []events.TaskID) error {
	if len(ids) == 0 {
		return refuse("task_ids is empty. %s", b.hint(agent))
	}
	for _, id := range ids {
		task, ok := b.Task(id)
		if !ok {
			return refuse("%s %s", b.noSuchTask(id), b.hint(agent))
		}
		if task.AssignedTo != agent {
			return refuse("Task %d is assigned to %s, not to %s. %s", id, task.AssignedTo, agent, b.hint(agent))
		}
	}
	return nil
}

// openAmong gives the open tasks among ids, in that order, each once.
func (b *Board) openAmong(ids []events.TaskID) []events.TaskID {
	var open []events.TaskID
	seen := make(map[events.TaskID]bool, len(ids))
	for _, id := range ids {
		if task, ok := b.Task(id); ok && !task.Finished && !seen[id] {
			seen[id] = true
			open = append(open, id)
		}
	}
	return open
}

// hint tells a facilitator which tasks it may dispatch to the agent.
func (b *Board) hint(agent events.AgentID) string {
	open := b.Open(agent)
	if len(open) == 0 {
		return fmt.Sprintf("%s has no open tasks: create one for it first.", agent)
	}
	return fmt.Sprintf("Open tasks of %s: %s.", agent, join(open))
}

func (b *Board) noSuchTask(id events.TaskID) string {
	if len(b.tasks) == 0 {
		return fmt.Sprintf("There is no task %d: the plan has no tasks yet.", id)
	}
	return fmt.Sprintf("There is no task %d: the plan has tasks 1 to %d.", id, len(b.tasks))
}

// whatIsLeft tells a specialist how to go on.
func whatIsLeft(open []events.TaskID) string {
	if len(open) == 0 {
		return "All your tasks are done: finish with a short summary."
	}
	return fmt.Sprintf("Your open tasks: %s.", join(open))
}
