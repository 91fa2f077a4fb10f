package document

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
)

// Bounds keep a document from growing past use. They count what was replaced,
// too: the log keeps it, and a slot cannot be consolidated indefinitely. 0 is no bound.
type Bounds struct {
	// MaxEntryChars bounds one entry.
	MaxEntryChars int
	// MaxDocumentChars bounds all entries written in a run together.
	MaxDocumentChars int
	// MaxEntries bounds the number of entries written in a run.
	MaxEntries int
}

// within refuses a write that would pass one of the [Bounds].
func within(limit events.Limit, bound, used int, advice string) error {
	if bound == 0 || used <= bound {
		return nil
	}
	return &events.LimitError{
		Limit: limit, Value: float64(bound), Used: float64(used),
		Advice: fmt.Sprintf("Nothing was written: %s is %d, this would make %d. %s", limit, bound, used, advice),
	}
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
// the model; past a bound it is an [*events.LimitError].
func (d *Document) Append(w Write, bounds Bounds) (events.DocumentUpdated, error) {
	content, err := readContent(w.Content)
	if err != nil {
		return events.DocumentUpdated{}, err
	}
	if err := d.layout.check(w.Place); err != nil {
		return events.DocumentUpdated{}, err
	}
	if err := d.bounded(chars.Count(content), bounds); err != nil {
		return events.DocumentUpdated{}, err
	}
	updated := d.next(w, content)
	updated.ChangeDescription = string(w.Author) + " wrote entry " + strconv.Itoa(int(updated.EntryID)) + " in " + d.layout.Args(d.spelled(w.Place))
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
	const finish = "Finish with what the document holds."
	if err := b.entry(size); err != nil {
		return err
	}
	if err := within(events.LimitMaxEntries, b.MaxEntries, len(d.entries)+1, finish); err != nil {
		return err
	}
	return within(events.LimitMaxDocumentChars, b.MaxDocumentChars, d.writtenChars+size, finish)
}

// entry checks the size of one entry.
func (b Bounds) entry(size int) error {
	return within(events.LimitMaxEntryChars, b.MaxEntryChars, size, "Write a shorter text, or several entries.")
}
