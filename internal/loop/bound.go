package loop

import (
	"fmt"
	"strings"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/thread"
)

// finish records a result. What is cut off was not shown.
func (l *Loop) finish(tx *thread.Tx, in *agent.Invocation, result agent.Result) {
	sources := sourcesOf(result)
	result.Text = tellChanged(tx.Run, in, result.Text)
	if len(result.Parts) > 0 {
		text, parts := l.partsOf(tx, result)
		l.emitDone(tx, in, events.ToolCallDone{Result: text, Parts: parts, Failed: result.Failed, Sources: sources})
		return
	}
	text, sent := Bound(tx, l.Spec.ID, l.ID, result.Text, l.Spec.MaxResultChars)
	var shown []events.EntryID
	for _, s := range result.Shown {
		if s.End <= sent {
			shown = append(shown, s.Entry)
		}
	}
	l.emitDone(tx, in, events.ToolCallDone{Result: text, Failed: result.Failed, ShownEntries: shown, Sources: sources})
}

// Bounds of what a tool says that its result was taken from.
const (
	maxSources     = 32   // more than a model quotes from one result
	maxSourceChars = 2000 // as long as addresses of pages are
)

// sourcesOf are the sources of a result as the log has them: each names something, in
// words of bounded length.
func sourcesOf(result agent.Result) (sources []events.Source) {
	for _, s := range result.Sources {
		s.URL, s.File, s.Artifact, s.Tool = named(s.URL), named(s.File), events.ArtifactID(named(string(s.Artifact))), named(s.Tool)
		s.Page, s.Title = max(s.Page, 0), word(s.Title)
		if s.URL+s.File+string(s.Artifact)+s.Tool != "" && len(sources) < maxSources {
			sources = append(sources, s)
		}
	}
	return sources
}

// named makes a name one valid line.
func named(s string) string {
	return chars.Clip(strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " "), maxSourceChars)
}

// emitDone records the result of the call.
func (l *Loop) emitDone(tx *thread.Tx, in *agent.Invocation, done events.ToolCallDone) {
	done.Agent, done.Tool, done.Phase, done.CallRef = l.Spec.ID, in.Tool, "complete", in.Ref
	tx.Emit(l.Spec.ID, l.ID, done)
}

// bounded is the text of a refusal within the bound of a result.
func (l *Loop) bounded(tx *thread.Tx, text string) string {
	text, _ = Bound(tx, l.Spec.ID, l.ID, text, l.Spec.MaxResultChars)
	return text
}

// Bound cuts the result of a call to max characters, which it says there, and once in
// the log; sent is how many bytes of text are left. 0 is no bound.
func Bound(tx *thread.Tx, agent events.AgentID, actor thread.ActorID, text string, max int) (bounded string, sent int) {
	if max <= 0 || !chars.Over(text, max) {
		return text, len(text)
	}
	head, more := chars.Cut(text, max)
	if !tx.Run.LimitMet(events.LimitMaxToolResultChars) {
		tx.Emit(agent, actor, events.LimitReached{
			Limit: events.LimitMaxToolResultChars, Value: float64(max), Used: float64(max + more),
			Consequence: "The model reads such a result cut, and it says so.",
		})
	}
	return fmt.Sprintf("%s…\n[cut: %d of %d characters shown]", head, max, max+more), len(head)
}
