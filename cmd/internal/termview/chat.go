package termview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// badgeSign stands behind the name of whoever speaks.
const badgeSign = "›"

// Badge is who speaks: the user, or an agent.
func Badge(m thread.Message, theme Theme) string {
	switch {
	case m.Role == events.RoleUser && m.UserID != "":
		return theme.strong(Line(m.UserID) + " " + badgeSign)
	case m.Role == events.RoleUser:
		return theme.strong("You " + badgeSign)
	case m.Agent == thread.HumanAgent && m.UserID != "":
		return AgentBadge(m.UserID, theme)
	case m.Agent == thread.HumanAgent:
		return AgentBadge(person, theme)
	}
	return AgentBadge(m.DisplayName, theme)
}

// AgentBadge is the badge of an agent that speaks.
func AgentBadge(name string, theme Theme) string {
	return theme.active(theme.strong(Line(name) + " " + badgeSign))
}

// Said sets a message of a conversation for a terminal, an empty line behind it: that of
// an agent under its badge, as Markdown; the user's words as they are.
func Said(m thread.Message, theme Theme, width int) []string {
	var lines []string
	switch m.Role {
	case thread.RoleNotice:
		lines = Notice(Line(m.Content), theme, width)
	case events.RoleUser:
		lines = behind(Badge(m, theme)+" ", Text(m.Content), width)
	default:
		stream := NewStream(theme, width)
		stream.Write(m.Content)
		lines = append([]string{Badge(m, theme)}, stream.End()...)
		lines = append(lines, Choices(m.Choices, width)...)
	}
	return append(lines, "")
}

// PlainSaid is [Said] for other programs: what was said is left as it is.
func PlainSaid(m thread.Message) string {
	text := strings.TrimRight(Text(m.Content), "\n")
	if m.Role == thread.RoleNotice {
		return Line(text) + "\n"
	}
	for i, choice := range m.Choices {
		text += fmt.Sprintf("\n%d. %s", i+1, Line(choice))
	}
	return Badge(m, Theme{}) + " " + text + "\n\n"
}

// Choices lists the answers that a question proposes.
func Choices(choices []string, width int) (lines []string) {
	for i, choice := range choices {
		lines = append(lines, behind(fmt.Sprintf("%s%d. ", margin, i+1), Line(choice), width)...)
	}
	return lines
}

// behind sets text behind a prefix, its further lines under its first.
func behind(prefix, text string, width int) []string {
	room := max(min(width-1, maxWidth)-cells(prefix), narrowest)
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		for _, part := range wrap(line, room) {
			lines = append(lines, strings.Repeat(" ", cells(prefix))+part)
		}
	}
	lines[0] = prefix + strings.TrimLeft(lines[0], " ")
	return lines
}

// BrokenOff says of a text that was shown while it was written that it does not count.
func BrokenOff(theme Theme, width int) []string { return Notice("(broken off)", theme, width) }

// Notice sets a line between the messages of a conversation.
func Notice(text string, theme Theme, width int) []string {
	lines := wrap(text, min(width-1, maxWidth))
	for i, line := range lines {
		lines[i] = theme.quiet(line)
	}
	return lines
}

// ChatNotices tells in a conversation what an event means for its user, beside the messages,
// which tell who has the floor: which step begins, what went wrong. The run is the fold with
// the event applied, nil before the thread's first.
func ChatNotices(run *thread.Run, env events.Envelope) []string {
	if run == nil {
		return nil
	}
	switch e := env.Data.(type) {
	case events.InputRequested:
		if e.For == events.InputHuman && e.HandoffID == "" {
			return []string{"a person is asked to answer"}
		}
	case events.RunSuspended:
		if !e.AwaitingInput {
			return Narrate(run, env)
		}
	case events.RunResumed:
		if len(run.Inputs()) == 0 {
			return Narrate(run, env)
		}
	case events.WorkflowStateChanged:
		return []string{fmt.Sprintf("Step %d of %d: %s", e.Step, e.Steps, stepName(e.To))}
	case events.TasksCreated:
		return []string{Plural(len(e.Tasks), "task") + " planned: " + Clip(strings.Join(workers(run, e), ", "), narratedCells)}
	case events.WorkflowFinished:
		return finishedNotices(run, e)
	case events.OutageBegan, events.OutageEnded, events.TransitionRolledBack, events.PermissionDenied,
		events.Warning, events.LimitReached, events.Error:
		return Narrate(run, env)
	}
	return nil
}

// stepName is a step as people read it: "gathering_requirements" is one of a team file.
func stepName(state string) string { return Line(strings.ReplaceAll(state, "_", " ")) }

// workers are the names of those to whom tasks were given, each once.
func workers(run *thread.Run, e events.TasksCreated) (names []string) {
	seen := map[events.AgentID]bool{}
	for _, task := range e.Tasks {
		if !seen[task.AssignedTo] {
			seen[task.AssignedTo] = true
			names = append(names, Line(DisplayName(run, task.AssignedTo)))
		}
	}
	return names
}

