package termview

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// simulatedLabel stands above what the simulated model wrote, wherever it goes.
const simulatedLabel = "*Simulated: no real model wrote this.*\n\n"

// Part is which of answer and document is wanted of a run.
type Part int

// The parts. Without a choice both are, the answer first.
const (
	Both Part = iota
	AnswerOnly
	DocumentOnly
)

// Markdown sets the wanted part of a result as one text. An answer that no model wrote is
// the document itself and stands alone. What is simulated says so, but for an answer that
// programs read.
func Markdown(run *thread.Run, part Part) string {
	text := plainMarkdown(run, part)
	if text == "" || part != DocumentOnly && run.FinalAnswer != nil && run.FinalAnswer.Structured {
		return text
	}
	return label(run) + text
}

func plainMarkdown(run *thread.Run, part Part) string {
	answer, fallback := "", false
	if run.FinalAnswer != nil {
		answer, fallback = strings.TrimSpace(run.FinalAnswer.Content), run.FinalAnswer.Fallback
	}
	document := strings.TrimSpace(run.Document.RenderCited())
	if part == AnswerOnly {
		document = ""
	}
	if part == DocumentOnly && !fallback {
		answer = ""
	}
	switch {
	case answer == "" && document == "":
		return ""
	case answer == "":
		return document + "\n"
	case document == "" || fallback:
		return answer + "\n"
	}
	return answer + "\n\n---\n\n" + document + "\n"
}

// Summary tells in few lines how a run ended or where it stands, and what it took.
func Summary(run *thread.Run, theme Theme, width int) []string {
	parts := []string{theme.status(run.Status)}
	if run.Simulated {
		parts = append(parts, theme.notice("SIMULATED"))
	}
	if run.Tasks > 0 {
		parts = append(parts, fmt.Sprintf("%d/%d tasks", run.FinishedTasks, run.Tasks))
	}
	parts = append(parts, usage(run.Usage), Money(run.CostUSD)+costWord(run.CostUSD),
		Duration(run.Driven), Plural(run.ModelCalls, "call"))
	lines := flow(parts, theme.quiet(" · "), width)
	if before := run.Started.Continues; before != "" {
		lines = append(lines, wrap("  "+theme.quiet("continues "+Line(string(before))), width)...)
	}
	if from := run.Started.ForkedFrom; from != nil {
		lines = append(lines, wrap("  "+theme.quiet(forkedFrom(from)), width)...)
	}
	asked := questionLines(run, width)
	lines = append(lines, asked...)
	if run.Reason != "" && len(asked) == 0 {
		lines = append(lines, wrap("  "+theme.notice(Clip(run.Reason, reasonCells)), width)...)
	}
	return append(lines, missingLines(run, theme, width)...)
}

// questionLines tell what a parked run asks.
func questionLines(run *thread.Run, width int) (lines []string) {
	if run.Status != events.StatusAwaitingInput {
		return nil
	}
	for _, input := range run.Inputs() {
		switch {
		case input.Answer != nil:
		case input.For == events.InputHuman:
			lines = append(lines, wrapIndented("  a person is to answer: "+Line(input.Question), width)...)
		default:
			lines = append(lines, wrapIndented(fmt.Sprintf("  %s asks: %s", Line(DisplayName(run, input.Agent)), Line(input.Question)), width)...)
			lines = append(lines, Choices(input.Choices, width)...)
		}
	}
	return lines
}

// forkedFrom says where a run comes from and what was changed in it.
func forkedFrom(from *events.ForkOrigin) string {
	text := fmt.Sprintf("forked from %s at event %d", Line(string(from.Run)), from.Seq)
	if from.Model != "" {
		text += ", with the model " + Clip(from.Model, narratedCells)
	}
	if from.Instruction != "" {
		text += fmt.Sprintf(", told %q", Clip(from.Instruction, narratedCells))
	}
	return text
}

// reasonCells bounds a run's reason in a summary: what is missing is listed below it.
const reasonCells = 240

// wrap breaks a clean line into lines of at most width cells.
func wrap(line string, width int) []string {
	return strings.Split(ansi.Wrap(line, max(width, minWidth), ""), "\n")
}

// costWord says of what an unknown price is the price.
func costWord(usd *float64) string {
	if usd == nil {
		return " cost"
	}
	return ""
}

// usage tells the tokens, and how much of the input came from no cache.
func usage(u events.Usage) string {
	if u.InputTokens == 0 {
		return tokens(u)
	}
	return fmt.Sprintf("%s (%s of input uncached)", tokens(u), percent(u.UncachedShare()))
}

func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }

func missingLines(run *thread.Run, theme Theme, width int) []string {
	if !run.Status.Over() {
		return nil
	}
	var lines []string
	for _, id := range run.Board.Open("") {
		task, _ := run.Board.Task(id)
		lines = append(lines, cut(fmt.Sprintf("  %s missing: task %d %s: %s", theme.notice(signNotice), id,
			Line(DisplayName(run, task.AssignedTo)), Line(task.Text)), width))
	}
	return lines
}

func label(run *thread.Run) string {
	if run.Simulated {
		return simulatedLabel
	}
	return ""
}

// Label says of a simulated run that it is one, in lines for a terminal: none otherwise.
func Label(run *thread.Run, theme Theme, width int) []string {
	if !run.Simulated {
		return nil
	}
	stream := NewStream(theme, width)
	stream.Write(simulatedLabel)
	return stream.End()
}

// Rendered sets the wanted part of a result for a terminal: "" where the run has none.
func Rendered(run *thread.Run, part Part, theme Theme, width int) string {
	text := plainMarkdown(run, part)
	if text == "" {
		return ""
	}
	return RenderMarkdown(label(run)+text, theme, width)
}

// RenderedDocument sets what stands behind an answer that was shown already.
func RenderedDocument(run *thread.Run, theme Theme, width int) string {
	document := strings.TrimSpace(run.Document.RenderCited())
	if document == "" || run.FinalAnswer != nil && run.FinalAnswer.Fallback {
		return ""
	}
	return RenderMarkdown("---\n\n"+document, theme, width)
}
