package document

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/convene-run/convene/events"
)

const (
	// DefaultMaxEntryBytes is about ten thousand tokens: more than a model writes in
	// one call that goes well, and a size that a reader's window can take whole.
	DefaultMaxEntryBytes = 48 << 10
	// DefaultMaxDocumentBytes is more than a model can read at once, so only a run
	// out of hand meets it.
	DefaultMaxDocumentBytes = 2 << 20
	// DefaultMaxEntries leaves each of the default twenty tasks fifty entries.
	DefaultMaxEntries = 1000
	// historyFactor bounds all that was ever written, replaced entries too, in
	// multiples of what the document may hold at once: a slot may be consolidated
	// several times over, not for ever.
	historyFactor = 4
)

// Bounds keep a document from growing past use.
type Bounds struct {
	// MaxEntryBytes bounds one entry. Defaults to [DefaultMaxEntryBytes].
	MaxEntryBytes int
	// MaxDocumentBytes bounds the live entries together. Defaults to
	// [DefaultMaxDocumentBytes].
	MaxDocumentBytes int
	// MaxEntries bounds the number of live entries. Defaults to [DefaultMaxEntries].
	MaxEntries int
}

// LimitError says that a write would pass one of the [Bounds].
type LimitError struct {
	// Limit is the bound's name: max_entry_bytes, max_document_bytes, max_entries.
	Limit string
	// Max is the bound, Used what the write would have reached.
	Max, Used int
	// Advice tells the model what to do.
	Advice string
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("Nothing was written: %s is %d, this would make %d. %s", e.Limit, e.Max, e.Used, e.Advice)
}

// Write is what an agent wants to put into a slot.
type Write struct {
	Author events.AgentID
	Place
	Content string
	// Tasks and ModelCall are the sources to record: what the author works on and
	// the model call that wrote the text.
	Tasks     []events.TaskID
	ModelCall events.ModelCallID
}

// Append decides a specialist's write: one more entry in the slot, beside all
// that is there. Blank lines around the content are cut off. The error is for
// the model; past a bound it is a [*LimitError].
func (d *Document) Append(w Write, bounds Bounds) (events.DocumentUpdated, error) {
	content, err := readContent(w.Content)
	if err != nil {
		return events.DocumentUpdated{}, err
	}
	if err := d.layout.check(w.Place); err != nil {
		return events.DocumentUpdated{}, err
	}
	if err := d.bounded(len(content), 1, len(content), bounds); err != nil {
		return events.DocumentUpdated{}, err
	}
	updated := d.next(w, content)
	updated.ChangeDescription = fmt.Sprintf("%s wrote entry %d in %s", w.Author, updated.EntryID, d.layout.Args(d.spelled(w.Place)))
	return updated, nil
}

// next is the event of the next entry, without what only a consolidation has.
func (d *Document) next(w Write, content string) events.DocumentUpdated {
	p := d.spelled(w.Place)
	n := len(d.entries) + 1
	return events.DocumentUpdated{
		Version: n, EntryID: events.EntryID(n), Author: w.Author, Content: content,
		Section: p.Section, Slot: p.Slot, Tasks: w.Tasks, ModelCall: w.ModelCall,
	}
}

// readContent trims what a model wrote and refuses what no text may be.
func readContent(content string) (string, error) {
	if !utf8.ValidString(content) || strings.IndexByte(content, 0) >= 0 {
		return "", refuse("Nothing was written: content is not valid UTF-8 or contains a NUL character. Write it again as plain text.")
	}
	if content = trimBlankLines(content); content == "" {
		return "", refuse("Nothing was written: content is empty. Give the text to write.")
	}
	return content, nil
}

// trimBlankLines keeps the indentation of the first line: it means something in
// Markdown.
func trimBlankLines(text string) string {
	text = strings.TrimRight(text, " \t\r\n")
	for {
		line, rest, more := strings.Cut(text, "\n")
		if !more || strings.TrimSpace(line) != "" {
			return text
		}
		text = rest
	}
}

// bounded checks a write of one entry of size bytes that changes the number of
// live entries and their bytes by these.
func (d *Document) bounded(size, entries, bytes int, b Bounds) error {
	if err := b.entry(size); err != nil {
		return err
	}
	maxDocument := orDefault(b.MaxDocumentBytes, DefaultMaxDocumentBytes)
	maxEntries := orDefault(b.MaxEntries, DefaultMaxEntries)
	switch {
	case entries > 0 && d.live+entries > maxEntries:
		return &LimitError{"max_entries", maxEntries, d.live + entries, "The document is full: finish with what is there."}
	case bytes > 0 && d.liveBytes+bytes > maxDocument:
		return &LimitError{"max_document_bytes", maxDocument, d.liveBytes + bytes, "The document is full: finish with what is there."}
	case len(d.entries)+1 > historyFactor*maxEntries:
		return &LimitError{"max_entries", historyFactor * maxEntries, len(d.entries) + 1, "The document was changed too often: finish with what is there."}
	case d.writtenBytes+size > historyFactor*maxDocument:
		return &LimitError{"max_document_bytes", historyFactor * maxDocument, d.writtenBytes + size, "The document was changed too often: finish with what is there."}
	}
	return nil
}

// entry checks the size of one entry.
func (b Bounds) entry(size int) error {
	if limit := orDefault(b.MaxEntryBytes, DefaultMaxEntryBytes); size > limit {
		return &LimitError{"max_entry_bytes", limit, size, "Write a shorter text, or several entries."}
	}
	return nil
}

func orDefault(value, fallback int) int {
	if value == 0 {
		return fallback
	}
	return value
}
