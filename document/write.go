package document

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/convene-run/convene/events"
)

const (
	// DefaultMaxEntryBytes is more than a model writes in one call that goes well,
	// and a size that a reader's window takes whole.
	DefaultMaxEntryBytes = 64 << 10
	// DefaultMaxDocumentBytes is more than a model can read at once, so only a run
	// out of hand meets it.
	DefaultMaxDocumentBytes = 1 << 20
	// DefaultMaxEntries leaves each of the default twenty tasks fifty entries.
	DefaultMaxEntries = 1000
)

// The bounds by name, as events and team files know them.
const (
	LimitEntryBytes    events.Limit = "max_entry_bytes"
	LimitDocumentBytes events.Limit = "max_document_bytes"
	LimitEntries       events.Limit = "max_entries"
)

// Bounds keep a document from growing past use. They count what was replaced,
// too: the log keeps it, and a slot cannot be consolidated for ever.
type Bounds struct {
	// MaxEntryBytes bounds one entry. Defaults to [DefaultMaxEntryBytes].
	MaxEntryBytes int
	// MaxDocumentBytes bounds all entries written in a run together. Defaults to
	// [DefaultMaxDocumentBytes].
	MaxDocumentBytes int
	// MaxEntries bounds the number of entries written in a run. Defaults to
	// [DefaultMaxEntries].
	MaxEntries int
}

// LimitError says that a write would pass one of the [Bounds].
type LimitError struct {
	Limit events.Limit
	// Max is the bound, Used what the write would have reached.
	Max, Used int
}

func (e *LimitError) Error() string {
	advice := "Finish with what the document holds."
	if e.Limit == LimitEntryBytes {
		advice = "Write a shorter text, or several entries."
	}
	return fmt.Sprintf("Nothing was written: %s is %d, this would make %d. %s", e.Limit, e.Max, e.Used, advice)
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
	if err := d.bounded(len(content), bounds); err != nil {
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

// bounded checks the write of one more entry of that size.
func (d *Document) bounded(size int, b Bounds) error {
	if err := b.entry(size); err != nil {
		return err
	}
	if limit, count := orDefault(b.MaxEntries, DefaultMaxEntries), len(d.entries)+1; count > limit {
		return &LimitError{LimitEntries, limit, count}
	}
	if limit, total := orDefault(b.MaxDocumentBytes, DefaultMaxDocumentBytes), d.writtenBytes+size; total > limit {
		return &LimitError{LimitDocumentBytes, limit, total}
	}
	return nil
}

// entry checks the size of one entry.
func (b Bounds) entry(size int) error {
	if limit := orDefault(b.MaxEntryBytes, DefaultMaxEntryBytes); size > limit {
		return &LimitError{LimitEntryBytes, limit, size}
	}
	return nil
}

func orDefault(value, fallback int) int {
	if value == 0 {
		return fallback
	}
	return value
}
