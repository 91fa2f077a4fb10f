package specialists

import (
	"errors"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

type tools struct{ team *team.Team }

func (t tools) readTasks() agent.Tool {
	return agent.Tool{
		Tool: llm.Tool{
			Name:        "read_tasks",
			Description: "Shows tasks of the plan: those you name, or the whole plan.",
			Parameters: agent.Parameters(agent.Property{
				Name: "task_ids", Schema: agent.List(agent.Integer(""), "Tasks to show. Leave it out for all."),
			}),
		},
		Handler: agent.Pure(func(tx *thread.Tx, in agent.Invocation) agent.Result {
			var args struct {
				TaskIDs []events.TaskID `json:"task_ids"`
			}
			if err := in.Decode(&args); err != nil {
				return agent.Refuse(err)
			}
			return agent.Result{Text: tx.Run.Board.RenderTasks(args.TaskIDs)}
		}),
	}
}

func (t tools) completeTask() agent.Tool {
	return agent.Tool{
		Tool: llm.Tool{
			Name:        "complete_task",
			Description: "Marks one of your tasks as done. Call it once the task's result is written.",
			Parameters: agent.Parameters(agent.Property{
				Name: "task_id", Schema: agent.Integer("The task that is done."), Required: true,
			}),
		},
		Handler: agent.Pure(func(tx *thread.Tx, in agent.Invocation) agent.Result {
			var args struct {
				TaskID events.TaskID `json:"task_id"`
			}
			if err := in.Decode(&args); err != nil {
				return agent.Refuse(err)
			}
			updated, warning, result, err := tx.Run.Board.Complete(in.Agent, assigned(tx.Run, in.Dispatch), args.TaskID)
			if err != nil {
				return agent.Refuse(err)
			}
			if warning != nil {
				tx.Emit(in.Agent, in.Dispatch, *warning)
			}
			if updated != nil {
				tx.Emit(in.Agent, in.Dispatch, *updated)
			}
			return agent.Result{Text: result}
		}),
	}
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
	return agent.Tool{
		Tool: llm.Tool{
			Name:        "read_document",
			Description: "Shows what stands in the document, each entry with its author and id. Name a part of it to read that alone.",
			Parameters:  agent.Parameters(agent.PlaceProperties(t.Document, true)...),
		},
		Handler: agent.Pure(func(tx *thread.Tx, in agent.Invocation) agent.Result {
			var args map[string]any
			if err := in.Decode(&args); err != nil {
				return agent.Refuse(err)
			}
			place, err := t.Document.Filter(args)
			if err != nil {
				return agent.Refuse(err)
			}
			text, shown := tx.Run.Document.RenderTagged(document.Query{Place: place, Budget: t.Limits.MaxReadChars})
			return agent.Result{Text: text, Shown: shown}
		}),
	}
}

func (t tools) writeSection() agent.Tool {
	properties := append(agent.PlaceProperties(t.team.Document, false),
		agent.Property{Name: "content", Schema: agent.Text("What the reader of the document reads, in Markdown."), Required: true},
		agent.Property{Name: "task_id", Schema: agent.Integer("The task of yours that this answers.")},
	)
	return agent.Tool{
		Tool: llm.Tool{
			Name:        "write_section",
			Description: "Appends an entry to a place of the document. What stands there already stays.",
			Parameters:  agent.Parameters(properties...),
		},
		Handler: agent.Pure(t.write),
	}
}

func (t tools) write(tx *thread.Tx, in agent.Invocation) agent.Result {
	var place map[string]any
	var args struct {
		Content string        `json:"content"`
		TaskID  events.TaskID `json:"task_id"`
	}
	if err := errors.Join(in.Decode(&place), in.Decode(&args)); err != nil {
		return agent.Refuse(err)
	}
	at, err := t.team.Document.Place(place)
	if err != nil {
		return agent.Refuse(err)
	}
	updated, err := tx.Run.Document.Append(document.Write{
		Author: in.Agent, Place: at, Content: args.Content,
		Tasks: sources(tx.Run, in.Dispatch, args.TaskID), ModelCall: in.Ref.ModelCall,
	}, Bounds(t.team.Limits))
	if err != nil {
		RecordDocumentLimit(tx, in, err)
		return agent.Refuse(err)
	}
	tx.Emit(in.Agent, in.Dispatch, updated)
	return agent.Result{Text: written(t.team.Document, updated)}
}

// sources are the tasks that an entry answers: the one that the model named, if it
// is its own, else all of the dispatch that are still open, else all of it.
func sources(run *thread.Run, id events.DispatchID, named events.TaskID) []events.TaskID {
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
