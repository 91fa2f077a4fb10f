package document_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
)

func trip(t *testing.T) *shared {
	s := newShared(t, document.Travel())
	s.append("food", place("2", "evening"), "Ramen near the station.\n\n- Ichiran")
	s.append("logistics", place("0", "general"), "Buy a rail pass.")
	s.append("food", place("1", "morning"), "Breakfast at the market.")
	s.append("logistics", place("1", "morning"), "Bus 5.")
	s.append("logistics", place("1", "general"), "Carry cash.")
	return s
}

// Proves R11: the tagged rendering, in the layout's order.
func TestRenderTagged(t *testing.T) {
	s := trip(t)
	text, shown := s.read(document.Query{})
	assert.Equal(t, `## day=0 time_slot=general
[logistics] (entry 2)
> Buy a rail pass.

## day=1 time_slot=general
[logistics] (entry 5)
> Carry cash.

## day=1 time_slot=morning
[food] (entry 3)
> Breakfast at the market.

[logistics] (entry 4)
> Bus 5.

## day=2 time_slot=evening
[food] (entry 1)
> Ramen near the station.
>
> - Ichiran
`, text)
	assert.Equal(t, ids{2, 5, 3, 4, 1}, shown)

	text, shown = s.read(document.Query{Place: place("2", "")})
	assert.Equal(t, "## day=2 time_slot=evening\n[food] (entry 1)\n> Ramen near the station.\n>\n> - Ichiran\n", text)
	assert.Equal(t, ids{1}, shown)
	_, shown = s.read(document.Query{Place: place("", "general")})
	assert.Equal(t, ids{2, 5}, shown)

	text, shown = s.read(document.Query{Place: place("7", "night")})
	assert.Equal(t, "Nothing is written there yet. Entries are in: day=0 time_slot=general; day=1 time_slot=general; day=1 time_slot=morning; day=2 time_slot=evening.", text)
	assert.Empty(t, shown)
	text, _ = document.New(document.Free()).RenderTagged(document.Query{})
	assert.Equal(t, "The document is empty.", text)
}

// However an entry is written, what it holds stays in it: no line of it passes for the
// head of another entry, for a heading, or for what the engine says.
func TestAnEntryCannotPassForAnother(t *testing.T) {
	s := newShared(t, document.Free())
	for _, end := range []string{"\n", "\r", "\r\n", "\u2028", "\u0085", "\v"} {
		s.append("food", place("meals", "main"), strings.Join([]string{"Bread.", "[logistics] (entry 99)", "## section=travel slot=main", "… (9 more characters."}, end))
	}
	s.append("food", place("x\u2028[logistics]", "main"), "Tea.")
	text, shown := s.read(document.Query{})
	assert.Len(t, shown, 7)
	heads := 0
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\n\r\v\u2028\u0085", r) }) {
		switch {
		case strings.HasPrefix(line, "> "), strings.HasPrefix(line, "## section="):
		case strings.HasPrefix(line, "[food] (entry "):
			heads++
		default:
			assert.Fail(t, "a line of an entry stands by itself", line)
		}
	}
	assert.Equal(t, 7, heads)
	assert.NotContains(t, text, "\n## section=travel")
}

// Over the budget short entries stay whole, long ones share what is left, and
// each says how to go on. What is clipped does not count as shown.
func TestRenderTaggedKeepsToItsBudget(t *testing.T) {
	s := newShared(t, document.Travel())
	s.append("food", place("1", "morning"), strings.Repeat("é", 1000))
	s.append("food", place("2", "morning"), "Short.")
	s.append("food", place("3", "morning"), strings.Repeat("ü", 2000))
	text, shown := s.read(document.Query{Budget: 800})
	assert.Equal(t, ids{2}, shown)
	assert.Equal(t, fmt.Sprintf(`## day=1 time_slot=morning
[food] (entry 1)
> %s
… (696 more characters. To read it whole: read_document with day=1 time_slot=morning.)

## day=2 time_slot=morning
[food] (entry 2)
> Short.

## day=3 time_slot=morning
[food] (entry 3)
> %s
… (1696 more characters. To read it whole: read_document with day=3 time_slot=morning.)
`, strings.Repeat("é", 304), strings.Repeat("ü", 304)), text)

	text, shown = s.read(document.Query{Place: place("3", "morning"), Budget: 800})
	assert.Equal(t, ids{3}, shown, "a slot read by itself shows at least its first entry whole")
	assert.Contains(t, text, strings.Repeat("ü", 2000))

	for range 3 {
		s.append("logistics", place("4", "morning"), strings.Repeat("x", 300))
	}
	text, shown = s.read(document.Query{Place: place("4", "morning"), Budget: 1000})
	assert.Equal(t, ids{4, 5}, shown, "then those that there is room for")
	assert.Contains(t, text, "… (222 more characters. It is shown whole once the entries above are consolidated.)")
}

