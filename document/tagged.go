package document

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/quote"
)

const (
	// clippedChars is the least that is shown of an entry: enough to tell what it is
	// about.
	clippedChars = 80
	// tagChars is about what an entry costs beside its text.
	tagChars = 60
)

// Query says what to read of a document.
type Query struct {
	// Place narrows to a section, a slot, or one slot of one section; an empty field
	// does not narrow. [Layout.Filter] makes it of a tool call's arguments.
	Place
	// Budget bounds the characters of the answer, roughly: tags are estimated, and
	// the first entry of a slot that is read by itself is shown whole.
	// 0 is no bound.
	Budget int
	// Most bounds the characters of the answer that its reader is given: an entry that
	// goes beyond it alone is never shown whole, and says so. 0 is no bound.
	Most int
}

// Shown is an entry that a rendering shows whole: it ends before the byte End of it.
type Shown struct {
	Entry events.EntryID
	End   int
}

// RenderTagged writes the document for agents: for each slot a heading that names
// it the way a tool call does, then its live entries, each with its author and id.
// The text of an entry is quoted, so that it cannot pass for another entry.
//
//	## day=1 time_slot=morning
//	[food] (entry 12)
//	> Breakfast at the market.
//
// Past the budget entries are clipped, each by its fair share, and say how much
// is left and how to read it. shown are the entries that stand there whole: only
// those has the reader seen.
func (d *Document) RenderTagged(q Query) (text string, shown []Shown) {
	entries := d.selected(q.Place)
	if len(entries) == 0 {
		return d.nothing(q.Place), nil
	}
	oneSlot := entries[0].Place == entries[len(entries)-1].Place
	budget := cmp.Or(q.Budget, math.MaxInt32)
	fitting := min(len(entries), max(1, budget/(clippedChars+tagChars)))
	texts := make([]string, fitting)
	for i, entry := range entries[:fitting] {
		texts[i] = quote.Lines(entry.Content)
	}
	tooLong := q.Most > 0 && oneSlot && chars.Count(d.heading(entries[0])+texts[0]) > q.Most
	lengths := shares(texts, budget-fitting*tagChars, oneSlot, tooLong)
	var out strings.Builder
	out.Grow(room(lengths, texts))
	for i, entry := range entries[:fitting] {
		if i > 0 {
			out.WriteByte('\n')
		}
		if i == 0 || entry.Place != entries[i-1].Place {
			writeAll(&out, "## ", d.layout.Args(entry.Place), "\n")
		}
		head, more := chars.Cut(texts[i], lengths[i])
		writeAll(&out, "[", string(entry.Author), "] (entry ", strconv.Itoa(int(entry.ID)), ")", d.support(entry.ID), "\n", head, "\n")
		switch {
		case more == 0:
			shown = append(shown, Shown{entry.ID, out.Len() - len("\n")})
		case i == 0 && tooLong:
			fmt.Fprintf(&out, "… (%d more characters. It is longer than a reading can be, and stays as it is.)\n", more)
		default:
			fmt.Fprintf(&out, "… (%d more characters. %s)\n", more, d.howToRead(entry.Place, oneSlot))
		}
	}
	out.WriteString(d.notShown(entries[fitting:], oneSlot))
	return out.String(), shown
}

// room is about the bytes of an answer that shows so many characters of each text.
func room(lengths []int, texts []string) int {
	size := 0
	for i, text := range texts {
		size += min(lengths[i], len(text)) + 2*tagChars
	}
	return size
}

// selected are the live entries at the places that fit the filter, in the order
// of the document.
func (d *Document) selected(filter Place) []*Entry {
	want := d.layout.key(filter)
	entries := make([]*Entry, 0, len(d.entries))
	for _, p := range d.order {
		key := d.layout.key(p)
		if (want.Section == "" || want.Section == key.Section) && (want.Slot == "" || want.Slot == key.Slot) {
			for _, id := range d.slots[key].live {
				entries = append(entries, &d.entries[id-1])
			}
		}
	}
	return entries
}

// nothing says what an empty answer means.
func (d *Document) nothing(filter Place) string {
	if d.Version() == 0 {
		return "The document is empty."
	}
	return "Nothing is written there yet. " + d.whereEntriesAre()
}

// heading is what stands above the first entry of an answer.
func (d *Document) heading(entry *Entry) string {
	return fmt.Sprintf("## %s\n[%s] (entry %d)\n", d.layout.Args(entry.Place), entry.Author, entry.ID)
}

// shares gives the characters to show of each text, together about budget. In
// one slot entries are whole, the first one always unless it is too long for any
// answer, as long as there is room, so that consolidating them makes room for the
// rest; over several slots the long ones are cut to the same length.
func shares(texts []string, budget int, oneSlot, tooLong bool) []int {
	lengths := make([]int, len(texts))
	for i, text := range texts {
		lengths[i] = utf8.RuneCountInString(text)
	}
	if !oneSlot {
		share := max(clippedChars, fairShare(lengths, budget))
		return fill(lengths, func(_, length int) bool { return length <= share+tagChars }, share)
	}
	return fill(lengths, func(i, length int) bool {
		whole := length <= max(budget, clippedChars)
		if i == 0 {
			whole = !tooLong
		}
		if whole {
			budget -= length
		}
		return whole
	}, clippedChars)
}

// fill gives each its length where it may be whole, else share.
func fill(lengths []int, whole func(i, length int) bool, share int) []int {
	chars := make([]int, len(lengths))
	for i, length := range lengths {
		chars[i] = share
		if whole(i, length) {
			chars[i] = length
		}
	}
	return chars
}

// fairShare is the length to cut to, so that the sum is at most budget: what the
// short ones leave is shared by the long ones.
func fairShare(lengths []int, budget int) int {
	ascending := slices.Sorted(slices.Values(lengths))
	for i, length := range ascending {
		if share := budget / (len(ascending) - i); length > share {
			return share
		}
		budget -= length
	}
	return math.MaxInt - tagChars
}

// howToRead tells how to see a clipped entry whole.
func (d *Document) howToRead(p Place, oneSlot bool) string {
	if oneSlot {
		return "It is shown whole once the entries above are consolidated."
	}
	return fmt.Sprintf("To read it whole: read_document with %s.", d.layout.Args(p))
}

// notShown says how to read the entries that are not in the answer at all.
func (d *Document) notShown(left []*Entry, oneSlot bool) string {
	if len(left) == 0 {
		return ""
	}
	if oneSlot {
		return fmt.Sprintf("\n(%d more entries are shown once those above are consolidated.)\n", len(left))
	}
	var places []string
	for i, entry := range left {
		if i == 0 || entry.Place != left[i-1].Place {
			places = append(places, d.layout.Args(entry.Place))
		}
	}
	return fmt.Sprintf("\n(%d more entries are not shown. To read them: read_document with %s.)\n", len(left), listBy("; or ", places))
}
