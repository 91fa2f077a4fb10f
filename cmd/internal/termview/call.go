package termview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// Called is a model call with what was sent for it.
type Called struct {
	Agent events.AgentID
	// Tools are the names of those that the model was offered.
	Tools []string
	Sent  []events.Message
	Call  events.ModelCalled
}

// Call shows a model call: which tools were offered, what was sent since the agent's reply
// before, the reply, and what it took.
func Call(run *thread.Run, c Called, theme Theme, width int) []string {
	sent, call := c.Sent, c.Call
	lines := flow(callFigures(run, c.Agent, call), " · ", width)
	for _, attempt := range call.Retries {
		lines = append(lines, theme.notice(cut(fmt.Sprintf("  %s attempt failed after %s: %s %s", signNotice,
			Duration(milliseconds(attempt.RanMS)), Line(attempt.Error), Line(attempt.Message)), width)))
	}
	if len(c.Tools) > 0 {
		lines = append(lines, "", theme.strong("TOOLS"))
		lines = append(lines, wrapIndented("  "+Line(strings.Join(c.Tools, ", ")), width)...)
	}
	earlier := 0
	for i, message := range sent {
		if message.Role == events.RoleAssistant {
			earlier = i + 1
		}
	}
	lines = append(lines, "", theme.strong("SENT"))
	if earlier > 0 {
		lines = append(lines, theme.quiet(cut("  behind "+Plural(earlier, "earlier message")+", which --json has", width)))
	}
	for _, message := range sent[earlier:] {
		lines = append(lines, messageLines(string(message.Role), message.Content, theme, width)...)
	}
	lines = append(lines, "", theme.strong("REPLY"))
	if call.Reply.Reasoning != "" {
		lines = append(lines, messageLines("thinking", call.Reply.Reasoning, theme, width)...)
	}
	if call.Reply.Text != "" {
		lines = append(lines, messageLines("text", call.Reply.Text, theme, width)...)
	}
	for _, query := range call.Reply.Searches {
		lines = append(lines, messageLines("searched the web for", query, theme, width)...)
	}
	for _, page := range call.Reply.Cited {
		lines = append(lines, messageLines("cites "+Line(page.Title), strings.TrimSpace(page.URL+"\n"+page.Quote), theme, width)...)
	}
	for _, asked := range call.Reply.ToolCalls {
		lines = append(lines, messageLines("calls "+Line(asked.Name), pretty(asked.Arguments), theme, width)...)
	}
	return lines
}

// callFigures are what a call was and took.
func callFigures(run *thread.Run, agent events.AgentID, call events.ModelCalled) []string {
	parts := []string{"call " + Line(string(call.ID)), Line(DisplayName(run, agent)), Line(call.Model)}
	if call.Provider != "" {
		parts = append(parts, "at "+Line(call.Provider))
	}
	parts = append(parts,
		fmt.Sprintf("%s tok in (%s uncached)", Count(call.Usage.InputTokens), percent(call.Usage.UncachedShare())),
		Count(call.Usage.OutputTokens)+" out", Money(call.CostUSD)+costWord(call.CostUSD),
		seconds(call.TotalMS)+", first token after "+seconds(call.FirstTokenMS))
	if n := call.Usage.WebSearches; n > 0 {
		parts = append(parts, fmt.Sprintf("searches %d", n))
	}
	if call.QueuedMS > 0 {
		parts = append(parts, "queued "+seconds(call.QueuedMS))
	}
	if call.Attempts > 1 {
		parts = append(parts, Plural(call.Attempts, "attempt"))
	}
	if call.Reply.FinishReason != "" {
		parts = append(parts, "finish reason "+Line(string(call.Reply.FinishReason)))
	}
	if call.Interrupted {
		parts = append(parts, "broke off")
	}
	return parts
}

func seconds(ms int64) string {
	return fmt.Sprintf("%.1fs", time.Duration(ms*int64(time.Millisecond)).Seconds())
}

// messageLines set a message of others, indented under who wrote it.
func messageLines(title, text string, theme Theme, width int) []string {
	lines := []string{theme.quiet("  " + Line(title))}
	for line := range strings.SplitSeq(strings.TrimRight(Text(text), "\n"), "\n") {
		lines = append(lines, wrapIndented("    "+line, width)...)
	}
	return lines
}

// pretty sets arguments in lines, where they are JSON.
func pretty(arguments string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(arguments), "", "  ") != nil {
		return arguments
	}
	return out.String()
}
