package termview

import (
	"fmt"
	"strings"

	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
)

// Team lists all that a team is: its agents, with their prompts if wanted, its
// document and its bounds.
func Team(t *team.Team, prompts bool, theme Theme, width int) []string {
	lines := []string{theme.strong(cut(fmt.Sprintf("%s (%s)", Line(t.DisplayName), t.Name), width))}
	if t.Description != "" {
		lines = append(lines, wrap(Line(t.Description), width)...)
	}
	lines = append(lines, "", theme.quiet("AGENTS"))
	f := t.Facilitator
	lines = append(lines, agentLines(events.FacilitatorID, f.DisplayName, "plans, dispatches, consolidates, answers", f.Model, width)...)
	if prompts {
		lines = append(lines, promptLines(f.Prompt, width)...)
	}
	for _, s := range t.Specialists {
		lines = append(lines, agentLines(s.ID, s.DisplayName, s.Description, s.Model, width)...)
		if prompts {
			lines = append(lines, promptLines(s.Prompt, width)...)
		}
	}
	lines = append(lines, "", theme.quiet("DOCUMENT"))
	lines = append(lines, layoutLines(t.Document, width)...)
	return append(append(lines, ""), boundLines(t.Limits, theme, width)...)
}

func agentLines(id events.AgentID, name, description, model string, width int) []string {
	line := fmt.Sprintf("  %-14s %s: %s", id, Line(name), Line(description))
	if model != "" {
		line += " [" + Line(model) + "]"
	}
	return wrapIndented(line, width)
}

func promptLines(prompt string, width int) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(Text(prompt)), "\n") {
		lines = append(lines, wrapIndented("      "+line, width)...)
	}
	return lines
}

func layoutLines(l document.Layout, width int) []string {
	if l.Kind() != document.KindSections {
		return []string{"  layout " + string(l.Kind())}
	}
	var lines []string
	for _, s := range l.Sections() {
		line := fmt.Sprintf("  %-14s %s", s.ID, Line(s.Title))
		if len(s.Slots) > 0 {
			line += " (" + strings.Join(s.Slots, ", ") + ")"
		}
		if s.Description != "" {
			line += ": " + Line(s.Description)
		}
		lines = append(lines, wrapIndented(line, width)...)
	}
	return lines
}

// boundLines list every bound of a run: its value, its default, what it bounds and
// why the default is what it is.
func boundLines(limits team.Limits, theme Theme, width int) []string {
	rows := [][]string{{"BOUND", "VALUE", "DEFAULT"}}
	for _, b := range team.Bounds() {
		rows = append(rows, []string{string(b.Name), b.Format(limits.Value(b.Name)), b.Format(b.Default)})
	}
	table := columns(rows, width)
	lines := []string{theme.quiet(table[0])}
	for i, b := range team.Bounds() {
		lines = append(lines, table[i+1])
		lines = append(lines, wrapIndented("    "+b.Description+" – "+b.Reason, width)...)
	}
	return lines
}

// wrapIndented breaks a line and keeps its indent.
func wrapIndented(line string, width int) []string {
	indent := cells(line) - cells(strings.TrimLeft(line, " "))
	lines := wrap(strings.TrimLeft(line, " "), width-indent)
	for i := range lines {
		lines[i] = strings.Repeat(" ", indent) + lines[i]
	}
	return lines
}
