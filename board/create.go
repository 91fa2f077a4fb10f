package board

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/convene-run/convene/events"
)

const (
	// DefaultMaxTasks is the bound of [Rules.MaxTasks]: a plan of more tasks makes
	// more calls of specialists than its answer gains from.
	DefaultMaxTasks = 20
	// DefaultMaxTextBytes is the bound of [Rules.MaxTextBytes]: a task's text is in
	// the prompt of every dispatch, so it is an instruction, not a document.
	DefaultMaxTextBytes = 4000
)

// Rules bound what a facilitator may create.
type Rules struct {
	// MaxTasks is the number of tasks that a run may have in all.
	// Defaults to [DefaultMaxTasks].
	MaxTasks int
	// MaxTextBytes bounds the text of one task. Defaults to [DefaultMaxTextBytes].
	MaxTextBytes int
	// Specialists are those whom a task may be assigned to.
	Specialists []events.AgentID
}

// Draft is a task that a facilitator asks for.
type Draft struct {
	Text       string         `json:"text"`
	AssignedTo events.AgentID `json:"assigned_to"`
}

// LimitError says that a plan would have more tasks than a run may have.
type LimitError struct {
	// Max is the bound, Have the tasks on the board, Asked those of the request.
	Max, Have, Asked int
}

func (e *LimitError) Error() string {
	if e.Have >= e.Max {
		return fmt.Sprintf("Nothing was created: the plan already has %d tasks and %d is the limit. "+
			"Work with the tasks there are; get_plan_status shows them.", e.Have, e.Max)
	}
	return fmt.Sprintf("Nothing was created: the limit is %d tasks, the plan has %d and you asked for %d more. "+
		"Create at most %d, with related work joined into one task.", e.Max, e.Have, e.Asked, e.Max-e.Have)
}

// Create decides the creation of tasks: all of them or, with an error that tells
// a model what to mend, none. Past the bound the error is a [*LimitError].
// Texts are trimmed, and specialists found without regard to case.
func (b *Board) Create(drafts []Draft, rules Rules) (events.TasksCreated, error) {
	if len(drafts) == 0 {
		return events.TasksCreated{}, refuse("Nothing was created: give at least one task with text and assigned_to.")
	}
	if limit := orDefault(rules.MaxTasks, DefaultMaxTasks); len(b.tasks)+len(drafts) > limit {
		return events.TasksCreated{}, &LimitError{Max: limit, Have: len(b.tasks), Asked: len(drafts)}
	}
	var problems []string
	tasks := make([]events.Task, len(drafts))
	for i, draft := range drafts {
		task, problem := rules.task(draft)
		if problem != "" {
			problems = append(problems, fmt.Sprintf("tasks[%d]: %s", i, problem))
		}
		task.ID = events.TaskID(len(b.tasks) + i + 1)
		tasks[i] = task
	}
	if len(problems) > 0 {
		return events.TasksCreated{}, refuse("Nothing was created. %s", joinProblems(problems))
	}
	return events.TasksCreated{Tasks: tasks}, nil
}

// task makes the task of a draft, without its id, or says what is wrong with it.
func (r Rules) task(draft Draft) (task events.Task, problem string) {
	text := strings.TrimSpace(draft.Text)
	limit := orDefault(r.MaxTextBytes, DefaultMaxTextBytes)
	switch {
	case text == "":
		return events.Task{}, "text is empty, say what is to be done."
	case len(text) > limit:
		return events.Task{}, fmt.Sprintf("text has %d bytes, %d is the limit: say it shorter, or split the task.", len(text), limit)
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return events.Task{}, "text is not valid UTF-8 or contains a NUL character, write it again as plain text."
	}
	agent, ok := r.specialist(draft.AssignedTo)
	if !ok {
		return events.Task{}, fmt.Sprintf("assigned_to %.60q is no specialist of this team, use one of: %s.", draft.AssignedTo, join(r.Specialists))
	}
	return events.Task{Text: text, AssignedTo: agent}, ""
}

// specialist finds the specialist that a model means.
func (r Rules) specialist(name events.AgentID) (events.AgentID, bool) {
	if slices.Contains(r.Specialists, name) {
		return name, true
	}
	for _, id := range r.Specialists {
		if strings.EqualFold(string(id), strings.TrimSpace(string(name))) {
			return id, true
		}
	}
	return "", false
}

func orDefault(value, fallback int) int {
	if value == 0 {
		return fallback
	}
	return value
}
