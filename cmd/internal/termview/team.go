package termview

import (
	"cmp"
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
	lines = append(lines, askedLines(f.FallbackModels, f.Tuning, nil, width)...)
	if prompts {
		lines = append(lines, promptLines(f.Prompt, width)...)
	}
	for _, s := range t.Specialists {
		lines = append(lines, agentLines(s.ID, s.DisplayName, s.Description, s.Model, width)...)
		lines = append(lines, askedLines(s.FallbackModels, s.Tuning, s.Tools, width)...)
		if prompts {
			lines = append(lines, promptLines(s.Prompt, width)...)
		}
	}
	if names := t.Tools.Names(); len(names) > 0 {
		lines = append(lines, "", theme.quiet("TOOLS"))
		lines = append(lines, toolLines(t.Tools, width)...)
	}
	if t.Handoff != nil {
		lines = append(lines, "", theme.quiet("HANDOFF"))
		lines = append(lines, handoffTargets(t, width)...)
	}
	if c := t.Conversation; c != nil {
		lines = append(lines, "", theme.quiet("CONVERSATION"))
		lines = append(lines, conversationLines(c, width)...)
	}
	lines = append(lines, "", theme.quiet("DOCUMENT"))
	lines = append(lines, layoutLines(t.Document, width)...)
	return append(append(lines, ""), boundLines(t.Limits, theme, width)...)
}

// toolLines tells which tools are switched on, and how.
func toolLines(tools *team.Tools, width int) (lines []string) {
	for _, name := range tools.Names() {
		lines = append(lines, wrapIndented(strings.TrimRight(fmt.Sprintf("  %-14s %s", name, Line(tools.Settings(name))), " "), width)...)
	}
	return lines
}

// handoffTargets tells who may take over the conversation, on which phrases and in which
// steps.
func handoffTargets(t *team.Team, width int) (lines []string) {
	for _, target := range t.Handoff.Targets {
		text := "when the facilitator decides"
		if len(target.Triggers) > 0 {
			text += `, or on "` + strings.Join(target.Triggers, `", "`) + `"`
		}
		if s, _ := t.Specialist(target.Agent); len(s.WorkflowStates) > 0 {
			text += "; steps: " + strings.Join(s.WorkflowStates, ", ")
		}
		lines = append(lines, wrap(fmt.Sprintf("  %-14s %s", target.Agent, Line(text)), width)...)
	}
	return lines
}

// conversationLines tells who answers the user: the stages in their order, the rules before
// them, and who answers where nothing else decides.
func conversationLines(c *team.Conversation, width int) (lines []string) {
	add := func(name, text string) {
		lines = append(lines, wrapIndented(fmt.Sprintf("  %-14s %s", name, Line(text)), width)...)
	}
	for _, rule := range c.Rules {
		add("rule", fmt.Sprintf("%s, priority %d", rule.Agent, rule.Priority))
	}
	for _, stage := range c.Pipeline {
		text := string(stage.Agent) + "; the last"
		if stage.Next != "" {
			text = fmt.Sprintf("%s; then %s", stage.Agent, stage.Next)
		}
		for _, back := range stage.CanReturnTo {
			text += ", or back to " + string(back)
		}
		add(string(stage.Phase), text)
	}
	if c.Supervisor != "" {
		add("supervisor", string(c.Supervisor))
	}
	add("else", cmp.Or(string(c.DefaultAgent), string(events.FacilitatorID)))
	return lines
}

func agentLines(id events.AgentID, name, description, model string, width int) []string {
	line := fmt.Sprintf("  %-14s %s: %s", id, Line(name), Line(description))
	if model != "" {
		line += " [" + Line(model) + "]"
	}
	return wrapIndented(line, width)
}

// askedLines say how the agent's model is asked, as far as the team sets it, and which of
// the program's tools it has.
func askedLines(fallbacks []string, asked team.Tuning, tools []string, width int) []string {
	var parts []string
	set := func(name, value string) {
		if value != "" {
			parts = append(parts, name+" "+Line(value))
		}
	}
	set("fallback models", strings.Join(fallbacks, ", "))
	set("effort", asked.Effort)
	if asked.MaxOutputTokens > 0 {
		set("at most", fmt.Sprintf("%d output tokens", asked.MaxOutputTokens))
	}
	if asked.Temperature != nil {
		set("temperature", fmt.Sprint(*asked.Temperature))
	}
	set("tier", string(asked.Tier))
	if asked.SilenceTimeout > 0 {
		set("silence timeout", asked.SilenceTimeout.String())
	}
	if tools != nil && len(tools) == 0 {
		tools = []string{"none"}
	}
	set("tools", strings.Join(tools, ", "))
	if len(parts) == 0 {
		return nil
	}
	return wrapIndented("      "+strings.Join(parts, " · "), width)
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
	table := Columns(rows, width)
	lines := []string{theme.quiet(table[0])}
	for i, b := range team.Bounds() {
		lines = append(lines, table[i+1])
		lines = append(lines, wrapIndented("    "+b.Description+" – "+b.Reason, width)...)
	}
	return lines
}

// wrapIndented breaks a line and keeps its indent.
func wrapIndented(line string, width int) []string {
	text := strings.TrimLeft(line, " ")
	return wrapBehind(strings.Repeat(" ", cells(line)-cells(text)), text, width)
}

// wrapBehind breaks a line that begins in a column of its own: what goes on stands below it.
func wrapBehind(begin, text string, width int) []string {
	indent := cells(begin)
	lines := wrap(text, width-indent)
	for i := range lines {
		lines[i] = begin + lines[i]
		begin = strings.Repeat(" ", indent)
	}
	return lines
}
