package board

import (
	"fmt"
	"slices"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/quote"
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
	open := b.Undecided(assigned)
	target := id
	if !slices.Contains(assigned, id) {
		if len(assigned) == 0 {
			return nil, nil, "", refuse("Task %d is not yours and you have no tasks: there is nothing to complete.", id)
		}
		if len(open) == 0 {
			return nil, nil, fmt.Sprintf("Task %d is not yours. %s", id, b.whatIsLeft(assigned, nil)), nil
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
	if by := b.replaced[target]; by != 0 {
		return nil, nil, fmt.Sprintf("Task %d was declined, and task %d stands in for it. %s", target, by, b.whatIsLeft(assigned, open)), nil
	}
	if task.Finished {
		return nil, nil, fmt.Sprintf("Task %d was already done. %s", target, b.whatIsLeft(assigned, open)), nil
	}
	task.Finished = true
	task.Declined = ""
	left := without(open, target)
	result = b.whatIsLeft(assigned, left)
	if len(left) > 0 {
		result = "Done. Still open: " + join(left) + "."
	}
	if warning != nil {
		result = fmt.Sprintf("Task %d is not yours, so task %d was marked done instead. %s", id, target, b.whatIsLeft(assigned, left))
	}
	return &events.TaskUpdated{Task: task}, warning, result, nil
}

// Decline decides what happens when a specialist says that it cannot do a task of its
// dispatch, and why: the task stays open, with the reason. The error is for the model.
func (b *Board) Decline(assigned []events.TaskID, id events.TaskID, reason string) (updated events.TaskUpdated, result string, err error) {
	open := b.Undecided(assigned)
	task, ok := b.Task(id)
	switch {
	case !ok || !slices.Contains(assigned, id):
		return updated, "", refuse("Task %d is not yours. %s", id, b.whatIsLeft(assigned, open))
	case b.replaced[id] != 0:
		return updated, "", refuse("Task %d was declined before, and task %d stands in for it. %s", id, b.replaced[id], b.whatIsLeft(assigned, open))
	case task.Finished:
		return updated, "", refuse("Task %d is already done. %s", id, b.whatIsLeft(assigned, open))
	}
	if reason = quote.OneLine(reason); reason == "" {
		return updated, "", refuse("reason is empty: say why task %d cannot be done.", id)
	}
	if runes := []rune(reason); len(runes) > maxReasonRunes {
		reason = string(runes[:maxReasonRunes]) + "…"
	}
	task.Declined = reason
	return events.TaskUpdated{Task: task}, fmt.Sprintf("Task %d is declined, and the facilitator is told why. %s", id, declinedNext(without(open, id))), nil
}

// maxReasonRunes bounds the reason of a declined task, in characters: it is shown
// wherever the task is.
const maxReasonRunes = 1000

// AutoComplete decides the safety net for a dispatch that ended well: each task
// of it that is still open and written is completed, with a warning. What was
// declined stays so. It must not be asked after a failure.
func (b *Board) AutoComplete(assigned []events.TaskID, written func(events.TaskID) bool) []events.Event {
	var facts []events.Event
	for _, id := range b.Undecided(assigned) {
		task := b.tasks[id-1]
		if !written(id) {
			continue
		}
		task.Finished = true
		facts = append(facts,
			events.TaskUpdated{Task: task, AutoCompleted: true},
			events.Warning{
				Code:    events.WarnTaskAutoCompleted,
				Message: fmt.Sprintf("%s wrote task %d and ended well without completing it; it was completed for it", task.AssignedTo, id),
			})
	}
	return facts
}

// Assignable reports, with an error for a model, what keeps these tasks from
// being dispatched to the agent: each must exist, be assigned to it, and not be
// replaced. Finished tasks may be dispatched again, for rework, and declined ones.
func (b *Board) Assignable(agent events.AgentID, ids []events.TaskID) error {
	if len(ids) == 0 {
		return refuse("task_ids is empty. %s", b.hint(agent))
	}
	for _, id := range ids {
		task, ok := b.Task(id)
		if !ok {
			return refuse("%s %s", b.noSuchTask(id), b.hint(agent))
		}
		if by := b.replaced[id]; by != 0 {
			return refuse("Task %d was declined, and task %d was created in its place. %s", id, by, b.hint(agent))
		}
		if task.AssignedTo != agent {
			return refuse("Task %d is assigned to %s, not to %s. %s", id, task.AssignedTo, agent, b.hint(agent))
		}
	}
	return nil
}

func without(ids []events.TaskID, id events.TaskID) []events.TaskID {
	return slices.DeleteFunc(slices.Clone(ids), func(other events.TaskID) bool { return other == id })
}

// Undecided gives the tasks among ids of which nobody has said how they stand: neither
// done nor declined. They come in that order, each once.
func (b *Board) Undecided(ids []events.TaskID) []events.TaskID {
	var open []events.TaskID
	seen := make(map[events.TaskID]bool, len(ids))
	for _, id := range ids {
		if task, ok := b.Task(id); ok && b.open(task) && task.Declined == "" && !seen[id] {
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
func (b *Board) whatIsLeft(assigned, open []events.TaskID) string {
	for _, id := range assigned {
		if task, ok := b.Task(id); ok && len(open) == 0 && task.Declined != "" {
			return declinedNext(nil)
		}
	}
	if len(open) == 0 {
		return "All your tasks are done: now sum up."
	}
	return fmt.Sprintf("Your open tasks: %s.", join(open))
}

// declinedNext is the same behind a task that was declined.
func declinedNext(open []events.TaskID) string {
	if len(open) == 0 {
		return "All your tasks are done or declined: now sum up."
	}
	return fmt.Sprintf("Your open tasks: %s.", join(open))
}
