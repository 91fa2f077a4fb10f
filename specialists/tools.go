package specialists

import (
	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

type tools struct{ team *team.Team }

type readTasksArgs struct {
	TaskIDs []events.TaskID `json:"task_ids,omitempty" jsonschema:"Tasks to show. Leave it out for all."`
}

func (t tools) readTasks() agent.Tool {
	return loop.PureFunc(llm.Tool{
		Name:        "read_tasks",
		Description: "Shows tasks of the plan: those you name, or the whole plan.",
	}, func(tx *thread.Tx, _ agent.Invocation, args readTasksArgs) agent.Result {
		return agent.Result{Text: tx.Run.Board.RenderTasks(args.TaskIDs)}
	})
}

type completeTaskArgs struct {
	TaskID events.TaskID `json:"task_id" jsonschema:"The task that is done."`
}

func (t tools) completeTask() agent.Tool {
	return loop.PureFunc(llm.Tool{
		Name:        "complete_task",
		Description: "Marks one of your tasks as done. Call it once the task's result is written.",
	}, func(tx *thread.Tx, in agent.Invocation, args completeTaskArgs) agent.Result {
		updated, warning, result, err := tx.Run.Board.Complete(in.Agent, assigned(tx.Run, in.Dispatch), args.TaskID)
		if err != nil {
			return agent.Refuse(err)
		}
		if warning != nil {
			tx.Emit(in.Agent, thread.ActorOf(in.Dispatch), *warning)
		}
		if updated != nil {
			tx.Emit(in.Agent, thread.ActorOf(in.Dispatch), *updated)
		}
		return agent.Result{Text: result}
	})
}

type declineTaskArgs struct {
	TaskID events.TaskID `json:"task_id" jsonschema:"The task that cannot be done."`
	Reason string        `json:"reason" jsonschema:"What keeps it from being done, in a sentence."`
}

func (t tools) declineTask() agent.Tool {
	return loop.PureFunc(llm.Tool{
		Name:        "decline_task",
		Description: "Says that one of your tasks cannot be done, and why. It stays open, and the facilitator is told the reason.",
	}, func(tx *thread.Tx, in agent.Invocation, args declineTaskArgs) agent.Result {
		updated, result, err := tx.Run.Board.Decline(assigned(tx.Run, in.Dispatch), args.TaskID, args.Reason)
		if err != nil {
			return agent.Refuse(err)
		}
		tx.Emit(in.Agent, thread.ActorOf(in.Dispatch), updated)
		return agent.Result{Text: result}
	})
}

// assigned are the tasks that the dispatch was given.
func assigned(run *thread.Run, id events.DispatchID) []events.TaskID {
	if d := run.Dispatch(id); d != nil {
		return d.Start.TaskIDs
	}
	return nil
}

func (t tools) readDocument() agent.Tool { return ReadDocument(t.team) }

// ReadDocument is the tool that shows the document with authors and entry ids.
// The facilitator has it too.
func ReadDocument(t *team.Team) agent.Tool {
	return loop.PureFunc(llm.Tool{
		Name: "read_document",
		Description: "Shows what stands in the document, each entry with its author and id. Every line of an entry is shown behind \"> \", " +
			"which is not part of it. Name a part of the document to read that alone.",
		Parameters: agent.Schema[struct{}](loop.Place(t.Document, true)),
	}, func(tx *thread.Tx, _ agent.Invocation, place map[string]any) agent.Result {
		filter, err := t.Document.Filter(place)
		if err != nil {
			return agent.Refuse(err)
		}
		text, shown := tx.Run.Document.RenderTagged(document.Query{Place: filter, Budget: t.Limits.MaxReadChars, Most: t.Limits.MaxToolResultChars})
		return agent.Result{Text: text, Shown: shown}
	})
}

// writeArgs are the arguments of write_section other than the place.
type writeArgs struct {
	Content string        `json:"content" jsonschema:"What the reader of the document reads, in Markdown."`
	TaskID  events.TaskID `json:"task_id,omitempty" jsonschema:"The task of yours that this answers. Name it where you have several."`
}

func (t tools) writeSection() agent.Tool {
	return loop.PureFunc(llm.Tool{
		Name:        "write_section",
		Description: "Appends an entry to a place of the document. What stands there already stays.",
		Parameters:  agent.Schema[writeArgs](loop.Place(t.team.Document, false)),
	}, func(tx *thread.Tx, in agent.Invocation, args writeArgs) agent.Result {
		updated, err := t.entry(tx, in, args)
		if err == nil {
			t.mark(&updated, nil)
		}
		return t.put(tx, in, updated, err)
	})
}

// entry decides an entry. The error is for the model.
func (t tools) entry(tx *thread.Tx, in agent.Invocation, args writeArgs) (events.DocumentUpdated, error) {
	var place map[string]any
	if err := in.Decode(&place); err != nil {
		return events.DocumentUpdated{}, err
	}
	at, err := t.team.Document.Place(place)
	if err != nil {
		return events.DocumentUpdated{}, err
	}
	updated, err := tx.Run.Document.Append(document.Write{
		Author: in.Agent, Place: at, Content: args.Content,
		Tasks: answered(tx.Run, in.Dispatch, args.TaskID), ModelCall: in.Ref.ModelCall,
	}, Bounds(t.team.Limits))
	if err != nil {
		RecordDocumentLimit(tx, in, err)
	}
	return updated, err
}

// put writes an entry, unless it was refused.
func (t tools) put(tx *thread.Tx, in agent.Invocation, entry events.DocumentUpdated, refused error) agent.Result {
	if refused != nil {
		return agent.Refuse(refused)
	}
	tx.Emit(in.Agent, thread.ActorOf(in.Dispatch), entry)
	return agent.Result{Text: written(t.team.Document, entry)}
}

// answered are the tasks that an entry answers: the one that the model named, if it
// is its own, else all of the dispatch that are still open, else all of it.
func answered(run *thread.Run, id events.DispatchID, named events.TaskID) []events.TaskID {
	all := assigned(run, id)
	var open []events.TaskID
	for _, task := range all {
		if task == named {
			return []events.TaskID{task}
		}
		if t, ok := run.Board.Task(task); ok && !t.Finished {
			open = append(open, task)
		}
	}
	if len(open) > 0 {
		return open
	}
	return all
}
