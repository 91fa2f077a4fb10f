package facilitator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// Ending is what the log does not say about how a run ends.
type Ending struct {
	Failed bool
	// Reason says in words why there is no answer of the facilitator's.
	Reason string
}

// endingLimits are the bounds that end a run or cut it short. The others only
// refuse something.
var endingLimits = []events.Limit{
	events.LimitMaxTokens, events.LimitMaxCostUSD, events.LimitMaxTime, events.LimitMaxFacilitatorTurns,
	events.LimitMaxEmptyReplies, events.LimitMaxReplyChars, events.LimitSharedTokens, events.LimitSharedCostUSD,
}

// Cancel records that the run is cancelled and finishes it.
func Cancel(tx *thread.Tx, reason string) {
	if reason == "" && tx.Run.CancelRequested != nil {
		reason = tx.Run.CancelRequested.Reason
	}
	if !tx.Run.Cancelled {
		tx.Emit("", "", events.RunCancelled{Reason: reason})
	}
	Finish(tx, Ending{Reason: tx.Run.CancelReason})
}

// Finish closes the run with workflow_finished, which names all that is missing.
// Dispatches that are still open are closed first.
func Finish(tx *thread.Tx, ending Ending) {
	run := tx.Run
	for _, d := range run.Dispatches {
		if d.Finish == nil {
			tx.Emit(d.Start.Agent, thread.ActorOf(d.ID), events.AgentFinished{
				Agent: d.Start.Agent, DisplayName: d.Start.DisplayName, CallID: d.Start.CallID,
				Status: events.OutcomeCancelled, Error: "the run ended", Result: "Cancelled: the run ended.",
				ElapsedMS: run.Elapsed(d, tx.Now).Milliseconds(),
			})
		}
	}
	finished := events.WorkflowFinished{
		Tasks:            append([]events.Task{}, run.Board.Tasks()...), // empty lists, where there is nothing, and not null
		DocumentVersions: append([]events.DocumentVersion{}, run.Document.Versions()...),
		Limit:            endingLimit(run), MissingTasks: run.Board.Open(""),
		Usage: run.Usage, CostUSD: run.CostUSD, ModelCalls: run.ModelCalls, DrivenMS: run.DrivenUntil(tx.Now).Milliseconds(),
	}
	finished.Status, finished.Reason = verdict(run, ending, finished)
	tx.Emit("", "", finished)
}

func endingLimit(run *thread.Run) events.Limit {
	for _, l := range run.Limits {
		if slices.Contains(endingLimits, l.Limit) {
			return l.Limit
		}
	}
	return ""
}

func verdict(run *thread.Run, ending Ending, finished events.WorkflowFinished) (events.Status, string) {
	var reasons []string
	if ending.Reason != "" {
		reasons = append(reasons, ending.Reason)
	}
	if run.RolledBack != nil {
		reasons = append(reasons, run.RolledBack.Reason)
	}
	if deep := conversation.TooDeep(); run.Warned(deep) {
		reasons = append(reasons, deep.Message)
	}
	for _, l := range run.Limits {
		if l.Limit == finished.Limit && !strings.Contains(ending.Reason, events.Flag(l.Limit)) {
			reasons = append(reasons, fmt.Sprintf("the limit %s=%s was reached", events.Flag(l.Limit), events.Amount(l.Limit, l.Value)))
			break
		}
	}
	if missing := missingWork(run, finished.MissingTasks); missing != "" {
		reasons = append(reasons, missing)
	} else if vain := inVain(run); vain != "" && len(reasons) == 0 && !ending.Failed && !run.Cancelled {
		reasons = append(reasons, vain)
	}
	reason := strings.Join(reasons, "; ")
	switch {
	case run.Cancelled:
		return events.StatusCancelled, reason
	case ending.Failed:
		return events.StatusFailed, reason
	case reason != "":
		return events.StatusDegraded, reason
	}
	return events.StatusCompleted, ""
}

// inVain says that tools were called and nothing came of them: the answer is then not
// what the team was asked for. A run that called none was answered directly.
func inVain(run *thread.Run) string {
	switch {
	case run.ToolsTried == 0:
		return ""
	case run.ToolsSucceeded == 0:
		return fmt.Sprintf("no tool call succeeded, of %d", run.ToolsTried)
	case len(run.Board.Tasks()) == 0 && run.Document.Version() == 0 && !run.Handed && !anyoneAnswered(run):
		return "tools were called, but nothing was planned, written or answered"
	}
	return ""
}

func anyoneAnswered(run *thread.Run) bool {
	return slices.ContainsFunc(run.Dispatches, func(d *thread.Dispatch) bool {
		return d.Finish != nil && d.Finish.Status == events.OutcomeOK && d.Start.Tool != events.SuperviseTool
	}) || slices.ContainsFunc(run.Inputs(), func(i *thread.Input) bool { return i.Answer != nil || i.HandoffID != "" })
}

// missingWork names the open tasks and the failures behind them.
func missingWork(run *thread.Run, open []events.TaskID) string {
	if len(open) == 0 {
		return ""
	}
	type gap struct {
		who events.AgentID
		why string
	}
	var gaps []gap
	tasks := map[gap][]events.TaskID{}
	for _, id := range open {
		task, _ := run.Board.Task(id)
		g := gap{task.AssignedTo, whyOpen(run, task)}
		if tasks[g] == nil {
			gaps = append(gaps, g)
		}
		tasks[g] = append(tasks[g], id)
	}
	var parts []string
	for _, g := range gaps {
		noun := "task"
		if len(tasks[g]) > 1 {
			noun = "tasks"
		}
		part := fmt.Sprintf("%s %s (%s)", noun, taskList(tasks[g]), g.who)
		if g.why != "" {
			part += ": " + g.why
		}
		parts = append(parts, part)
	}
	return fmt.Sprintf("%d of %d tasks stayed open: %s", len(open), run.Tasks, strings.Join(parts, "; "))
}

// whyOpen says why a task was not done: its specialist's reason, what ended the last
// dispatch for it, or that nothing came of that.
func whyOpen(run *thread.Run, task events.Task) string {
	if task.Declined != "" {
		return "declined: " + task.Declined
	}
	for _, d := range slices.Backward(run.Dispatches) {
		if !slices.Contains(d.Start.TaskIDs, task.ID) || d.Finish == nil {
			continue
		}
		if d.Finish.Status == events.OutcomeOK {
			return "its specialist ended without writing it"
		}
		return d.Finish.Error
	}
	return ""
}
