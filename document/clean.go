package document

import (
	"fmt"
	"strings"

	"github.com/convene-run/convene/events"
)

// RenderClean writes the document for the user, as Markdown: a heading for each
// section that has text, one for each slot where there is more than one to tell
// apart, the texts, no tags. An empty document gives "".
func (d *Document) RenderClean() string {
	text, _ := d.render(nil, nil, nil)
	return text
}

// RenderTraced is [Document.RenderClean] with the source of every byte of it that
// an agent wrote. Headings and the space between are the layout's and have none.
func (d *Document) RenderTraced() (string, []Segment) {
	return d.render(nil, nil, d.Trace)
}

// RenderAttributed is the clean document with "From food:" above each entry, for
// an answer that no model could write. A document that a single agent wrote goes
// without. A consolidated entry is from those whose entries it stands for.
func (d *Document) RenderAttributed() string {
	authors := make([][]events.AgentID, len(d.entries)+1)
	all := map[events.AgentID]bool{}
	for _, entry := range d.selected(Place{}) {
		authors[entry.ID] = d.authors(entry.ID)
		for _, author := range authors[entry.ID] {
			all[author] = true
		}
	}
	if len(all) < 2 {
		return d.RenderClean()
	}
	text, _ := d.render(func(entry Entry) string {
		return "From " + inSentence(authors[entry.ID]) + ":\n\n"
	}, nil, nil)
	return text
}

// headingBytes is about what stands above a slot in the clean document.
const headingBytes = 32

// CleanBytes is about the length of [Document.RenderClean].
func (d *Document) CleanBytes() int { return d.liveBytes + len(d.order)*headingBytes }

// render writes the headings and texts; before gives what stands above an entry, content
// what stands there in place of its text, trace the sources of its bytes. Each may be nil.
func (d *Document) render(before, content func(Entry) string, trace func(events.EntryID) []Segment) (string, []Segment) {
	var out strings.Builder
	var segments []Segment
	out.Grow(d.CleanBytes())
	head := d.heads(&out)
	for _, entry := range d.selected(Place{}) {
		head(entry)
		if before != nil {
			out.WriteString(before(*entry))
		}
		if trace != nil {
			segments = append(segments, shifted(trace(entry.ID), out.Len())...)
		}
		text := entry.Content
		if content != nil {
			text = content(*entry)
		}
		out.WriteString(text)
		out.WriteByte('\n')
	}
	return out.String(), segments
}

// heads writes the space and the headings above the entries, each given in the order of the
// document.
func (d *Document) heads(out *strings.Builder) func(*Entry) {
	section, slot := "", Place{}
	return func(entry *Entry) {
		if out.Len() > 0 {
			out.WriteByte('\n')
		}
		if entry.Section != section {
			section = entry.Section
			writeAll(out, "## ", d.layout.SectionTitle(section), "\n\n")
		}
		if entry.Place != slot {
			slot = entry.Place
			if heading := d.layout.SlotHeading(slot); heading != "" {
				writeAll(out, "### ", heading, "\n\n")
			}
		}
	}
}

func writeAll(out *strings.Builder, texts ...string) {
	for _, text := range texts {
		out.WriteString(text)
	}
}

// inSentence is "a", "a and b", "a, b and c".
func inSentence(authors []events.AgentID) string {
	last := len(authors) - 1
	if last == 0 {
		return string(authors[0])
	}
	return fmt.Sprintf("%s and %s", join(authors[:last]), authors[last])
}

// shifted moves segments behind that many bytes.
func shifted(segments []Segment, by int) []Segment {
	for i := range segments {
		segments[i].Start += by
		segments[i].End += by
	}
	return segments
}
