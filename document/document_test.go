package document_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
)

type ids = []events.EntryID

// envelope gives a fact its place in the log, through the codec, as a fold meets
// it after a restart.
func envelope(t require.TestingT, seq int, fact events.Event) events.Envelope {
	body, err := json.Marshal(events.Envelope{
		Tenant: events.LocalTenant, Thread: "t", Run: "r", Seq: events.Seq(seq),
		Time: time.Unix(int64(seq), 0).UTC(), Data: fact,
	})
	require.NoError(t, err)
	var env events.Envelope
	require.NoError(t, json.Unmarshal(body, &env))
	return env
}

// board of writing: a document with the log that it is the fold of.
type shared struct {
	*document.Document
	t   require.TestingT
	log []events.Envelope
}

func newShared(t require.TestingT, layout document.Layout) *shared {
	return &shared{Document: document.New(layout), t: t}
}

func (s *shared) record(fact events.Event) {
	env := envelope(s.t, len(s.log)+1, fact)
	require.NoError(s.t, s.Apply(env), "a decision's event fits the document")
	s.log = append(s.log, env)
}

func place(section, slot string) document.Place { return document.Place{Section: section, Slot: slot} }

func (s *shared) append(author events.AgentID, p document.Place, content string) {
	updated, err := s.Append(document.Write{Author: author, Place: p, Content: content}, document.Bounds{})
	require.NoError(s.t, err)
	s.record(updated)
}

func all(events.EntryID) bool { return true }

// read is RenderTagged with the ids of what it shows.
func (s *shared) read(q document.Query) (text string, shown ids) {
	text, whole := s.RenderTagged(q)
	for _, entry := range whole {
		shown = append(shown, entry.Entry)
	}
	return text, shown
}

func only(shown ...events.EntryID) func(events.EntryID) bool {
	return func(id events.EntryID) bool {
		for _, one := range shown {
			if one == id {
				return true
			}
		}
		return false
	}
}

func (s *shared) consolidate(p document.Place, content string, shown func(events.EntryID) bool) string {
	updated, result, err := s.Consolidate(document.Write{Author: events.FacilitatorID, Place: p, Content: content, ModelCall: "f.9"}, shown, document.Bounds{})
	require.NoError(s.t, err)
	s.record(updated)
	return result
}

func entryIDs(entries []document.Entry) ids {
	var list ids
	for _, entry := range entries {
		list = append(list, entry.ID)
	}
	return list
}

// Proves R9, R10, R11: entries accumulate in their slot, and every change is a
// version that can be looked at again.
func TestWritesAccumulateAsVersions(t *testing.T) {
	morning := place("1", "morning")
	s := newShared(t, document.Travel())
	updated, err := s.Append(document.Write{
		Author: "food", Place: morning, Content: "\n \n  Breakfast.\n\n", Tasks: []events.TaskID{3}, ModelCall: "d1.2",
	}, document.Bounds{})
	require.NoError(t, err)
	assert.Equal(t, events.DocumentUpdated{
		Version: 1, Author: "food", Content: "  Breakfast.", ChangeDescription: "food wrote entry 1 in day=1 time_slot=morning",
		Section: "1", Slot: "morning", EntryID: 1, Tasks: []events.TaskID{3}, ModelCall: "d1.2",
	}, updated)
	assert.Zero(t, s.Version(), "a decision changes nothing")
	s.record(updated)
	s.append("logistics", morning, "Take the bus.")
	s.append("food", place("0", "general"), "Eat well.")

	assert.Equal(t, ids{1, 2}, entryIDs(s.Entries(morning)))
	assert.Equal(t, []document.Place{place("0", "general"), morning}, s.Places())
	entry, ok := s.Entry(1)
	require.True(t, ok)
	assert.Equal(t, document.Entry{
		ID: 1, Place: morning, Author: "food", Content: "  Breakfast.", Time: time.Unix(1, 0).UTC(),
		Change: "food wrote entry 1 in day=1 time_slot=morning", Tasks: []events.TaskID{3}, ModelCall: "d1.2",
	}, entry)

	s.consolidate(morning, "{{entry:1}} {{entry:2}}", all)
	assert.Equal(t, ids{4}, entryIDs(s.Entries(morning)))
	assert.Equal(t, 4, s.Version())
	assert.Equal(t, events.DocumentVersion{
		Version: 4, Author: "facilitator", Change: "facilitator merged entries 1, 2 of day=1 time_slot=morning into entry 4", Time: time.Unix(4, 0).UTC(),
	}, s.Versions()[3])
	past, err := s.At(2)
	require.NoError(t, err)
	assert.Equal(t, ids{1, 2}, entryIDs(past.Entries(morning)))
	assert.Empty(t, past.Entries(place("0", "general")))
	for _, version := range []int{-1, 5} {
		_, err := s.At(version)
		require.ErrorContains(t, err, "versions 0 to 4")
	}
	for _, id := range []events.EntryID{-1, 0, 5} {
		_, ok := s.Entry(id)
		assert.False(t, ok)
	}
}

