package specialists

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/internal/outside"
	"github.com/convene-run/convene/thread"
)

// Function is a specialist that is a Go function in place of a model. An error fails
// the dispatch, and the facilitator is told. A call whose process died is made again
// on resume. The context ends when the run or the dispatch must: at specialist_timeout,
// and when nothing was heard for silence_timeout, see [Assignment.Progress]. A function
// that ignores this is left behind, and what it returns is thrown away.
type Function func(ctx context.Context, work Assignment) (Contribution, error)

// Assignment is what a function is asked to do.
type Assignment struct {
	// Request is what the user asked the team.
	Request string
	// Tasks are those of the dispatch, Message is what the facilitator says to them.
	Tasks   []events.Task
	Message string
	// Document is what has been written so far, as Markdown.
	Document string

	progress func()
}

// Progress reports that the function is making progress: its silence timer restarts. It is safe for
// concurrent use; once the dispatch is over it does nothing.
func (a Assignment) Progress() {
	if a.progress != nil {
		a.progress()
	}
}

// Contribution is what a function did. Its tasks are then done.
type Contribution struct {
	Entries []Entry
	// Summary is what the facilitator reads.
	Summary string
}

// Entry is a text for the document.
type Entry struct {
	// Place has the arguments of write_section under the team's layout: "section" and
	// "slot" where it declares none, "day" and "time_slot" in that of trips.
	Place   map[string]any
	Content string
	// Task is the task that the entry answers. Defaults to all of the dispatch.
	Task events.TaskID
}

// drive runs the function and records what came of it, all at once.
func (f Function) drive(ctx context.Context, config *Config, role *role, live *agent.Live) error {
	var work Assignment
	over := false
	err := config.Journal.Do(func(tx *thread.Tx) {
		if over = role.Over(tx.Run); over {
			return
		}
		start := tx.Run.Dispatch(role.id).Start
		work = Assignment{Request: tx.Run.Started.Message, Message: start.Message, Document: tx.Run.Document.RenderClean()}
		for _, id := range start.TaskIDs {
			if task, ok := tx.Run.Board.Task(id); ok {
				work.Tasks = append(work.Tasks, task)
			}
		}
	})
	if err != nil || over {
		return err
	}
	heard, end := live.Work()
	defer end()
	work.progress = func() { heard("") }
	out := outside.Call(ctx, func(ctx context.Context) (Contribution, error) { return f(ctx, work) })
	if out.Panic != nil {
		out.Err = fmt.Errorf("the specialist panicked: %v", out.Panic)
	}
	parked := out.Err != nil && errors.Is(out.Err, loop.ErrSuspended)
	err = config.Journal.Do(func(tx *thread.Tx) { role.returned(tx, tools{team: config.Team}, out, parked) })
	if err == nil && parked {
		return loop.ErrSuspended
	}
	return err
}

// returned records what came of the function; of one that a stop of the run cut off
// only that it was left behind, if it was.
func (r *role) returned(tx *thread.Tx, tools tools, out outside.Outcome[Contribution], parked bool) {
	if r.Over(tx.Run) {
		return
	}
	if out.Left {
		tx.Emit(r.agent, thread.ActorOf(r.id), loop.LeftBehind(string(r.agent)))
	}
	err := out.Err
	if err == nil {
		err = r.record(tx, tools, out.Value)
	}
	if err != nil && !parked {
		r.Fail(tx, err)
	}
}

// record writes the entries, completes the tasks and ends the dispatch. What is
// written before an entry that is refused stays, as with a model.
func (r *role) record(tx *thread.Tx, tools tools, done Contribution) error {
	if r.dispatch(tx.Run).Start.Asked {
		done.Entries = nil // who is asked writes nothing
	}
	for _, entry := range done.Entries {
		text, err := json.Marshal(entry.Place)
		if err != nil {
			return err
		}
		in := &agent.Invocation{Agent: r.agent, Dispatch: r.id, Tool: "write_section", Ref: events.CallRef{Arguments: string(text)}}
		var place map[string]any // of the types that JSON knows
		if err := in.Decode(&place); err != nil {
			return err
		}
		updated, err := tools.entry(tx, in, place, writeArgs{Content: entry.Content, TaskID: entry.Task})
		if result := tools.put(tx, in, updated, err); result.Failed {
			return errors.New(result.Text)
		}
	}
	own := r.dispatch(tx.Run).Start.TaskIDs
	for _, id := range own {
		updated, _, _, err := tx.Run.Board.Complete(r.agent, own, id)
		if err != nil {
			return err
		}
		if updated != nil {
			tx.Emit(r.agent, thread.ActorOf(r.id), *updated)
		}
	}
	r.Close(tx, events.Reply{Text: done.Summary})
	return nil
}
