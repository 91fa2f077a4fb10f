package specialists

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// Function is a specialist that is a Go function in place of a model. An error fails
// the dispatch, and the facilitator is told. A call whose process died is made again
// on resume.
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
func (f Function) drive(ctx context.Context, config *Config, role *role) error {
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
	most := role.limits.SpecialistTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, most, &agent.LimitError{
		Limit: team.LimitSpecialistTimeout, Value: most.Seconds(), Used: most.Seconds(),
	})
	defer cancel()
	done, err := f.call(ctx, work)
	if ctx.Err() != nil {
		if err = context.Cause(ctx); errors.Is(err, agent.ErrSuspended) {
			return err
		}
	}
	return config.Journal.Do(func(tx *thread.Tx) {
		if role.Over(tx.Run) {
			return
		}
		if err == nil {
			err = role.record(tx, tools{team: config.Team}, done)
		}
		if err != nil {
			role.Fail(tx, err)
		}
	})
}

// call makes a panic an error.
func (f Function) call(ctx context.Context, work Assignment) (done Contribution, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the specialist panicked: %v", p)
		}
	}()
	return f(ctx, work)
}

// record writes the entries, completes the tasks and ends the dispatch. What is
// written before an entry that is refused stays, as with a model.
func (r *role) record(tx *thread.Tx, tools tools, done Contribution) error {
	if r.dispatch(tx.Run).Start.Asked {
		done.Entries = nil // who is asked writes nothing
	}
	for _, entry := range done.Entries {
		args := maps.Clone(entry.Place)
		if args == nil {
			args = map[string]any{}
		}
		args["content"] = entry.Content
		if entry.Task != 0 {
			args["task_id"] = entry.Task
		}
		text, err := json.Marshal(args)
		if err != nil {
			return err
		}
		result := tools.write(tx, agent.Invocation{
			Agent: r.agent, Dispatch: r.id, Tool: "write_section", Ref: events.CallRef{Arguments: string(text)},
		})
		if result.Failed {
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
			tx.Emit(r.agent, r.id, *updated)
		}
	}
	r.Close(tx, events.Reply{Text: done.Summary})
	return nil
}
