package termview

import (
	"fmt"
	"strings"

	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// Sources lists every entry of the document with where it comes from: entry ←
// agent ← tasks ← model call, the passages that it rests on, and below a consolidated one
// those it stands for.
func Sources(run *thread.Run, theme Theme, width int) []string {
	layout := run.Document.Layout()
	var lines []string
	for _, place := range run.Document.Places() {
		lines = append(lines, theme.strong(cut(placeName(layout, place), width)))
		for _, entry := range run.Document.Entries(place) {
			lines = append(lines, sourceLines(run, entry.ID, entry.Author, entry.Tasks, entry.ModelCall, 1, theme, width)...)
			lines = append(lines, citedLines(run, entry.ID, 2, theme, width)...)
			lines = append(lines, belowLines(run, run.Document.Sources(entry.ID), 2, theme, width)...)
		}
	}
	return lines
}

func belowLines(run *thread.Run, sources []document.Source, depth int, theme Theme, width int) []string {
	var lines []string
	for _, s := range sources {
		lines = append(lines, sourceLines(run, s.Entry, s.Author, s.Tasks, s.ModelCall, depth, theme, width)...)
		lines = append(lines, citedLines(run, s.Entry, depth+1, theme, width)...)
		lines = append(lines, belowLines(run, s.Sources, depth+1, theme, width)...)
	}
	return lines
}

// citedLines are the passages that an entry itself names, and that it names none where the
// team requires some.
func citedLines(run *thread.Run, id events.EntryID, depth int, theme Theme, width int) (lines []string) {
	entry, _ := run.Document.Entry(id)
	indent := strings.Repeat("  ", depth)
	for _, cited := range entry.Sources {
		line := "↳ " + Line(document.SourceName(cited.Source))
		if cited.Found {
			line += fmt.Sprintf(" ← call %s, result %d", Line(string(cited.Call.ModelCall)), cited.Call.Index+1)
		} else {
			line += " " + theme.notice(signNotice+" not found")
		}
		lines = append(lines, wrapBehind(indent, line, width)...)
		lines = append(lines, cut(indent+"  "+theme.quiet("“"+Clip(cited.Quote, max(20, width-cells(indent)-4))+"”"), width))
	}
	if entry.Unsupported {
		lines = append(lines, cut(indent+theme.notice(signNotice+" unsupported: no source was found"), width))
	}
	return lines
}

// sourceLines tell where an entry comes from, and how it begins as far as there is room.
func sourceLines(
	run *thread.Run, id events.EntryID, author events.AgentID, tasks []events.TaskID, call events.ModelCallID,
	depth int, theme Theme, width int,
) []string {
	begin := strings.Repeat("  ", depth)
	line := fmt.Sprintf("entry %d ← %s", id, Line(DisplayName(run, author)))
	if len(tasks) > 0 {
		line += " ← " + taskList(tasks)
	}
	if call != "" {
		line += " ← call " + Line(string(call))
		if writer := run.Writer(id); writer != run {
			line += " of run " + ShortID(writer.ID)
		}
	}
	if entry, ok := run.Document.Entry(id); ok {
		line += "  " + theme.quiet("“"+Clip(entry.Content, max(20, width-cells(begin)-cells(line)-4))+"”")
	}
	return wrapBehind(begin, line, width)
}
