// Package board is the TaskBoard: the plan of one run. The facilitator creates
// tasks, each assigned to a specialist by name, and specialists complete them.
//
// A [Board] is a fold over the run's events and holds nothing else. What may
// happen to it is decided by pure methods that return events or an error; only
// an event that was appended to the log changes the board. The package runs no
// agent and keeps no file.
//
//	var plan board.Board
//	created, err := plan.Create([]board.Draft{
//		{Text: "Find three restaurants", AssignedTo: "food"},
//	}, board.Rules{Specialists: []events.AgentID{"food", "logistics"}})
//	// append created to the log, then fold it as it came back:
//	err = plan.Apply(env)
//	updated, warning, result, err := plan.Complete("food", []events.TaskID{1}, 1)
//	fmt.Println(plan.RenderTasks(nil))
//
// The texts of errors and results are written for a model: what is wrong and
// what to do next.
package board

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/convene-run/convene/events"
)

// Board holds the tasks of one run. The zero value is an empty board.
//
// It is not safe for concurrent use: whoever sequences the run guards it. What
// its methods return is theirs who asked and does not change afterwards.
type Board struct {
	run events.RunID
	// tasks has task N at index N-1: ids are contiguous from 1.
	tasks []events.Task
	// auto holds the tasks that were completed on their specialist's behalf.
	auto map[events.TaskID]bool
	// replaced has for a declined task the first that was created in its place.
	replaced map[events.TaskID]events.TaskID
}

// Apply folds one event of the run. Kinds that say nothing about tasks change
// nothing. An event that does not fit the board is an error and leaves it as it
// was: the log is damaged, or events were skipped or given twice.
func (b *Board) Apply(env events.Envelope) error {
	var err error
	switch e := env.Data.(type) {
	case events.TasksCreated:
		if err = b.checkRun(env); err == nil {
			err = b.create(e)
		}
	case events.TaskUpdated:
		if err = b.checkRun(env); err == nil {
			err = b.update(e)
		}
	case nil:
		err = errors.New("it has no data")
	}
	if err != nil {
		return fmt.Errorf("fold board run=%s seq=%d: %w", env.Run, env.Seq, err)
	}
	return nil
}

// Continue gives a board of its own with the same tasks, for a run that continues with
// them.
func (b *Board) Continue(run events.RunID) *Board {
	next := *b
	next.run, next.tasks = run, slices.Clone(b.tasks)
	next.auto, next.replaced = maps.Clone(b.auto), maps.Clone(b.replaced)
	return &next
}

// checkRun keeps the tasks of two runs of a thread apart.
func (b *Board) checkRun(env events.Envelope) error {
	if b.run == "" {
		b.run = env.Run
	}
	if env.Run != b.run {
		return fmt.Errorf("the board is that of run %s", b.run)
	}
	return nil
}

func (b *Board) create(e events.TasksCreated) error {
	for i, task := range e.Tasks {
		if want := events.TaskID(len(b.tasks) + i + 1); task.ID != want {
			return fmt.Errorf("tasks_created has task %d where task %d is next", task.ID, want)
		}
		if task.Finished || task.Declined != "" {
			return fmt.Errorf("tasks_created has task %d already finished or declined", task.ID)
		}
		for _, id := range task.Replaces {
			if old, ok := b.Task(id); !ok || !b.replaceable(old) {
				return fmt.Errorf("tasks_created has task %d in place of task %d, which is not declined", task.ID, id)
			}
		}
	}
	b.tasks = append(b.tasks, e.Tasks...)
	for _, task := range e.Tasks {
		for _, id := range task.Replaces {
			b.replace(id, task.ID)
		}
	}
	return nil
}

// replaceable reports whether another task may stand in for this one.
func (b *Board) replaceable(task events.Task) bool {
	return !task.Finished && task.Declined != "" && b.replaced[task.ID] == 0
}

func (b *Board) replace(id, by events.TaskID) {
	if b.replaced == nil {
		b.replaced = map[events.TaskID]events.TaskID{}
	}
	if b.replaced[id] == 0 {
		b.replaced[id] = by
	}
}

func (b *Board) update(e events.TaskUpdated) error {
	task, ok := b.Task(e.ID)
	switch {
	case !ok:
		return fmt.Errorf("task_updated names task %d, the board has %d tasks", e.ID, len(b.tasks))
	case task.Finished:
		return fmt.Errorf("task_updated names task %d, which is finished", e.ID)
	case b.replaced[e.ID] != 0:
		return fmt.Errorf("task_updated names task %d, which task %d replaces", e.ID, b.replaced[e.ID])
	case e.Declined != "" && e.Finished:
		return fmt.Errorf("task_updated says that task %d is declined and finished", e.ID)
	case e.AutoCompleted && !e.Finished:
		return fmt.Errorf("task_updated says that task %d was auto-completed and is open", e.ID)
	}
	b.tasks[e.ID-1] = e.Task
	if e.AutoCompleted {
		if b.auto == nil {
			b.auto = map[events.TaskID]bool{}
		}
		b.auto[e.ID] = true
	}
	return nil
}

// Tasks returns all tasks by id.
func (b *Board) Tasks() []events.Task { return slices.Clone(b.tasks) }

// Task returns one task, and whether the board has it.
func (b *Board) Task(id events.TaskID) (events.Task, bool) {
	if id < 1 || int(id) > len(b.tasks) {
		return events.Task{}, false
	}
	return b.tasks[id-1], true
}

// Open returns the ids of the unfinished tasks of one agent, or of all agents
// if agent is empty, in order: declined ones too, but none that another replaces.
func (b *Board) Open(agent events.AgentID) []events.TaskID {
	var open []events.TaskID
	for _, task := range b.tasks {
		if b.open(task) && (agent == "" || task.AssignedTo == agent) {
			open = append(open, task.ID)
		}
	}
	return open
}

// open reports whether the task is still to be done.
func (b *Board) open(task events.Task) bool { return !task.Finished && b.replaced[task.ID] == 0 }

// ReplacedBy gives the task that stands in for a declined one, 0 if none does.
func (b *Board) ReplacedBy(id events.TaskID) events.TaskID { return b.replaced[id] }

// AutoCompleted reports whether the task was completed by the safety net, not
// by its specialist.
func (b *Board) AutoCompleted(id events.TaskID) bool { return b.auto[id] }
