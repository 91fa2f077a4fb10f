package document

import (
	"github.com/convene-run/convene/events"
)

// Source is an entry that another one stands for, with its own sources: the tree
// from a consolidated entry down to what specialists wrote, on which tasks and in
// which model call.
type Source struct {
	Entry     events.EntryID     `json:"entry_id"`
	Author    events.AgentID     `json:"agent"`
	Tasks     []events.TaskID    `json:"task_ids,omitempty"`
	ModelCall events.ModelCallID `json:"model_call_id,omitempty"`
	// Spans are the stretches of the text above that repeat this entry by
	// reference; none where it was rewritten.
	Spans []events.Span `json:"spans,omitempty"`
	// Sources are the entries that this one stands for; none for a leaf.
	Sources []Source `json:"sources,omitempty"`
}

// Sources gives the entries that this one replaced, each with its sources. A
// specialist's entry has none: it is a source itself.
func (d *Document) Sources(id events.EntryID) []Source {
	entry, ok := d.Entry(id)
	if !ok || len(entry.Replaced) == 0 {
		return nil
	}
	spans := make(map[events.EntryID][]events.Span, len(entry.Spans))
	for _, span := range entry.Spans {
		spans[span.Entry] = append(spans[span.Entry], span)
	}
	sources := make([]Source, len(entry.Replaced))
	for i, old := range entry.Replaced {
		below := d.entries[old-1]
		sources[i] = Source{
			Entry: old, Author: below.Author, Tasks: below.Tasks, ModelCall: below.ModelCall,
			Spans: spans[old], Sources: d.Sources(old),
		}
	}
	return sources
}

// Segment is a stretch of text, in bytes, with the entries that it comes from.
type Segment struct {
	Start int `json:"start"`
	End   int `json:"end"`
	// Entries are the sources, the nearest first: one entry that wrote the stretch
	// itself, or a consolidated one followed by those that it rewrote.
	Entries []events.EntryID `json:"entry_ids"`
}

// Trace gives the sources of every byte of an entry's text, in order and without
// a gap. References are followed down to the entry that wrote the text; what a
// consolidation wrote itself comes from it and from all that it replaced.
func (d *Document) Trace(id events.EntryID) []Segment {
	if _, ok := d.Entry(id); !ok {
		return nil
	}
	return d.trace(nil, id, 0)
}

// trace adds the segments of an entry whose text starts at base.
func (d *Document) trace(segments []Segment, id events.EntryID, base int) []Segment {
	entry := d.entries[id-1]
	own := append([]events.EntryID{id}, entry.Replaced...)
	at := 0
	for _, span := range entry.Spans {
		if span.Start > at {
			segments = append(segments, Segment{base + at, base + span.Start, own})
		}
		segments = d.trace(segments, span.Entry, base+span.Start)
		at = span.End
	}
	if at < len(entry.Content) {
		segments = append(segments, Segment{base + at, base + len(entry.Content), own})
	}
	return segments
}

// authors are the agents whose words an entry stands for, in the order of their
// entries: those of the entries that it replaced, all the way down, or its own
// author.
func (d *Document) authors(id events.EntryID) []events.AgentID {
	var authors []events.AgentID
	seen := map[events.AgentID]bool{}
	var visit func(events.EntryID)
	visit = func(id events.EntryID) {
		entry := d.entries[id-1]
		for _, old := range entry.Replaced {
			visit(old)
		}
		if len(entry.Replaced) == 0 && !seen[entry.Author] {
			seen[entry.Author] = true
			authors = append(authors, entry.Author)
		}
	}
	visit(id)
	return authors
}
