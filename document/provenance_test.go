package document_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
)

// requireTraced checks that an entry's segments cover its text without a gap, and
// that each repeats what its source wrote, or is the source's own.
func requireTraced(t require.TestingT, d *document.Document, id events.EntryID) {
	entry, ok := d.Entry(id)
	require.True(t, ok)
	at := 0
	for _, segment := range d.Trace(id) {
		require.Equal(t, at, segment.Start)
		require.Greater(t, segment.End, segment.Start)
		at = segment.End
		source, ok := d.Entry(segment.Entries[0])
		require.True(t, ok)
		require.Contains(t, source.Content, entry.Content[segment.Start:segment.End])
		require.Equal(t, source.Replaced, nilIfEmpty(segment.Entries[1:]))
	}
	require.Len(t, entry.Content, at)
}

func nilIfEmpty(list ids) ids {
	if len(list) == 0 {
		return nil
	}
	return list
}

// Proves R16: consolidated entry → entries → specialist → tasks → model call,
// over two consolidations, by tree and by byte.
func TestEverySentenceHasASource(t *testing.T) {
	s := newShared(t, document.Travel())
	for i, write := range []document.Write{
		{Author: "food", Content: "Tea.", Tasks: []events.TaskID{1}, ModelCall: "d1.1"},
		{Author: "logistics", Content: "Bus.", Tasks: []events.TaskID{2}, ModelCall: "d2.3"},
		{Author: "sights", Content: "Shrine.", Tasks: []events.TaskID{3, 4}, ModelCall: "d3.1"},
	} {
		write.Place = morning
		updated, err := s.Append(write, document.Bounds{})
		require.NoError(t, err)
		s.record(updated)
		if i == 1 {
			s.consolidate(morning, "At 8: {{entry:1}}", all) // entry 3; the bus is rewritten
		}
	}
	s.consolidate(morning, "{{entry:4}} {{entry:3}} Home.", all)

	final := s.Entries(morning)[0]
	assert.Equal(t, "Shrine. At 8: Tea. Home.", final.Content)
	assert.Equal(t, []document.Segment{
		{Start: 0, End: 7, Entries: ids{4}},
		{Start: 7, End: 8, Entries: ids{5, 3, 4}},
		{Start: 8, End: 14, Entries: ids{3, 1, 2}},
		{Start: 14, End: 18, Entries: ids{1}},
		{Start: 18, End: 24, Entries: ids{5, 3, 4}},
	}, s.Trace(5))
	assert.Equal(t, []document.Source{
		{
			Entry: 3, Author: "facilitator", ModelCall: "f.9", Spans: []events.Span{{Start: 8, End: 18, Entry: 3}},
			Sources: []document.Source{
				{Entry: 1, Author: "food", Tasks: []events.TaskID{1}, ModelCall: "d1.1", Spans: []events.Span{{Start: 6, End: 10, Entry: 1}}},
				{Entry: 2, Author: "logistics", Tasks: []events.TaskID{2}, ModelCall: "d2.3"},
			},
		},
		{Entry: 4, Author: "sights", Tasks: []events.TaskID{3, 4}, ModelCall: "d3.1", Spans: []events.Span{{Start: 0, End: 7, Entry: 4}}},
	}, s.Sources(5))
	assert.Nil(t, s.Sources(1), "a specialist's entry is a source itself")
	assert.Nil(t, s.Sources(99))
	assert.Nil(t, s.Trace(99))

	text, segments := s.RenderTraced()
	assert.Equal(t, s.RenderClean(), text)
	assert.Equal(t, "Tea.", text[segments[3].Start:segments[3].End])
	requireSourced(t, text, segments)
}

// requireSourced checks that all of a clean document but headings and blank lines
// has a source.
func requireSourced(t require.TestingT, text string, segments []document.Segment) {
	at := 0
	unsourced := func(end int) {
		for _, line := range strings.Split(text[at:end], "\n") {
			require.True(t, line == "" || strings.HasPrefix(line, "## ") || strings.HasPrefix(line, "### "), "%q has no source", line)
		}
	}
	for _, segment := range segments {
		require.NotEmpty(t, segment.Entries)
		require.GreaterOrEqual(t, segment.Start, at)
		unsourced(segment.Start)
		at = segment.End
	}
	unsourced(len(text))
}
