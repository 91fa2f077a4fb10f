package document_test

import (
	"fmt"

	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
)

// Two specialists write into a slot, the facilitator merges it by reference.
func Example() {
	layout := document.Travel()
	doc := document.New(layout)
	seq := events.Seq(0)
	apply := func(updated events.DocumentUpdated) {
		seq++
		if err := doc.Apply(events.Envelope{Run: "run", Seq: seq, Data: updated}); err != nil {
			fmt.Println(err)
		}
	}
	place, _ := layout.Place(map[string]any{"day": 1, "time_slot": "morning"})
	updated, _ := doc.Append(document.Write{Author: "food", Place: place, Content: "Breakfast at the market."}, document.Bounds{})
	apply(updated)
	updated, _ = doc.Append(document.Write{Author: "logistics", Place: place, Content: "Bus 5."}, document.Bounds{})
	apply(updated)

	tagged, shown := doc.RenderTagged(document.Query{})
	fmt.Println(tagged)

	seen := map[events.EntryID]bool{}
	for _, entry := range shown {
		seen[entry.Entry] = true
	}
	merged, result, _ := doc.Consolidate(document.Write{
		Author: events.FacilitatorID, Place: place, Content: "Take {{entry:2}} {{entry:1}}",
	}, func(id events.EntryID) bool { return seen[id] }, document.Bounds{})
	apply(merged)
	fmt.Println(result)
	fmt.Println()
	fmt.Print(doc.RenderClean())
	// Output:
	// ## day=1 time_slot=morning
	// [food] (entry 1)
	// > Breakfast at the market.
	//
	// [logistics] (entry 2)
	// > Bus 5.
	//
	// Entry 3 now stands for entries 1, 2 in day=1 time_slot=morning.
	//
	// ## Day 1
	//
	// ### Morning
	//
	// Take Bus 5. Breakfast at the market.
}
