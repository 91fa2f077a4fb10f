package document

import (
	"strconv"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/lazyregexp"
)

// piece is a stretch of what a facilitator wrote, or a reference to an entry.
type piece struct {
	text  string
	entry events.EntryID
}

var (
	// attempt finds what is meant as a reference, well formed or not; text that
	// happens to hold other braces, as a template does, is left alone.
	attempt = lazyregexp.New(`(?i)\{\{\s{0,8}entry\s{0,8}(?:[:#=]|_?\d)`)
	// reference is what counts as one: the form that prompts teach, and near misses
	// that cannot be misread.
	reference = lazyregexp.New(`(?i)^\{\{\s{0,8}entry\s{0,8}[:#=_]?\s{0,8}#?(\d{1,9})\s{0,8}\}\}`)
)

// referenceBytes bounds the text that one reference is looked for in.
const referenceBytes = 80

// cutReferences parts content into text and references. References in the texts
// of entries are not followed: an entry's text is taken as it is.
func cutReferences(content string) ([]piece, error) {
	var pieces []piece
	done := 0
	for _, at := range attempt.FindAllStringIndex(content, -1) {
		start := at[0]
		window := content[start:min(len(content), start+referenceBytes)]
		match := reference.FindStringSubmatch(window)
		if match == nil {
			return nil, refuse("Nothing was written: %.24q is no reference to an entry. Write {{entry:12}} for the text of entry 12.", window)
		}
		id, err := strconv.Atoi(match[1])
		if err != nil || id == 0 {
			return nil, refuse("Nothing was written: there is no entry %s.", match[1])
		}
		if start > done {
			pieces = append(pieces, piece{text: content[done:start]})
		}
		pieces = append(pieces, piece{entry: events.EntryID(id)})
		done = start + len(match[0])
	}
	if done < len(content) {
		pieces = append(pieces, piece{text: content[done:]})
	}
	return pieces, nil
}
