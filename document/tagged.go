package document

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/convene-run/convene/events"
)

const (
	// DefaultReadBudget is about six thousand tokens: a reader can take several such
	// answers before its history must be compacted.
	DefaultReadBudget = 24_000
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
	// Defaults to [DefaultReadBudget].
	Budget int
}

// RenderTagged writes the document for agents: for each slot a heading that names
// it the way a tool call does, then its live entries, each with its author and id.
//
//	## day=1 time_slot=morning
//	[food] (entry 12)
//	Breakfast at the market.
//
// Past the budget entries are clipped, each by its fair share, and say how much
// is left and how to read it. shown are the ids of the entries that stand there
// whole: only those has the reader seen.
func (d *Document) RenderTagged(q Query) (text string, shown []events.EntryID) {
	entries := d.selected(q.Place)
	if len(entries) == 0 {
		return d.nothing(q.Place), nil
	}
	oneSlot := entries[0].Place == entries[len(entries)-1].Place
	budget := orDefault(q.Budget, DefaultReadBudget)
	fitting := min(len(entries), max(1, budget/(clippedChars+tagChars)))
	chars := shares(entries[:fitting], budget-fitting*tagChars, oneSlot)
	var out strings.Builder
	for i, entry := range entries[:fitting] {
		if i > 0 {
			out.WriteByte('\n')
		}
		if i == 0 || entry.Place != entries[i-1].Place {
			fmt.Fprintf(&out, "## %s\n", d.layout.Args(entry.Place))
		}
		head, more := cut(entry.Content, chars[i])
		fmt.Fprintf(&out, "[%s] (entry %d)\n%s\n", entry.Author, entry.ID, head)
		if more == 0 {
			shown = append(shown, entry.ID)
		} else {
			fmt.Fprintf(&out, "… (%d more characters. %s)\n", more, d.howToRead(entry.Place, oneSlot))
		}
	}
	out.WriteString(d.notShown(entries[fitting:], oneSlot))
	return out.String(), shown
}

// selected are the live entries at the places that fit the filter, in the order
// of the document.
func (d *Document) selected(filter Place) []Entry {
	want := d.layout.key(filter)
	var entries []Entry
	for _, p := range d.Places() {
		key := d.layout.key(p)
		if (want.Section == "" || want.Section == key.Section) && (want.Slot == "" || want.Slot == key.Slot) {
			entries = append(entries, d.Entries(p)...)
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

// shares gives the characters to show of each entry, together about budget. In
// one slot entries are whole, the first one always, as long as there is room, so
// that consolidating them makes room for the rest; over several slots the long
// ones are cut to the same length.
func shares(entries []Entry, budget int, oneSlot bool) []int {
	lengths := make([]int, len(entries))
	for i, entry := range entries {
		lengths[i] = utf8.RuneCountInString(entry.Content)
	}
	if !oneSlot {
		share := max(clippedChars, fairShare(lengths, budget))
		return fill(lengths, func(_, length int) bool { return length <= share+tagChars }, share)
	}
	return fill(lengths, func(i, length int) bool {
		whole := i == 0 || length <= max(budget, clippedChars)
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

// cut parts text behind that many characters and counts those that follow.
func cut(text string, chars int) (head string, more int) {
	if len(text) <= chars {
		return text, 0
	}
	for at := range text {
		if chars == 0 {
			return text[:at], utf8.RuneCountInString(text[at:])
		}
		chars--
	}
	return text, 0
}

// howToRead tells how to see a clipped entry whole.
func (d *Document) howToRead(p Place, oneSlot bool) string {
	if oneSlot {
		return "It is shown whole once the entries above are consolidated."
	}
	return fmt.Sprintf("To read it whole: read_document with %s.", d.layout.Args(p))
}

// notShown says how to read the entries that are not in the answer at all.
func (d *Document) notShown(left []Entry, oneSlot bool) string {
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