func TestFreePlacesDifferByMoreThanCase(t *testing.T) {
	s := newShared(t, document.Free())
	s.append("food", place("Key points", "main"), "One.")
	s.append("logistics", place("key  POINTS", "MAIN"), "Two.")
	s.append("logistics", place("key points", "Details"), "Three.")
	assert.Equal(t, []document.Place{place("Key points", "main"), place("Key points", "Details")}, s.Places())
	assert.Equal(t, ids{1, 2}, entryIDs(s.Entries(place("KEY POINTS", "Main"))))
	_, shown := s.read(document.Query{Place: place("KEY points", "")})
	assert.Equal(t, ids{1, 2, 3}, shown)

	s.record(events.DocumentUpdated{Version: 4, EntryID: 4, Author: "food", Content: "Four.", Section: "KEY POINTS", Slot: "main"})
	entry, _ := s.Entry(4)
	assert.Equal(t, place("Key points", "main"), entry.Place, "the first spelling stands")
}

func TestAppendRefuses(t *testing.T) {
	s := newShared(t, report(t))
	for name, c := range map[string]struct {
		p       document.Place
		content string
		want    string
	}{
		"empty":          {place("risks", "all"), " \n\t\n", "Nothing was written: content is empty. Give the text to write."},
		"NUL":            {place("risks", "all"), "a\x00", "Nothing was written: content is not valid UTF-8 or contains a NUL character. Write it again as plain text."},
		"not UTF-8":      {place("risks", "all"), "a\xc3", "Nothing was written: content is not valid UTF-8 or contains a NUL character. Write it again as plain text."},
		"unknown place":  {place("intro", "main"), "x", `section "intro" does not exist: use one of findings, risks, Next-steps.`},
		"other spelling": {place("Risks", "all"), "x", "section=Risks slot=all is written section=risks slot=all here."},
	} {
		updated, err := s.Append(document.Write{Author: "food", Place: c.p, Content: c.content}, document.Bounds{})
		assert.EqualError(t, err, c.want, name)
		assert.Zero(t, updated, name)
	}
}

// Just below and at each bound is written, past it is not.
func TestBounds(t *testing.T) {
	p := place("a", "main")
	text := func(size int) string { return strings.Repeat("é", size) }
	limit := func(t *testing.T, err error, name events.Limit, bound, used int) {
		t.Helper()
		var at *events.LimitError
		require.ErrorAs(t, err, &at)
		assert.Equal(t, []any{name, float64(bound), float64(used)}, []any{at.Limit, at.Value, at.Used})
		assert.Contains(t, err.Error(), "Nothing was written: "+string(name))
	}
	t.Run("entry", func(t *testing.T) {
		s := newShared(t, document.Free())
		bounds := document.Bounds{MaxEntryChars: 30}
		for _, size := range []int{29, 30} {
			updated, err := s.Append(document.Write{Author: "food", Place: p, Content: text(size)}, bounds)
			require.NoError(t, err)
			s.record(updated)
		}
		_, err := s.Append(document.Write{Author: "food", Place: p, Content: text(31)}, bounds)
		limit(t, err, "max_entry_chars", 30, 31)
		_, _, err = s.Consolidate(document.Write{Place: p, Content: text(10) + "{{entry:1}}"}, all, bounds)
		limit(t, err, "max_entry_chars", 30, 39)
		_, _, err = s.Consolidate(document.Write{Place: p, Content: text(31)}, all, bounds)
		limit(t, err, "max_entry_chars", 30, 31)
	})
	t.Run("entries", func(t *testing.T) {
		s := newShared(t, document.Free())
		bounds := document.Bounds{MaxEntries: 3}
		for range 2 {
			updated, err := s.Append(document.Write{Author: "food", Place: p, Content: "x"}, bounds)
			require.NoError(t, err)
			s.record(updated)
		}
		updated, _, err := s.Consolidate(document.Write{Place: p, Content: "y"}, all, bounds)
		require.NoError(t, err)
		s.record(updated)
		_, err = s.Append(document.Write{Author: "food", Place: p, Content: "x"}, bounds)
		limit(t, err, "max_entries", 3, 4)
		_, _, err = s.Consolidate(document.Write{Place: p, Content: "y"}, all, bounds)
		limit(t, err, "max_entries", 3, 4)
	})
	t.Run("document", func(t *testing.T) {
		s := newShared(t, document.Free())
		bounds := document.Bounds{MaxDocumentChars: 40}
		for _, size := range []int{12, 8} {
			updated, err := s.Append(document.Write{Author: "food", Place: p, Content: text(size)}, bounds)
			require.NoError(t, err)
			s.record(updated)
		}
		_, err := s.Append(document.Write{Author: "food", Place: p, Content: text(21)}, bounds)
		limit(t, err, "max_document_chars", 40, 41)
		_, _, err = s.Consolidate(document.Write{Place: p, Content: "{{entry:1}}{{entry:2}}+"}, all, bounds)
		limit(t, err, "max_document_chars", 40, 41)
		updated, _, err := s.Consolidate(document.Write{Place: p, Content: "{{entry:1}}{{entry:2}}"}, all, bounds)
		require.NoError(t, err, "what was replaced counts, and all fits")
		s.record(updated)
		_, err = s.Append(document.Write{Author: "food", Place: p, Content: "x"}, bounds)
		limit(t, err, "max_document_chars", 40, 41)
	})
}

