package facilitator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// fruitless is how many dispatches of a specialist for the same tasks may end
// without anything written or done before the next is refused: one to fail, one to
// try again.
const fruitless = 2

type dispatchArgs struct {
	TaskIDs []events.TaskID `json:"task_ids"`
	Message string          `json:"message"`
}

func (t tools) dispatch(s team.Specialist) agent.Tool {
	return agent.Tool{
		Tool: llm.Tool{
			Name:        loop.DispatchTool(s.ID),
			Description: s.Description,
			Parameters:  agent.Schema[dispatchArgs](),
		},
		Handler: loop.Dispatch(func(tx *thread.Tx, in *agent.Invocation) (events.DispatchID, string) {
			return t.open(tx, in, &s)
		}),
	}
}

// open decides whether the dispatch may begin.
func (t tools) open(tx *thread.Tx, in *agent.Invocation, s *team.Specialist) (events.DispatchID, string) {
	var args dispatchArgs
	if err := in.Decode(&args); err != nil {
		return "", agent.Refuse(err).Text
	}
	err := t.mayDispatch(tx, s.ID, args.TaskIDs)
	if err == nil {
		err = dispatchedInTurn(tx.Run, in.Ref.ModelCall, args.TaskIDs)
	}
	if err != nil {
		return "", agent.Refuse(err).Text
	}
	id := tx.Run.Thread().NextDispatch()
	tx.Emit(s.ID, thread.ActorOf(id), events.AgentStarted{
		Agent: s.ID, DisplayName: s.DisplayName, TaskIDs: args.TaskIDs, Message: args.Message,
		Tool: in.Tool, CallRef: in.Ref,
	})
	return id, ""
}

func (t tools) mayDispatch(tx *thread.Tx, who events.AgentID, ids []events.TaskID) error {
	run := tx.Run
	if err := mayDelegate(tx, events.FacilitatorID, thread.Facilitator, who); err != nil {
		return err
	}
	if err := run.Board.Assignable(who, ids); err != nil {
		return err
	}
	busy := run.Busy()
	for _, id := range ids {
		if d, ok := busy[id]; ok {
			return fmt.Errorf("task %d is being worked on in dispatch %s: wait for its result", id, d)
		}
	}
	if max := t.team.Limits.MaxDispatches; len(run.Dispatches) >= max {
		if !run.LimitMet(events.LimitMaxDispatches) {
			tx.Emit(events.FacilitatorID, thread.Facilitator, events.LimitReached{
				Limit: events.LimitMaxDispatches, Value: float64(max), Used: float64(len(run.Dispatches) + 1),
				Consequence: "No specialist is dispatched any more, and the model was told so.",
			})
		}
		return fmt.Errorf("this run has made its %d dispatches. Finish with what the document holds and name what is missing", max)
	}
	if n := run.Fruitless(who, ids); n >= fruitless {
		return fmt.Errorf("%s was dispatched %d times for task %s and wrote nothing. Do not repeat it: change the plan, "+
			"give the work to another specialist, or answer without it", who, n, taskList(ids))
	}
	return nil
}

// mayDelegate checks that the user may have specialists work or asked. Where they may not,
// that is recorded.
func mayDelegate(tx *thread.Tx, by events.AgentID, actor thread.ActorID, who ...events.AgentID) error {
	denied := tx.Run.Caller().Denied(access.Delegate, fmt.Sprintf("delegate to %v", who))
	if denied == nil {
		return nil
	}
	tx.Emit(by, actor, *denied)
	return fmt.Errorf("the user may not have specialists work: the permission %s is missing. Answer without them, and say so", denied.Permission)
}

// dispatchedInTurn refuses tasks that a call of the same turn was dispatched for. Nobody
// has read its result yet who could want it repeated; a model that is asked for the
// rest of a turn may name the call again anyway.
func dispatchedInTurn(run *thread.Run, turn events.ModelCallID, ids []events.TaskID) error {
	for _, d := range run.Dispatches {
		for _, id := range ids {
			if d.Start.ModelCall == turn && slices.Contains(d.Start.TaskIDs, id) {
				return fmt.Errorf("task %d was dispatched in this turn already, in dispatch %s: read its result first", id, d.ID)
			}
		}
	}
	return nil
}

func taskList(ids []events.TaskID) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = strconv.Itoa(int(id))
	}
	return strings.Join(parts, ", ")
}
