package termview

import (
	"fmt"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// EventLines tell an event with its number and time, in lines of at most width cells: none for
// an event that only machines need. The run is the fold with the event applied.
func EventLines(run *thread.Run, env events.Envelope, width int) (lines []string) {
	texts := Narrate(run, env)
	if call, ok := env.Data.(events.ModelCalled); ok {
		texts = append([]string{calledLine(run, env.Agent, call)}, texts...)
	}
	for _, text := range texts {
		begin := fmt.Sprintf("%6d %7s  ", env.Seq, Duration(run.DrivenUntil(env.Time)))
		lines = append(lines, wrapBehind(begin, text, width)...)
	}
	return lines
}

// calledLine tells a model call in one line.
func calledLine(run *thread.Run, id events.AgentID, call events.ModelCalled) string {
	line := about(run, id) + "call " + string(call.ID)
	if calls := len(call.Reply.ToolCalls); calls > 0 {
		line += ", " + Plural(calls, "tool call")
	}
	return line + ", " + tokens(call.Usage)
}