func TestApplyRefusesEventsThatDoNotFit(t *testing.T) {
	fits := events.DocumentUpdated{
		Version: 4, EntryID: 4, Author: "f", Content: "a one b", Section: "1", Slot: "morning",
		Replaced: ids{1}, Merged: ids{1}, Spans: []events.Span{{Start: 2, End: 5, Entry: 1}},
	}
	for name, change := range map[string]func(*events.DocumentUpdated){
		"":                        func(*events.DocumentUpdated) {},
		"version skipped":         func(e *events.DocumentUpdated) { e.Version = 5 },
		"version repeated":        func(e *events.DocumentUpdated) { e.Version = 3 },
		"entry skipped":           func(e *events.DocumentUpdated) { e.EntryID = 5 },
		"place of another layout": func(e *events.DocumentUpdated) { e.Section = "intro" },
		"replaces the unknown":    func(e *events.DocumentUpdated) { e.Replaced = ids{1, 9} },
		"replaces itself":         func(e *events.DocumentUpdated) { e.Replaced = ids{1, 4} },
		"replaces twice":          func(e *events.DocumentUpdated) { e.Replaced = ids{1, 1} },
		"replaces elsewhere":      func(e *events.DocumentUpdated) { e.Replaced = ids{1, 2} },
		"merges what it keeps":    func(e *events.DocumentUpdated) { e.Merged = ids{1, 3} },
		"merges twice":            func(e *events.DocumentUpdated) { e.Merged = ids{1, 1} },
		"span not merged":         func(e *events.DocumentUpdated) { e.Merged = nil },
		"span of other text":      func(e *events.DocumentUpdated) { e.Spans[0].Start++; e.Spans[0].End++ },
		"span behind the end":     func(e *events.DocumentUpdated) { e.Spans[0].End = 99 },
		"span before the start":   func(e *events.DocumentUpdated) { e.Spans[0].Start = -1 },
		"span backwards":          func(e *events.DocumentUpdated) { e.Spans[0].End = 1 },
		"spans overlap":           func(e *events.DocumentUpdated) { e.Spans = append(e.Spans, e.Spans[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newShared(t, document.Travel())
			s.append("food", place("1", "morning"), "one")
			s.append("food", place("1", "night"), "two")
			s.append("food", place("1", "morning"), "three")
			before := s.RenderClean()
			event := fits
			event.Spans = append([]events.Span(nil), fits.Spans...)
			change(&event)
			err := s.Apply(envelope(t, 7, event))
			if name == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "seq=7")
			assert.Equal(t, 3, s.Version())
			assert.Equal(t, before, s.RenderClean(), "a refused event changes nothing")
		})
	}
	s := newShared(t, document.Travel())
	s.append("food", place("1", "morning"), "one")
	s.consolidate(place("1", "morning"), "two", all)
	require.ErrorContains(t, s.Apply(envelope(t, 7, events.DocumentUpdated{
		Version: 3, EntryID: 3, Content: "x", Section: "1", Slot: "morning", Replaced: ids{1},
	})), "already replaced")

	s = newShared(t, document.Travel())
	s.append("food", place("1", "morning"), "one")
	require.NoError(t, s.Apply(envelope(t, 2, events.FinalAnswer{Content: "Done"})))
	other := envelope(t, 3, events.DocumentUpdated{Version: 2, EntryID: 2, Content: "x", Section: "1", Slot: "night"})
	other.Run = "other"
	require.ErrorContains(t, s.Apply(other), "the document is that of run r")
	other.Data = nil
	require.ErrorContains(t, s.Apply(other), "no data")
	other.Run, other.Data = "r", events.DocumentUpdated{Version: 2, EntryID: 2, Content: "\xff", Section: "1", Slot: "night"}
	require.ErrorContains(t, s.Apply(other), "UTF-8")
}
