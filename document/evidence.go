package document

import (
	"fmt"
	"slices"

	"github.com/convene-run/convene/events"
)

// Footnote is a passage that a stretch of an entry's text rests on.
type Footnote struct {
	events.Citation
	// Entry is the one that named the passage: a specialist's.
	Entry events.EntryID `json:"entry_id"`
	// End is where the stretch ends, in bytes of the text.
	End int `json:"end"`
}

// Footnotes gives the passages that an entry rests on, in the order of its text. Those of an
// entry that it repeats by reference stand where that ends, those of one that it rewrote
// at its own end.
func (d *Document) Footnotes(id events.EntryID) []Footnote {
	entry, ok := d.Entry(id)
	if !ok {
		return nil
	}
	return d.footnotes(nil, entry, 0)
}

// footnotes adds those of an entry whose text starts at base.
func (d *Document) footnotes(notes []Footnote, entry Entry, base int) []Footnote {
	for _, span := range entry.Spans {
		notes = d.footnotes(notes, d.entries[span.Entry-1], base+span.Start)
	}
	end := base + len(entry.Content)
	for _, old := range entry.Replaced {
		if slices.Contains(entry.Merged, old) {
			continue
		}
		for _, note := range d.Footnotes(old) {
			note.End = end
			notes = append(notes, note)
		}
	}
	for _, cited := range entry.Sources {
		notes = append(notes, Footnote{cited, entry.ID, end})
	}
	return notes
}

// Unsupported gives the entries that are marked as unsupported among those that the entry
// stands for, itself included.
func (d *Document) Unsupported(id events.EntryID) (ids []events.EntryID) {
	entry, _ := d.Entry(id)
	for _, old := range entry.Replaced {
		ids = append(ids, d.Unsupported(old)...)
	}
	if entry.Unsupported {
		ids = append(ids, id)
	}
	return ids
}

// support is what the tag of an entry says of its evidence where the team requires it.
func (d *Document) support(id events.EntryID) string {
	unsupported := d.Unsupported(id)
	switch {
	case len(unsupported) == 0:
		return ""
	case slices.Equal(unsupported, []events.EntryID{id}):
		return " unsupported"
	}
	return fmt.Sprintf(" unsupported: what it has of entry %s", list(unsupported))
}
