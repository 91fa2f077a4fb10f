package thread

import (
	"bytes"
	"reflect"

	"github.com/convene-run/convene/events"
)

// What a fold takes beside the texts that it holds, in bytes, as measured.
const (
	bytesPerEvent = 256
	bytesPerRun   = 4 << 10
)

// roughBytes is about what the state grows by with an event.
func roughBytes(event events.Event) int {
	switch e := event.(type) {
	case events.WorkflowStarted:
		return bytesPerRun + len(e.Message) + len(e.Prompt)
	case events.UserMessage:
		return bytesPerEvent + len(e.Content) + len(e.Metadata)
	case events.ModelCalled:
		size := bytesPerEvent + len(e.Reply.Text) + len(e.Reply.Reasoning) + len(e.Reply.Extra)
		for _, page := range e.Reply.Cited {
			size += len(page.URL) + len(page.Title) + len(page.Quote)
		}
		for i := range e.Reply.ToolCalls {
			size += len(e.Reply.ToolCalls[i].Arguments) + len(e.Reply.ToolCalls[i].Extra)
		}
		return size
	case events.ArtifactCreated:
		return bytesPerEvent + len(e.Name) + len(e.Origin) + len(e.Note)
	case events.ToolCallDone:
		size := bytesPerEvent + len(e.Result) + len(e.Arguments)
		for i := range e.Parts {
			size += len(e.Parts[i].Text) + len(e.Parts[i].Bytes)
		}
		return size
	case events.AgentFinished:
		return bytesPerEvent + len(e.Result)
	case events.DocumentUpdated:
		return bytesPerEvent + 2*len(e.Content) + roughCitations(e.Sources)
	case events.ValuesReplaced:
		size := bytesPerEvent
		for i := range e.Values {
			size += bytesPerEvent + 2*len(e.Values[i].Original)
		}
		return size
	case events.EvidenceRefused:
		return bytesPerEvent + roughCitations(e.Sources)
	case events.FinalAnswer:
		return bytesPerEvent + len(e.Content)
	case events.HistoryCompacted:
		return bytesPerEvent + len(e.Summary)
	}
	return bytesPerEvent
}

func roughCitations(cited []events.Citation) (size int) {
	for i := range cited {
		size += bytesPerEvent + len(cited[i].Quote)
	}
	return size
}

// shared gives the start of a run with the memory of the one before it where they are the
// same: thousands of runs in one thread have the same team.
func shared(started, before events.WorkflowStarted) events.WorkflowStarted {
	if bytes.Equal(started.Config, before.Config) {
		started.Config = before.Config
	}
	if bytes.Equal(started.Layout, before.Layout) {
		started.Layout = before.Layout
	}
	if reflect.DeepEqual(started.Agents, before.Agents) {
		started.Agents = before.Agents
	}
	return started
}