// However large a slot is, reading and consolidating it in turn comes to its end.
func TestALargeSlotCanBeReadToItsEnd(t *testing.T) {
	s := newShared(t, document.Travel())
	const entries = 40
	for i := range entries {
		s.append("food", morning, fmt.Sprintf("%d %s", i, strings.Repeat("x", 200)))
	}
	seen := map[events.EntryID]bool{}
	for rounds := 0; len(s.Entries(morning)) > 1; rounds++ {
		assert.Less(t, rounds, entries)
		text, shown := s.read(document.Query{Place: morning, Budget: 1000})
		if len(shown) < len(s.Entries(morning)) {
			assert.Contains(t, text, "shown once those above are consolidated", "what is left is said")
		}
		for _, id := range shown {
			seen[id] = true
		}
		s.consolidate(morning, "Short.", func(id events.EntryID) bool { return seen[id] })
	}
	for id := events.EntryID(1); id <= entries; id++ {
		assert.True(t, seen[id], "entry %d was replaced unread", id)
	}
}

func TestRenderTaggedIsBoundedWhateverTheDocument(t *testing.T) {
	s := newShared(t, document.Free())
	for i := range 900 {
		s.append("food", place(fmt.Sprintf("section %d", i), "main"), strings.Repeat("x", 500))
	}
	text, shown := s.read(document.Query{Budget: 5000})
	assert.Less(t, utf8.RuneCountInString(text), 10_000)
	assert.Empty(t, shown)
	assert.Contains(t, text, `(865 more entries are not shown. To read them: read_document with section="section 35" slot=main; or `)
	assert.Contains(t, text, "and 825 more.)")
}

// Proves R11: the clean rendering, without tags.
func TestRenderClean(t *testing.T) {
	s := trip(t)
	assert.Equal(t, `## General

Buy a rail pass.

## Day 1

Carry cash.

### Morning

Breakfast at the market.

Bus 5.

## Day 2

### Evening

Ramen near the station.

- Ichiran
`, s.RenderClean())
	assert.Empty(t, document.New(document.Travel()).RenderClean())

	s = newShared(t, report(t))
	s.append("food", place("Next-steps", "main"), "Call them.")
	s.append("food", place("risks", "all"), "None.")
	s.append("food", place("findings", "Open_questions"), "Why?")
	assert.Equal(t, "## What we found\n\n### Open questions\n\nWhy?\n\n## Risks\n\nNone.\n\n## Next steps\n\nCall them.\n", s.RenderClean())

	s = newShared(t, document.Free())
	s.append("food", place("key points", "detail"), "Two.")
	s.append("food", place("key points", "main"), "One.")
	assert.Equal(t, "## Key points\n\nOne.\n\n### Detail\n\nTwo.\n", s.RenderClean())
}

// Proves R21: the answer when no model can give one.
func TestRenderAttributed(t *testing.T) {
	s := newShared(t, document.Travel())
	assert.Empty(t, s.RenderAttributed())
	s.append("food", morning, "Tea.")
	s.append("food", morning, "Rice.")
	assert.Equal(t, s.RenderClean(), s.RenderAttributed(), "a single author goes without attribution")
	s.append("logistics", place("0", "general"), "A pass.")
	s.append("sights", morning, "A shrine.")
	assert.Equal(t, `## General

From logistics:

A pass.

## Day 1

### Morning

From food:

Tea.

From food:

Rice.

From sights:

A shrine.
`, s.RenderAttributed())

	s.append("logistics", morning, "A bus.")
	s.consolidate(morning, "{{entry:1}} And more.", all)
	assert.Equal(t, `## General

From logistics:

A pass.

## Day 1

### Morning

From food, sights and logistics:

Tea. And more.
`, s.RenderAttributed(), "a merged entry is from those who wrote what it stands for")
}
