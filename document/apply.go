package document

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/convene-run/convene/events"
)

// Apply folds one event of the run. Kinds that say nothing about the document
// change nothing. An event that does not fit the document is an error and leaves
// it as it was: the log is damaged, events were skipped or given twice, or the
// layout is another one.
func (d *Document) Apply(env events.Envelope) error {
	var err error
	switch e := env.Data.(type) {
	case events.DocumentUpdated:
		if err = d.fits(env, e); err == nil {
			d.run = env.Run
			d.add(entryOf(env, e))
		}
	case nil:
		err = errors.New("it has no data")
	}
	if err != nil {
		return fmt.Errorf("fold document run=%s seq=%d: %w", env.Run, env.Seq, err)
	}
	return nil
}

func entryOf(env events.Envelope, e events.DocumentUpdated) Entry {
	return Entry{
		ID: e.EntryID, Place: Place{Section: e.Section, Slot: e.Slot},
		Author: e.Author, Content: e.Content, Time: env.Time, Change: e.ChangeDescription,
		Tasks: e.Tasks, ModelCall: e.ModelCall,
		Replaced: e.Replaced, Merged: e.Merged, Spans: e.Spans,
		Sources: e.Sources, Unsupported: e.Unsupported,
	}
}

// fits reports what keeps the event from being the document's next change.
func (d *Document) fits(env events.Envelope, e events.DocumentUpdated) error {
	next := len(d.entries) + 1
	switch {
	case next > 1 && env.Run != d.run:
		return fmt.Errorf("the document is that of run %s", d.run)
	case e.Version != next:
		return fmt.Errorf("document_updated has version %d where version %d is next", e.Version, next)
	case int(e.EntryID) != next:
		return fmt.Errorf("document_updated has entry %d where entry %d is next", e.EntryID, next)
	}
	p := Place{Section: e.Section, Slot: e.Slot}
	if err := d.layout.check(p); err != nil {
		return fmt.Errorf("document_updated of entry %d: %w", e.EntryID, err)
	}
	replaced, err := d.fitReplaced(p, e.Replaced)
	if err != nil {
		return err
	}
	merged := make(map[events.EntryID]bool, len(e.Merged))
	for _, id := range e.Merged {
		if !replaced[id] || merged[id] {
			return fmt.Errorf("document_updated of entry %d merges entry %d, which it does not replace, or merges twice", e.EntryID, id)
		}
		merged[id] = true
	}
	return d.fitSpans(e, merged)
}

// fitReplaced checks that the entries are live ones of the slot, each named once.
func (d *Document) fitReplaced(p Place, ids []events.EntryID) (map[events.EntryID]bool, error) {
	replaced := make(map[events.EntryID]bool, len(ids))
	for _, id := range ids {
		old, known := d.Entry(id)
		switch {
		case !known:
			return nil, fmt.Errorf("document_updated replaces entry %d, the document has %d", id, len(d.entries))
		case old.ReplacedBy != 0 || replaced[id]:
			return nil, fmt.Errorf("document_updated replaces entry %d, which is already replaced", id)
		case d.layout.key(old.Place) != d.layout.key(p):
			return nil, fmt.Errorf("document_updated replaces entry %d, which is in another slot", id)
		}
		replaced[id] = true
	}
	return replaced, nil
}

// fitSpans checks that the spans are ordered, apart, and repeat the text of
// entries that are merged.
func (d *Document) fitSpans(e events.DocumentUpdated, merged map[events.EntryID]bool) error {
	end := 0
	for _, span := range e.Spans {
		if span.Start < end || span.End < span.Start || span.End > len(e.Content) || !merged[span.Entry] {
			return fmt.Errorf("document_updated of entry %d has span %d to %d of entry %d, which does not fit", e.EntryID, span.Start, span.End, span.Entry)
		}
		if e.Content[span.Start:span.End] != d.entries[span.Entry-1].Content {
			return fmt.Errorf("document_updated of entry %d has span %d to %d, which is not the text of entry %d", e.EntryID, span.Start, span.End, span.Entry)
		}
		end = span.End
	}
	if !utf8.ValidString(e.Content) {
		return fmt.Errorf("document_updated of entry %d is not valid UTF-8", e.EntryID)
	}
	return nil
}
