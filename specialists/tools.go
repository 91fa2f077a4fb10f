package specialists

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

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
	TaskIDs []events.TaskID `json:"task_ids,omitempty" jsonschema:"Defaults to all."`
}

func (t tools) readTasks() agent.Tool {
	return loop.PureFunc(llm.Tool{
		Name:        "read_tasks",
		Description: "Shows how tasks of the plan stand.",
	}, func(tx *thread.Tx, in *agent.Invocation, args readTasksArgs) agent.Result {
		return agent.Result{Text: tx.Run.Board.RenderFor(assigned(tx.Run, in.Dispatch), args.TaskIDs)}
	})
}

type completeTaskArgs struct {
	TaskID events.TaskID `json:"task_id"`
}

func (t tools) completeTask() agent.Tool {
	return loop.PureFunc(llm.Tool{
		Name:        "complete_task",
		Description: "Marks your task as done.",
	}, func(tx *thread.Tx, in *agent.Invocation, args completeTaskArgs) agent.Result {
		updated, warning, result, err := tx.Run.Board.Complete(in.Agent, assigned(tx.Run, in.Dispatch), args.TaskID)
		if err == nil && updated != nil && refusedInTurn(tx, in, updated.ID) {
			err = fmt.Errorf("task %d stays open: an entry for it was refused in this turn. Write it first", updated.ID)
		}
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

// refusedInTurn reports whether an entry for the task was refused in the turn of the call,
// before it: what the model takes for written is not, and it has not read that yet.
func refusedInTurn(tx *thread.Tx, in *agent.Invocation, task events.TaskID) bool {
	turn := tx.Run.Conversation(thread.ActorOf(in.Dispatch)).Turn()
	if turn == nil || turn.ID != in.Ref.ModelCall {
		return false
	}
	return slices.ContainsFunc(turn.Calls, func(call thread.Call) bool {
		if call.Name != writeTool || !call.Refused || call.Index >= in.Ref.Index || wroteTheSame(turn, call) {
			return false
		}
		var args writeArgs
		_ = json.Unmarshal([]byte(call.Arguments), &args) // without a task it was for any
		return args.TaskID == task || !slices.Contains(assigned(tx.Run, in.Dispatch), args.TaskID)
	})
}

// wroteTheSame reports whether a refused call repeats one of its turn that was not.
func wroteTheSame(turn *thread.Turn, refused thread.Call) bool {
	return slices.ContainsFunc(turn.Calls, func(call thread.Call) bool {
		return call.Name == refused.Name && call.Done && !call.Refused && call.Arguments == refused.Arguments
	})
}

type declineTaskArgs struct {
	TaskID events.TaskID `json:"task_id"`
	Reason string        `json:"reason"`
}

func (t tools) declineTask() agent.Tool {
	return loop.PureFunc(llm.Tool{
		Name:        "decline_task",
		Description: "Says that your task cannot be done. It stays open; the facilitator is told the reason.",
	}, func(tx *thread.Tx, in *agent.Invocation, args declineTaskArgs) agent.Result {
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
		Name:        "read_document",
		Description: "Shows the document, or one place of it, each entry with author and id.",
		Parameters:  agent.Schema[struct{}](loop.Place(t.Document, true)),
	}, func(tx *thread.Tx, _ *agent.Invocation, place map[string]any) agent.Result {
		filter, err := t.Document.Filter(place)
		if err != nil {
			return agent.Refuse(err)
		}
		text, shown := RenderDocument(tx.Run, t.Limits, filter)
		return agent.Result{Text: text, Shown: shown}
	})
}

// RenderDocument is what read_document shows, and which entries of it whole.
func RenderDocument(run *thread.Run, l team.Limits, filter document.Place) (text string, shown []document.Shown) {
	return run.Document.RenderTagged(document.Query{Place: filter, Budget: l.MaxReadChars, Most: l.MaxToolResultChars})
}

const writeTool = "write_section"

// writeArgs are the arguments of write_section other than the place.
type writeArgs struct {
	Content string        `json:"content"`
	TaskID  events.TaskID `json:"task_id,omitempty" jsonschema:"Your task that it answers, where you have several."`
}

// writeCall are all arguments of write_section.
type writeCall struct {
	loop.Placed
	writeArgs
}

func (t tools) writeSection() agent.Tool {
	return loop.PureFunc(llm.Tool{
		Name:        writeTool,
		Description: "Appends an entry to the document. The facilitator merges those of one place.",
		Parameters:  agent.Schema[writeArgs](loop.Place(t.team.Document, false)),
	}, func(tx *thread.Tx, in *agent.Invocation, args writeCall) agent.Result {
		updated, err := t.entry(tx, in, args.Args(), args.writeArgs)
		if err == nil {
			t.mark(&updated, nil)
		}
		return t.put(tx, in, updated, err)
	})
}

// entry decides an entry. The error is for the model.
func (t tools) entry(tx *thread.Tx, in *agent.Invocation, place map[string]any, args writeArgs) (events.DocumentUpdated, error) {
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
func (t tools) put(tx *thread.Tx, in *agent.Invocation, entry events.DocumentUpdated, refused error) agent.Result {
	if refused != nil {
		return agent.Refuse(refused)
	}
	tx.Emit(in.Agent, thread.ActorOf(in.Dispatch), entry)
	return agent.Result{Text: "Entry " + strconv.Itoa(int(entry.EntryID)) + "."}
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
