package document

import (
	"fmt"
	"slices"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
)

// Document is the shared document of one run.
//
// It is not safe for concurrent use: whoever sequences the run guards it. What
// its methods return does not change afterwards, and must not be changed.
type Document struct {
	layout Layout
	run    events.RunID
	// entries has entry N at index N-1. Every change adds one entry, so it is also
	// the history: version N wrote entry N.
	entries []Entry
	// slots is by [Layout.key]; order has their places in the layout's order.
	slots map[Place]*slot
	order []Place
	// spelling is how the document writes a section that the layout does not
	// declare: as its first entry did.
	spelling map[string]string
	// writtenChars is the text of all entries, replaced ones too.
	writtenChars int
	// liveBytes is the text of those that nothing replaced.
	liveBytes int
}

// slot is one slot that was written to.
type slot struct {
	place Place
	// live are the entries that nothing replaced, in order.
	live []events.EntryID
}

// Entry is one text of the document with where it came from.
type Entry struct {
	ID events.EntryID `json:"id"`
	Place
	Author  events.AgentID `json:"agent"`
	Content string         `json:"content"`
	Time    time.Time      `json:"time"`
	// Change says in words what the entry did to the document.
	Change string `json:"change"`
	// Tasks and ModelCall are those of the author at work.
	Tasks     []events.TaskID    `json:"task_ids,omitempty"`
	ModelCall events.ModelCallID `json:"model_call_id,omitempty"`
	// Replaced, Merged and Spans are those of [events.DocumentUpdated].
	Replaced []events.EntryID `json:"replaced,omitempty"`
	Merged   []events.EntryID `json:"merged,omitempty"`
	Spans    []events.Span    `json:"spans,omitempty"`
	// Sources and Unsupported are those of [events.DocumentUpdated].
	Sources     []events.Citation `json:"sources,omitempty"`
	Unsupported bool              `json:"unsupported,omitempty"`
	// ReplacedBy is the entry that took this one's place; 0 while it is live.
	ReplacedBy events.EntryID `json:"replaced_by,omitempty"`
}

// New returns an empty document of this layout.
func New(layout Layout) *Document {
	return &Document{layout: layout, slots: map[Place]*slot{}, spelling: map[string]string{}}
}

// Layout gives the layout that the document was made with.
func (d *Document) Layout() Layout { return d.layout }

// Version counts the changes so far; 0 is the empty document.
func (d *Document) Version() int { return len(d.entries) }

// Versions is the history, one line for each change.
func (d *Document) Versions() []events.DocumentVersion {
	versions := make([]events.DocumentVersion, len(d.entries))
	for i, entry := range d.entries {
		versions[i] = events.DocumentVersion{Version: i + 1, Author: entry.Author, Change: entry.Change, Time: entry.Time}
	}
	return versions
}

// At returns the document as it stood after that many changes, as a document of
// its own.
func (d *Document) At(version int) (*Document, error) {
	if version < 0 || version > len(d.entries) {
		return nil, fmt.Errorf("document has versions 0 to %d, not %d", len(d.entries), version)
	}
	past := New(d.layout)
	past.run = d.run
	for _, entry := range d.entries[:version] {
		entry.ReplacedBy = 0
		past.add(entry)
	}
	return past, nil
}

// Continue gives a document of its own with the same history, for a run that goes on
// with it.
func (d *Document) Continue(run events.RunID) *Document {
	next := New(d.layout)
	next.run = run
	for _, entry := range d.entries {
		entry.ReplacedBy = 0
		next.add(entry)
	}
	return next
}

// Entry returns one entry, live or replaced, and whether there is such a one.
func (d *Document) Entry(id events.EntryID) (Entry, bool) {
	if id < 1 || int(id) > len(d.entries) {
		return Entry{}, false
	}
	return d.entries[id-1], true
}

// Entries returns the live entries of a slot in the order they were written.
func (d *Document) Entries(p Place) []Entry {
	s := d.slots[d.layout.key(p)]
	if s == nil {
		return nil
	}
	entries := make([]Entry, len(s.live))
	for i, id := range s.live {
		entries[i] = d.entries[id-1]
	}
	return entries
}

// Live counts the live entries.
func (d *Document) Live() (n int) {
	for _, s := range d.slots {
		n += len(s.live)
	}
	return n
}

// Places returns the slots that hold live entries, in the layout's order.
func (d *Document) Places() []Place { return slices.Clone(d.order) }

// add takes in the next entry, which is known to fit.
func (d *Document) add(entry Entry) {
	key := d.layout.key(entry.Place)
	s := d.slots[key]
	if s == nil {
		s = &slot{place: d.spelled(entry.Place)}
		d.slots[key] = s
		d.order = append(d.order, s.place)
		d.layout.Order(d.order)
		d.spelling[key.Section] = s.place.Section
	}
	entry.Place = s.place
	for _, id := range entry.Replaced {
		d.entries[id-1].ReplacedBy = entry.ID
		d.liveBytes -= len(d.entries[id-1].Content)
	}
	if len(entry.Replaced) > 0 {
		s.live = slices.DeleteFunc(s.live, func(id events.EntryID) bool { return d.entries[id-1].ReplacedBy != 0 })
	}
	d.entries = append(d.entries, entry)
	s.live = append(s.live, entry.ID)
	d.writtenChars += chars.Count(entry.Content)
	d.liveBytes += len(entry.Content)
}

// spelled gives the place as the document already writes it.
func (d *Document) spelled(p Place) Place {
	key := d.layout.key(p)
	if s := d.slots[key]; s != nil {
		return s.place
	}
	if section, known := d.spelling[key.Section]; known {
		p.Section = section
	}
	return p
}
