package document

import (
	"fmt"
	"strings"

	"github.com/convene-run/convene/events"
)

// Cited is a passage in the list below a document, with its number there, from 1.
type Cited struct {
	Number int
	Footnote
}

// Citations numbers the passages that the document rests on, in its order. The same passage
// that an entry names is there once.
func (d *Document) Citations() []Cited {
	var all []Cited
	known := map[noteKey]bool{}
	for _, entry := range d.selected(Place{}) {
		for _, note := range d.Footnotes(entry.ID) {
			if key := note.key(); !known[key] {
				known[key] = true
				all = append(all, Cited{len(all) + 1, note})
			}
		}
	}
	return all
}

// noteKey is equal for footnotes that tell the same.
type noteKey struct {
	source events.Source
	quote  string
	found  bool
}

func (n *Footnote) key() noteKey { return noteKey{n.Source, n.Quote, n.Found} }

// RenderCited is [Document.RenderClean] with the number of each passage behind the text that
// rests on it, and the passages below. What has no source in a team that requires evidence
// is marked as unsupported. Without either it is the clean document.
func (d *Document) RenderCited() string {
	cited := d.Citations()
	numbers := make(map[noteKey]int, len(cited))
	for i := range cited {
		numbers[cited[i].key()] = cited[i].Number
	}
	text, _ := d.render(nil, func(entry Entry) string { return d.numbered(entry, numbers) }, nil)
	if len(cited) == 0 {
		return text
	}
	var out strings.Builder
	out.WriteString(text + "\n## Sources\n\n")
	for i := range cited {
		fmt.Fprintf(&out, "%d. %s\n", cited[i].Number, escaped(cited[i].Footnote.String()))
	}
	return out.String()
}

// String tells where a passage comes from, and the passage, in a line.
func (n *Footnote) String() string {
	text := oneLine(SourceName(n.Source)) + ": “" + oneLine(n.Quote) + "”"
	if !n.Found {
		text += " (not found in the source)"
	}
	return text
}

// SourceName names a source for people.
func SourceName(s events.Source) string {
	name := s.URL + s.File
	switch {
	case name == "" && s.Artifact != "":
		name = "artifact " + s.Artifact.Short()
	case name == "" && s.Tool != "":
		name = "tool " + s.Tool
	case name == "":
		name = "no source"
	}
	if s.Title != "" {
		name = s.Title + ", " + name
	}
	if s.Page > 0 {
		name += fmt.Sprintf(", page %d", s.Page)
	}
	return name
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// numbered is an entry's text with the numbers of its footnotes, each behind the stretch that
// rests on it.
func (d *Document) numbered(entry Entry, numbers map[noteKey]int) string {
	var out strings.Builder
	at := 0
	notes := d.Footnotes(entry.ID)
	for i := 0; i < len(notes); {
		end, marks := notes[i].End, ""
		seen := map[int]bool{}
		for ; i < len(notes) && notes[i].End == end; i++ {
			if n := numbers[notes[i].key()]; !seen[n] {
				seen[n] = true
				marks += fmt.Sprintf(`\[%d\]`, n)
			}
		}
		out.WriteString(entry.Content[at:end])
		out.WriteString(gap(entry.Content[:end]) + marks)
		at = end
	}
	out.WriteString(entry.Content[at:])
	if len(d.Unsupported(entry.ID)) > 0 {
		out.WriteString(gap(entry.Content) + `\[unsupported\]`)
	}
	return out.String()
}

// gap is what stands between a text and a mark behind it: where its last line is part of a
// fence or a table, the mark would be, too.
func gap(text string) string {
	last := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	if strings.HasPrefix(last, "```") || strings.HasPrefix(last, "~~~") || strings.HasPrefix(last, "|") {
		return "\n\n"
	}
	return " "
}

// specials are what Markdown reads as more than text.
const specials = "\\`*_[]<>#|~&!$^"

// escaped is text that Markdown shows as it is.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(specials, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
