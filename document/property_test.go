package document_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
)

// state is all that a document shows of itself.
func state(d *document.Document) string {
	tagged, shown := d.RenderTagged(document.Query{})
	clean, segments := d.RenderTraced()
	var entries []document.Entry
	for id := range d.Version() {
		entry, _ := d.Entry(events.EntryID(id + 1))
		entries = append(entries, entry)
	}
	return fmt.Sprint(tagged, shown, clean, segments, d.RenderAttributed(), d.Versions(), d.Places(), entries)
}

// places are a few of each layout, so that writes meet.
var places = map[string][]document.Place{
	"travel":   {place("0", "general"), place("1", "morning"), place("1", "general"), place("12", "night")},
	"sections": {place("findings", "detail"), place("findings", "summary"), place("risks", "all"), place("Next-steps", "main")},
	"free":     {place("a", "main"), place("A", "x"), place("b", "MAIN"), place("B", "main"), place("a b", "x")},
}

var (
	authors = rapid.SampledFrom([]events.AgentID{"food", "logistics", "sights"})
	// texts hold lines that no heading could be taken for.
	texts = rapid.StringMatching(`[a-zé日 ]{0,8}(\n[a-z{}:]{0,6}){0,2}`)
)

func drawWrite(t *rapid.T, layout string) document.Write {
	return document.Write{
		Author: authors.Draw(t, "author"), Place: rapid.SampledFrom(places[layout]).Draw(t, "place"),
		Content: texts.Draw(t, "text"), Tasks: []events.TaskID{1}, ModelCall: "d1.1",
	}
}

// drawMerge makes content that refers to some of the entries of a slot.
func drawMerge(t *rapid.T, entries []document.Entry) string {
	var content strings.Builder
	content.WriteString(texts.Draw(t, "own"))
	for _, entry := range entries {
		if rapid.Bool().Draw(t, "refer") {
			fmt.Fprintf(&content, "{{entry:%d}}%s", entry.ID, texts.Draw(t, "own"))
		}
	}
	return content.String()
}

// Whatever is written and merged in whatever order: the fold of the log, up to any
// seq, is the document as it was then; no entry leaves that was not shown; every
// byte of every entry and of the clean document has a source.
// Proves R10, R11, R16.
func TestDocumentIsItsLog(t *testing.T) {
	race.Fewer()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"travel", "sections", "free"}).Draw(t, "layout")
		s := newShared(t, layouts(t)[name])
		states := []string{state(s.Document)}
		record := func(updated events.DocumentUpdated) {
			s.record(updated)
			states = append(states, state(s.Document))
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				updated, err := s.Append(drawWrite(t, name), document.Bounds{})
				if err == nil {
					require.Empty(t, updated.Replaced)
					record(updated)
				}
			},
			"consolidate": func(t *rapid.T) {
				w := drawWrite(t, name)
				before := s.Entries(w.Place)
				shown := map[events.EntryID]bool{}
				for _, entry := range before {
					shown[entry.ID] = rapid.Bool().Draw(t, "shown")
				}
				w.Content = drawMerge(t, before)
				updated, _, err := s.Consolidate(w, func(id events.EntryID) bool { return shown[id] }, document.Bounds{})
				if err != nil {
					return
				}
				record(updated)
				live := entryIDs(s.Entries(w.Place))
				for _, entry := range before {
					require.NotEqual(t, shown[entry.ID], slices.Contains(live, entry.ID))
				}
			},
		})
		requireFold(t, s, states)
		for id := range s.Version() {
			requireTraced(t, s.Document, events.EntryID(id+1))
		}
		text, segments := s.RenderTraced()
		requireSourced(t, text, segments)
	})
}

func requireFold(t *rapid.T, s *shared, states []string) {
	rebuilt := document.New(s.Layout())
	for seq, env := range s.log {
		require.NoError(t, rebuilt.Apply(env))
		require.Equal(t, states[seq+1], state(rebuilt))
	}
	version := rapid.IntRange(0, s.Version()).Draw(t, "version")
	past, err := s.At(version)
	require.NoError(t, err)
	require.Equal(t, states[version], state(past))
}

// Appends commute: in whatever order specialists come to write, each slot holds
// the same texts, and each specialist's stand in the order that it wrote them.
// Proves R10.
func TestAppendsCommute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layout := rapid.SampledFrom([]string{"travel", "sections"}).Draw(t, "layout")
		byAuthor := map[events.AgentID][]document.Write{}
		var turns []events.AgentID
		for i := range rapid.IntRange(0, 12).Draw(t, "writes") {
			w := drawWrite(t, layout)
			w.Content = fmt.Sprintf("%d %s", i, w.Content)
			byAuthor[w.Author] = append(byAuthor[w.Author], w)
			turns = append(turns, w.Author)
		}
		written := func(turns []events.AgentID) map[string][]string {
			s := newShared(t, layouts(t)[layout])
			next := map[events.AgentID]int{}
			for _, author := range turns {
				w := byAuthor[author][next[author]]
				next[author]++
				s.append(w.Author, w.Place, w.Content)
			}
			texts := map[string][]string{}
			for _, p := range s.Places() {
				for _, entry := range s.Entries(p) {
					key := fmt.Sprint(p, entry.Author)
					texts[key] = append(texts[key], entry.Content)
				}
			}
			return texts
		}
		require.Equal(t, written(turns), written(rapid.Permutation(turns).Draw(t, "other order")))
	})
}
