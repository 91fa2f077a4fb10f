package document_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
)

// The cost of an entry does not grow with the document: compare the time per
// entry over the sizes.
func BenchmarkFold(b *testing.B) {
	for _, size := range []int{100, 1_000, 10_000} {
		log := make([]events.Envelope, size)
		for i := range log {
			log[i] = events.Envelope{Run: "r", Seq: events.Seq(i + 1), Data: events.DocumentUpdated{
				Version: i + 1, EntryID: events.EntryID(i + 1), Author: "food", Content: strings.Repeat("x", 500),
				Section: fmt.Sprint(i % 60), Slot: "morning",
			}}
		}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d := document.New(document.Travel())
				for _, env := range log {
					require.NoError(b, d.Apply(env))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/entry")
		})
	}
}

// Reading and tracing a large document, whole.
func BenchmarkRender(b *testing.B) {
	s := newShared(b, document.Travel())
	for i := range 900 {
		s.append("food", place(fmt.Sprint(i%60), "morning"), strings.Repeat("word ", 200))
	}
	for day := range 60 {
		s.consolidate(place(fmt.Sprint(day), "morning"), fmt.Sprintf("See {{entry:%d}} and more.", day+1), all)
	}
	b.Run("tagged", func(b *testing.B) {
		for b.Loop() {
			s.RenderTagged(document.Query{})
		}
	})
	b.Run("traced", func(b *testing.B) {
		for b.Loop() {
			s.RenderTraced()
		}
	})
}
