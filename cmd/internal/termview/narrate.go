package termview

import (
	"fmt"
	"strings"
	"time"

	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// narratedCells bounds the texts within a plain line.
const narratedCells = 160

// Narrate tells an event in plain lines, for where no picture can be drawn: none
// for an event that only machines need. The run is the fold with the event applied.
func Narrate(run *thread.Run, env events.Envelope) []string {
	switch e := env.Data.(type) {
	case events.WorkflowStarted:
		return []string{startedLine(run)}
	case events.RunResumed:
		return []string{"resumed"}
	case events.RunSuspended:
		if e.AwaitingInput {
			return []string{"waiting for input" + because(e.Reason)}
		}
		return []string{"suspended" + because(e.Reason)}
	case events.OutageBegan:
		return []string{outageLine(e)}
	case events.OutageEnded:
		return []string{fmt.Sprintf("waited %s for the endpoint", Duration(time.Duration(e.WaitedMS)*time.Millisecond))}
	case events.CancelRequested:
		return []string{"cancellation requested" + because(e.Reason)}
	case events.TasksCreated:
		return createdLines(run, e)
	case events.TaskUpdated:
		return []string{updatedLine(run, e)}
	case events.AgentStarted:
		return []string{fmt.Sprintf("%s: started on %s", Line(e.DisplayName), taskList(e.TaskIDs))}
	case events.AgentFinished:
		return []string{finishedLine(e)}
	case events.DocumentUpdated:
		return []string{documentLine(run, e)}
	case events.FacilitatorMessage:
		return []string{Line(e.DisplayName) + ": " + Clip(e.Content, narratedCells)}
	case events.ModelCalled:
		return restLines(run, env.Agent, e)
	case events.InputRequested, events.UserMessage:
		return inputLines(run, env)
	case events.PhaseChanged, events.TransitionRolledBack:
		return phaseLines(run, env)
	case events.MessageRouted, events.HandoffAccepted, events.HandoffRejected, events.HandoffReturned, events.HandoffResumed, events.WorkflowStateChanged:
		return handoffLines(run, env)
	}
	return narrateTrouble(run, env)
}

// handoffLines tells who has the conversation now.
func handoffLines(run *thread.Run, env events.Envelope) []string {
	switch e := env.Data.(type) {
	case events.MessageRouted:
		if e.Tier == events.TierHandoff || e.Tier == events.TierAffinity {
			return []string{Line(DisplayName(run, e.Agent)) + " has the conversation"}
		}
	case events.HandoffAccepted:
		return []string{notice(e.Notice, "connecting you with "+partner(run, e.HandoffID))}
	case events.HandoffRejected:
		return []string{signNotice + " no handoff: " + Clip(e.Reason, narratedCells)}
	case events.HandoffResumed:
		return []string{notice(e.Notice, "connecting you again with "+partner(run, e.HandoffID))}
	case events.HandoffReturned:
		lines := []string{fmt.Sprintf("%s returns the conversation (%s): %s", partner(run, e.HandoffID), Line(string(e.CompletionStatus)), Clip(e.ResultSummary, narratedCells))}
		if e.Notice != "" {
			lines = append(lines, Line(e.Notice))
		}
		return lines
	case events.WorkflowStateChanged:
		return []string{fmt.Sprintf("%s: step %d of %d: %s", partner(run, e.HandoffID), e.Step, e.Steps, Line(e.To))}
	}
	return nil
}

// inputLines tells what people are asked, and what they say to a run under way.
func inputLines(run *thread.Run, env events.Envelope) []string {
	switch e := env.Data.(type) {
	case events.InputRequested:
		who, choices := strings.TrimSuffix(about(run, env.Agent), ": "), ""
		if e.For == events.InputHuman {
			return []string{"a person is to answer: " + Clip(e.Question, narratedCells)}
		}
		if e.For == events.InputApproval {
			return []string{"approval: " + Clip(e.Question, narratedCells)}
		}
		if len(e.Choices) > 0 {
			choices = " (" + Clip(strings.Join(e.Choices, ", "), narratedCells) + ")"
		}
		return []string{strings.TrimLeft(who+" asks: ", " ") + Clip(e.Question, narratedCells) + choices}
	case events.UserMessage:
		switch {
		case e.Synthetic || env.Run == "":
		case e.InputID != "":
			return []string{"answered: " + Clip(e.Content, narratedCells)}
		default:
			return []string{"the user adds: " + Clip(e.Content, narratedCells)}
		}
	}
	return nil
}

// phaseLines tells which phase the conversation is in.
func phaseLines(run *thread.Run, env events.Envelope) []string {
	switch e := env.Data.(type) {
	case events.PhaseChanged:
		if e.To == "" {
			return []string{fmt.Sprintf("phase %s: the last is over", Line(string(e.From)))}
		}
		return []string{fmt.Sprintf("phase %s: %s", Line(string(e.To)), Line(DisplayName(run, e.ToAgent)))}
	case events.TransitionRolledBack:
		return []string{signNotice + " back to " + Line(DisplayName(run, run.Thread().Handoffs.Progress.ActiveAgent)) + because(e.Reason)}
	}
	return nil
}

// notice is what the user is shown, in words of our own where the log has none.
func notice(text, words string) string {
	if text == "" {
		return words
	}
	return Line(text)
}

// partner names the specialist whom a handoff gives the conversation to.
func partner(run *thread.Run, id events.HandoffID) string {
	if session := run.Thread().Handoffs.Session(id); session != nil {
		return Line(DisplayName(run, session.Request.Target))
	}
	return Line(string(id))
}

func narrateTrouble(run *thread.Run, env events.Envelope) []string {
	switch e := env.Data.(type) {
	case events.Warning:
		return []string{signNotice + " " + about(run, env.Agent) + Clip(e.Message, narratedCells)}
	case events.LimitReached:
		return []string{fmt.Sprintf("%s limit %s reached: %s", signNotice, events.Flag(e.Limit), Clip(e.Consequence, narratedCells))}
	case events.PermissionDenied:
		return []string{fmt.Sprintf("%s permission %s is missing: %s", signNotice, Line(e.Permission), Clip(e.What, narratedCells))}
	case events.EvidenceRefused:
		return []string{signNotice + " " + about(run, e.Author) + refusedFor(e)}
	case events.DispatchRefused:
		return []string{fmt.Sprintf("%s %s refused: %s", signNotice, Line(e.Tool), Clip(e.Result, narratedCells))}
	case events.Error:
		return []string{signFailed + " " + about(run, env.Agent) + Line(e.Message)}
	}
	return nil
}

// refusedFor tells why an entry was refused for its sources.
func refusedFor(e events.EvidenceRefused) string {
	if e.Reason == events.EvidenceMissing {
		return "entry refused: it names no source"
	}
	var quotes []string
	for _, c := range e.Sources {
		if !c.Found {
			quotes = append(quotes, "“"+Clip(c.Quote, narratedCells)+"”")
		}
	}
	return "entry refused: not found in its source: " + Clip(strings.Join(quotes, ", "), narratedCells)
}

// restLines tells which calls came when the rest of a turn was asked for.
func restLines(run *thread.Run, agent events.AgentID, e events.ModelCalled) []string {
	if e.Purpose != events.PurposeRest || len(e.Reply.ToolCalls) == 0 {
		return nil
	}
	names := make([]string, len(e.Reply.ToolCalls))
	for i := range e.Reply.ToolCalls {
		names[i] = Line(e.Reply.ToolCalls[i].Name)
	}
	return []string{about(run, agent) + "the calls that had not arrived: " + Clip(strings.Join(names, ", "), narratedCells)}
}

func outageLine(e events.OutageBegan) string {
	line := signNotice + " waiting for " + Line(e.Message)
	if e.MaxWaitMS > 0 {
		line += fmt.Sprintf("; the run is parked after %s", Duration(time.Duration(e.MaxWaitMS)*time.Millisecond))
	}
	return line
}

func startedLine(run *thread.Run) string {
	line := fmt.Sprintf("run %s: team %s", run.ID, Line(run.Team))
	if run.Solo {
		line = fmt.Sprintf("run %s: a single agent", run.ID)
	}
	if run.Simulated {
		line += ", SIMULATED"
	}
	return line
}

func createdLines(run *thread.Run, e events.TasksCreated) []string {
	lines := make([]string, len(e.Tasks))
	for i, task := range e.Tasks {
		lines[i] = fmt.Sprintf("%s task %d %s: %s", signOpen, task.ID,
			Line(DisplayName(run, task.AssignedTo)), Clip(task.Text, narratedCells))
		if len(task.Replaces) > 0 {
			lines[i] += ", in place of " + taskList(task.Replaces)
		}
	}
	return lines
}

func updatedLine(run *thread.Run, e events.TaskUpdated) string {
	name := Line(DisplayName(run, e.AssignedTo))
	switch {
	case e.AutoCompleted:
		return fmt.Sprintf("%s task %d %s: auto-done", signNotice, e.ID, name)
	case e.Finished:
		return fmt.Sprintf("%s task %d %s: done", signDone, e.ID, name)
	case e.Declined != "":
		return fmt.Sprintf("%s task %d %s: declined: %s", signNotice, e.ID, name, Clip(e.Declined, narratedCells))
	}
	return fmt.Sprintf("%s task %d %s: changed", signOpen, e.ID, name)
}

func finishedLine(e events.AgentFinished) string {
	name, took := Line(e.DisplayName), Duration(time.Duration(e.ElapsedMS)*time.Millisecond)
	if e.Status == events.OutcomeOK {
		return fmt.Sprintf("%s: finished (%s)", name, took)
	}
	line := fmt.Sprintf("%s %s: %s (%s)", signNotice, name, outcomeWords[e.Status], took)
	if e.Error != "" {
		line += ": " + Clip(e.Error, narratedCells)
	}
	return line
}

var outcomeWords = map[events.Outcome]string{
	events.OutcomeFailed:    "failed",
	events.OutcomeTimedOut:  "timed out",
	events.OutcomeCancelled: "cancelled",
	events.OutcomeLimit:     "stopped at a limit",
}

func documentLine(run *thread.Run, e events.DocumentUpdated) string {
	layout := run.Document.Layout()
	line := fmt.Sprintf("document v%d: %s by %s", e.Version,
		placeName(layout, document.Place{Section: e.Section, Slot: e.Slot}), Line(DisplayName(run, e.Author)))
	if len(e.Replaced) > 0 {
		line += fmt.Sprintf(", consolidates %d entries", len(e.Replaced))
	}
	return line
}

// placeName is a slot in words; the only slot of a section has no name of its own.
func placeName(layout document.Layout, place document.Place) string {
	name := Line(layout.SectionTitle(place.Section))
	if slot := Line(layout.SlotTitle(place.Slot)); slot != "" && place.Slot != document.DefaultSlot {
		name += ", " + slot
	}
	return name
}

// Heartbeat tells that an agent has been silent for that long.
func Heartbeat(name string, silent time.Duration, slow bool) string {
	if slow {
		return fmt.Sprintf("%s: taking longer than expected (%s)", Line(name), Duration(silent))
	}
	return fmt.Sprintf("%s: still working (%s)", Line(name), Duration(silent))
}

// Retrying tells that an agent's call is made again after a wait.
func Retrying(name string, wait time.Duration, reason string) string {
	return Line(name) + ": " + retryWords(wait, reason)
}

func about(run *thread.Run, id events.AgentID) string {
	if id == "" {
		return ""
	}
	return Line(DisplayName(run, id)) + ": "
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + Line(reason)
}
