package document

import (
	"fmt"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
)

// Consolidate decides a facilitator's merge of a slot: one new entry in place of
// those live ones that the facilitator has been shown. In the content,
// {{entry:12}} stands for the text of entry 12; an entry that is not referred to
// counts as rewritten. Entries that shown denies stay where they are and are
// named in the result, so that nothing is lost unread. Who wrote the new entry
// knows it: from then on shown should affirm it.
//
// Result and error are for the model; past a bound the error is an [*events.LimitError].
func (d *Document) Consolidate(w Write, shown func(events.EntryID) bool, bounds Bounds) (events.DocumentUpdated, string, error) {
	content, err := readContent(w.Content)
	if err != nil {
		return events.DocumentUpdated{}, "", err
	}
	if err := d.layout.check(w.Place); err != nil {
		return events.DocumentUpdated{}, "", err
	}
	// What is too long as it stands is not worth searching for references.
	if err := bounds.entry(chars.Count(content)); err != nil {
		return events.DocumentUpdated{}, "", err
	}
	seen, unseen, err := d.candidates(w.Place, shown)
	if err != nil {
		return events.DocumentUpdated{}, "", err
	}
	pieces, err := cutReferences(content)
	if err != nil {
		return events.DocumentUpdated{}, "", err
	}
	if err := d.referable(w.Place, pieces, seen, unseen); err != nil {
		return events.DocumentUpdated{}, "", err
	}
	size := d.charsOf(pieces)
	if err := d.bounded(size, bounds); err != nil {
		return events.DocumentUpdated{}, "", err
	}
	updated := d.merge(w, pieces)
	for _, entry := range seen {
		updated.Replaced = append(updated.Replaced, entry.ID)
	}
	args := d.layout.Args(Place{updated.Section, updated.Slot})
	updated.ChangeDescription = fmt.Sprintf("%s merged %s of %s into entry %d", w.Author, entriesNamed(seen), args, updated.EntryID)
	return updated, consolidated(updated, args, seen, unseen), nil
}

// candidates parts the live entries of a slot into those the facilitator may
// replace and those it has not seen.
func (d *Document) candidates(p Place, shown func(events.EntryID) bool) (seen, unseen []Entry, err error) {
	for _, entry := range d.Entries(p) {
		if shown(entry.ID) {
			seen = append(seen, entry)
		} else {
			unseen = append(unseen, entry)
		}
	}
	args := d.layout.Args(d.spelled(p))
	if len(unseen) == 0 && len(seen) == 0 {
		return nil, nil, refuse("There is nothing in %s to consolidate. %s", args, d.whereEntriesAre())
	}
	if len(seen) == 0 {
		return nil, nil, refuse("You have not read %s yet, which has %s: call read_document with %s first.", args, tagged(unseen), args)
	}
	return seen, unseen, nil
}

// whereEntriesAre helps a model that aimed at an empty slot.
func (d *Document) whereEntriesAre() string {
	if d.Version() == 0 {
		return "The document is empty: dispatch specialists first."
	}
	var filled []string
	for _, p := range d.Places() {
		filled = append(filled, d.layout.Args(p))
	}
	return fmt.Sprintf("Entries are in: %s.", listBy("; ", filled))
}

// referable checks that the content refers to entries that may be, each once.
func (d *Document) referable(p Place, pieces []piece, seen, unseen []Entry) error {
	allowed := make(map[events.EntryID]bool, len(seen))
	for _, entry := range seen {
		allowed[entry.ID] = true
	}
	used := map[events.EntryID]bool{}
	for _, piece := range pieces {
		switch {
		case piece.entry == 0:
		case !allowed[piece.entry]:
			problem := refuse("Nothing was written: entry %d is not one that you have read in %s. Refer to: %s.",
				piece.entry, d.layout.Args(d.spelled(p)), tagged(seen))
			if len(unseen) == 0 {
				return problem
			}
			return refuse("%v Not read yet: %s; call read_document first to refer to them.", problem, tagged(unseen))
		case used[piece.entry]:
			return refuse("Nothing was written: {{entry:%d}} stands there twice. Refer to each entry once.", piece.entry)
		default:
			used[piece.entry] = true
		}
	}
	return nil
}

// charsOf is the length of the pieces with references resolved, in characters.
func (d *Document) charsOf(pieces []piece) int {
	size := 0
	for _, piece := range pieces {
		if piece.entry != 0 {
			size += chars.Count(d.entries[piece.entry-1].Content)
		}
		size += chars.Count(piece.text)
	}
	return size
}

// merge resolves the references and records where each came from.
func (d *Document) merge(w Write, pieces []piece) events.DocumentUpdated {
	var text strings.Builder
	var spans []events.Span
	var merged []events.EntryID
	for _, piece := range pieces {
		text.WriteString(piece.text)
		if piece.entry != 0 {
			start := text.Len()
			text.WriteString(d.entries[piece.entry-1].Content)
			spans = append(spans, events.Span{Start: start, End: text.Len(), Entry: piece.entry})
			merged = append(merged, piece.entry)
		}
	}
	updated := d.next(w, text.String())
	updated.Spans, updated.Merged = spans, merged
	return updated
}

// consolidated tells the facilitator what stands now and what is left to do.
func consolidated(updated events.DocumentUpdated, args string, seen, unseen []Entry) string {
	text := fmt.Sprintf("Entry %d now stands for %s in %s.", updated.EntryID, entriesNamed(seen), args)
	if len(unseen) > 0 {
		text += fmt.Sprintf(" Not merged, because you have not read them: %s. Call read_document with %s, then consolidate again.", tagged(unseen), args)
	}
	return text
}

// entriesNamed is "entry 3" or "entries 3, 4".
func entriesNamed(entries []Entry) string {
	ids := make([]events.EntryID, len(entries))
	for i, entry := range entries {
		ids[i] = entry.ID
	}
	if len(ids) == 1 {
		return fmt.Sprintf("entry %d", ids[0])
	}
	return "entries " + list(ids)
}

// tagged is "entry 3 [food], entry 4 [logistics]".
func tagged(entries []Entry) string {
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = fmt.Sprintf("entry %d [%s]", entry.ID, entry.Author)
	}
	return list(names)
}