// finishedNotices tells what work an answer took, where it took any.
func finishedNotices(run *thread.Run, e events.WorkflowFinished) []string {
	if run.Tasks == 0 && e.Status == events.StatusCompleted || run.FinalAnswer == nil {
		return nil // the answer says all, or the message that says why there is none
	}
	parts := []string{(Theme{}).status(e.Status), fmt.Sprintf("%d/%d tasks", run.FinishedTasks, run.Tasks), tokens(run.Usage), Money(run.CostUSD) + costWord(run.CostUSD), Duration(run.Driven)}
	if run.Document.Version() > 0 {
		parts = append(parts, "/document shows what was written")
	}
	lines := []string{strings.Join(parts, " · ")}
	if e.Reason != "" {
		lines = append(lines, signNotice+" "+Clip(e.Reason, reasonCells))
	}
	return lines
}

// Where says where a conversation stands: who has it, and in which step.
func Where(c thread.Context) string {
	words := Line(c.DisplayName)
	if c.Agent == events.HumanID && words == string(events.HumanID) {
		words = person
	}
	if c.Workflow != nil {
		words += fmt.Sprintf(" · step %d of %d: %s", c.Workflow.Step, c.Workflow.Steps, stepName(c.Workflow.State))
	}
	return words
}

// ChatFrame is what a picture below a conversation depends on.
type ChatFrame struct {
	// Frame has the run under way, nil for none, who is at work, and the terminal's size.
	Frame
	// Where is where the conversation stands.
	Where thread.Context
	// Speaker says who writes Open, the lines that are not complete; "" where the badge
	// stands above already.
	Speaker string
	Open    []string
	// Queued are the messages that wait for their turn.
	Queued []string
	// Prompt stands before the line that is typed.
	Prompt string
	// TakingLonger is what the user is told while somebody is slow.
	TakingLonger string
}

// maxQueuedShown is how many of the messages that wait are listed.
const maxQueuedShown = 3

// ChatPicture draws what stands between a conversation and the line that is typed, in at
// most room lines: what is being written, who is at work, what is queued, and where the
// conversation stands.
func ChatPicture(f ChatFrame, theme Theme, room int) []string {
	width := min(max(f.Width-1, minWidth), maxWidth)
	below := append(queuedLines(f.Queued, theme, width), chatStatus(f, theme, width)...)
	room = max(room-len(below), 0)
	var above []string
	switch {
	case len(f.Open) > 0:
		above = f.Open
		if f.Speaker != "" {
			above = append([]string{AgentBadge(f.Speaker, theme)}, above...)
		}
		above = append(above[max(0, len(above)-max(room-1, 0)):len(above):len(above)], "")
	case f.Run != nil && f.Run.Tasks > 0:
		now := nowLines(f.Frame, theme, width, max(room/2, 2))
		above = append(planLines(f.Run, theme, width, min(room-len(now)-1, f.Height/2)), now...)
		above = append(above, "")
	}
	for i, line := range above {
		above[i] = cut(line, f.Width-1)
	}
	above = above[max(0, len(above)-room):]
	return append(above, below[max(0, len(below)-max(f.Height-2, 1)):]...)
}

func queuedLines(queued []string, theme Theme, width int) (lines []string) {
	for i, text := range queued {
		if i == maxQueuedShown {
			return append(lines, theme.quiet(fmt.Sprintf("  … and %d more queued", len(queued)-i)))
		}
		lines = append(lines, theme.quiet(cut(fmt.Sprintf("  queued %d: %s", i+1, Line(text)), width)))
	}
	return lines
}

// chatStatus says who has the conversation, what it does at this moment and for how long.
func chatStatus(f ChatFrame, theme Theme, width int) []string {
	parts := []string{theme.quiet(Where(f.Where))}
	if f.Run == nil {
		if f.Where.Handoff == nil {
			return nil
		}
		return flow(append(parts, theme.quiet("/leave returns to the facilitator")), theme.quiet(" · "), width)
	}
	parts = append(parts, theme.active(chatDoing(f)), theme.quiet(Duration(f.Run.DrivenUntil(f.Now))))
	if slices.ContainsFunc(f.Active, func(a Activity) bool { return a.Slow }) {
		parts = append(parts, theme.notice(Line(f.TakingLonger)))
	}
	parts = append(parts, theme.quiet("^C cancels"))
	if f.Run.Simulated {
		parts = append(parts, theme.notice("SIMULATED"))
	}
	return flow(parts, theme.quiet(" · "), width)
}

// chatDoing is what the user waits for: the facilitator is the first of those at work, a
// specialist that has the conversation the only one.
func chatDoing(f ChatFrame) string {
	if len(f.Active) == 0 {
		return string(DoingWorking)
	}
	switch a := f.Active[0]; a.Doing {
	case DoingRetrying:
		return retryWords(a.RetryAt.Sub(f.Now), a.Reason)
	case DoingAway:
		return awayWords(f.Now, a)
	default:
		return string(a.Doing)
	}
}
