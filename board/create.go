package board

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
)

// Rules bound what a facilitator may create. 0 is no bound.
type Rules struct {
	// MaxTasks is the number of tasks that a run may have in all.
	MaxTasks int
	// MaxTextChars bounds the text of one task.
	MaxTextChars int
	// Specialists are those whom a task may be assigned to.
	Specialists []events.AgentID
}

// Draft is a task that a facilitator asks for.
type Draft struct {
	Text       string         `json:"text"`
	AssignedTo events.AgentID `json:"assigned_to"`
	// Replaces are declined tasks that this one stands in for.
	Replaces []events.TaskID `json:"replaces"`
}

// tooMany refuses a plan of more tasks than a run may have.
func tooMany(bound, have, asked int) error {
	advice := fmt.Sprintf("Nothing was created: the limit is %d tasks, the plan has %d and you asked for %d more. "+
		"Create at most %d, with related work joined into one task.", bound, have, asked, bound-have)
	if have >= bound {
		advice = fmt.Sprintf("Nothing was created: the plan already has %d tasks and %d is the limit. "+
			"Work with the tasks there are; get_plan_status shows them.", have, bound)
	}
	return &events.LimitError{Limit: events.LimitMaxTasks, Value: float64(bound), Used: float64(have + asked), Advice: advice}
}

// Create decides the creation of tasks: all of them or, with an error that tells
// a model what to fix, none. Past the bound of tasks the error is an [*events.LimitError].
// Texts are trimmed, and specialists found without regard to case.
func (b *Board) Create(drafts []Draft, rules Rules) (events.TasksCreated, error) {
	if len(drafts) == 0 {
		return events.TasksCreated{}, refuse("Nothing was created: give at least one task with text and assigned_to.")
	}
	if bound := rules.MaxTasks; bound > 0 && len(b.tasks)+len(drafts) > bound {
		return events.TasksCreated{}, tooMany(bound, len(b.tasks), len(drafts))
	}
	var problems []string
	tasks := make([]events.Task, len(drafts))
	for i, draft := range drafts {
		task, problem := rules.task(draft)
		if problem == "" {
			task.Replaces, problem = b.replacing(draft.Replaces)
		}
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

// replacing gives the tasks that a draft may stand in for, each once, or says what is
// wrong with them.
func (b *Board) replacing(ids []events.TaskID) (replaces []events.TaskID, problem string) {
	for _, id := range ids {
		task, ok := b.Task(id)
		switch {
		case !ok:
			return nil, "replaces: " + b.noSuchTask(id)
		case !b.replaceable(task):
			return nil, fmt.Sprintf("replaces: task %d is not one that its specialist has declined; only such tasks are replaced.", id)
		case !slices.Contains(replaces, id):
			replaces = append(replaces, id)
		}
	}
	return replaces, ""
}

// task makes the task of a draft, without its id, or says what is wrong with it.
func (r Rules) task(draft Draft) (task events.Task, problem string) {
	text := strings.TrimSpace(draft.Text)
	switch {
	case text == "":
		return events.Task{}, "text is empty, say what is to be done."
	case r.MaxTextChars > 0 && chars.Over(text, r.MaxTextChars):
		return events.Task{}, fmt.Sprintf("text has %d characters, %d is the limit: say it shorter, or split the task.", chars.Count(text), r.MaxTextChars)
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
