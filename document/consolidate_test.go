package document_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
)

var morning = place("1", "morning")

// candidates is a trip with three entries in the morning of day 1 and one at night.
func candidates(t require.TestingT) *shared {
	s := newShared(t, document.Travel())
	s.append("food", morning, "Breakfast at the market.")
	s.append("logistics", morning, "Bus 5 from the station.")
	s.append("food", place("1", "night"), "Ramen.")
	s.append("sights", morning, "The {{entry:1}} temple.")
	return s
}

// Proves R10, R16: merging by reference keeps text and source.
func TestConsolidateResolvesReferences(t *testing.T) {
	s := candidates(t)
	updated, result, err := s.Consolidate(document.Write{
		Author: events.FacilitatorID, Place: morning, ModelCall: "f.4",
		Content: "\nFirst {{entry:4}}\n\n{{ Entry : #1 }} Then go.\n",
	}, all, document.Bounds{})
	require.NoError(t, err)
	assert.Equal(t, events.DocumentUpdated{
		Version: 5, EntryID: 5, Author: "facilitator", Section: "1", Slot: "morning", ModelCall: "f.4",
		Content:           "First The {{entry:1}} temple.\n\nBreakfast at the market. Then go.",
		ChangeDescription: "facilitator merged entries 1, 2, 4 of day=1 time_slot=morning into entry 5",
		Replaced:          ids{1, 2, 4}, Merged: ids{4, 1},
		Spans: []events.Span{{Start: 6, End: 29, Entry: 4}, {Start: 31, End: 55, Entry: 1}},
	}, updated)
	assert.Equal(t, "Entry 5 now stands for entries 1, 2, 4 in day=1 time_slot=morning.", result)
	s.record(updated)
	assert.Equal(t, ids{5}, entryIDs(s.Entries(morning)))
	assert.Equal(t, ids{3}, entryIDs(s.Entries(place("1", "night"))), "another slot is left alone")
	old, _ := s.Entry(2)
	assert.Equal(t, events.EntryID(5), old.ReplacedBy)
	assert.Equal(t, 2, s.Live())
	assert.InDelta(t, len(s.RenderClean()), s.CleanBytes(), 32, "what was replaced is not counted")
}

// Proves R10: what the facilitator has not seen stays.
func TestConsolidateKeepsWhatWasNotShown(t *testing.T) {
	s := candidates(t)
	result := s.consolidate(morning, "Bus, then {{entry:1}}", only(1, 2, 3))
	assert.Equal(t, "Entry 5 now stands for entries 1, 2 in day=1 time_slot=morning. Not merged, because you have not read them: entry 4 [sights]. "+
		"Call read_document with day=1 time_slot=morning, then consolidate again.", result)
	assert.Equal(t, ids{4, 5}, entryIDs(s.Entries(morning)))

	s.consolidate(morning, "{{entry:5}} {{entry:4}}", all)
	assert.Equal(t, ids{6}, entryIDs(s.Entries(morning)))
}

func TestConsolidateRefuses(t *testing.T) {
	const form = " is no reference to an entry. Write {{entry:12}} for the text of entry 12."
	for name, c := range map[string]struct {
		p       document.Place
		content string
		shown   func(events.EntryID) bool
		want    string
	}{
		"an empty slot":  {place("2", "night"), "x", all, "There is nothing in day=2 time_slot=night to consolidate. Entries are in: day=1 time_slot=morning; day=1 time_slot=night."},
		"no such place":  {place("2", "noon"), "x", all, `time_slot "noon" does not exist: use one of general, morning, afternoon, evening, night.`},
		"nothing shown":  {morning, "x", only(3), "You have not read day=1 time_slot=morning yet, which has entry 1 [food], entry 2 [logistics], entry 4 [sights]: call read_document with day=1 time_slot=morning first."},
		"no text":        {morning, "\n", all, "Nothing was written: content is empty. Give the text to write."},
		"unknown entry":  {morning, "{{entry:99}}", all, "Nothing was written: entry 99 is not one that you have read in day=1 time_slot=morning. Refer to: entry 1 [food], entry 2 [logistics], entry 4 [sights]."},
		"another slot's": {morning, "{{entry:3}}", all, "Nothing was written: entry 3 is not one that you have read in day=1 time_slot=morning. Refer to: entry 1 [food], entry 2 [logistics], entry 4 [sights]."},
		"not shown": {
			morning, "{{entry:4}}", only(1),
			"Nothing was written: entry 4 is not one that you have read in day=1 time_slot=morning. Refer to: entry 1 [food]. Not read yet: entry 2 [logistics], entry 4 [sights]; call read_document first to refer to them.",
		},
		"referred to twice": {morning, "{{entry:1}}{{entry:1}}", all, "Nothing was written: {{entry:1}} stands there twice. Refer to each entry once."},
		"no number":         {morning, "{{entry:food}}", all, `Nothing was written: "{{entry:food}}"` + form},
		"not closed":        {morning, "a {{entry:12} b", all, `Nothing was written: "{{entry:12} b"` + form},
		"several in one":    {morning, "{{entry:1, 2}}", all, `Nothing was written: "{{entry:1, 2}}"` + form},
		"zero":              {morning, "{{entry:0}}", all, "Nothing was written: there is no entry 0."},
	} {
		t.Run(name, func(t *testing.T) {
			s := candidates(t)
			updated, result, err := s.Consolidate(document.Write{Author: events.FacilitatorID, Place: c.p, Content: c.content}, c.shown, document.Bounds{})
			require.EqualError(t, err, c.want)
			assert.Zero(t, updated)
			assert.Empty(t, result)
		})
	}
	empty := newShared(t, document.Travel())
	_, _, err := empty.Consolidate(document.Write{Place: morning, Content: "x"}, all, document.Bounds{})
	require.EqualError(t, err, "There is nothing in day=1 time_slot=morning to consolidate. The document is empty: dispatch specialists first.")
}

// Braces that are not about entries are text like any other.
func TestConsolidateLeavesOtherBracesAlone(t *testing.T) {
	s := candidates(t)
	const text = "{{ entry.title }} {{name}} {{entrypoint}} { {entry:1} } {{entry}}"
	s.consolidate(morning, text, all)
	assert.Equal(t, text, s.Entries(morning)[0].Content)
}

// Whatever a model writes is refused or resolved so that the fold takes it and
// every byte has its source.
func FuzzConsolidate(f *testing.F) {
	for _, seed := range []string{
		"{{entry:1}}", "{{entry:1}} and {{ENTRY #2}}{{entry_4}}", "{{{{entry:1}}}}", "{{entry:1{{entry:2}}", "{{entry:000000001}}",
		"{{entry:99999999999999999999}}", "{{ entry : 1 }}", "é{{entry:4}}\u2028", "\x00", "\xff{{entry:1}}", "{{entry:\n1}}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		s := candidates(t)
		updated, _, err := s.Consolidate(document.Write{Author: events.FacilitatorID, Place: morning, Content: content}, only(1, 2, 4), document.Bounds{})
		if err != nil {
			require.Less(t, len(err.Error()), 600)
			return
		}
		s.record(updated)
		require.Equal(t, ids{1, 2, 4}, updated.Replaced)
		requireTraced(t, s.Document, updated.EntryID)
	})
}
