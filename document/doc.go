// Package document is the SharedDocument of one run: sections hold slots, slots
// hold entries. Specialists append entries and never overwrite; the facilitator
// consolidates a slot into one entry, and where every byte came from stays known.
//
// A [Document] is a fold over the run's events. [Document.Append] and
// [Document.Consolidate] are decisions: they return the event to append to the
// log, and only [Document.Apply] changes the document. A [Layout] says which
// sections and slots there are and how a tool call names them. The package runs
// no agent and keeps no file.
//
//	layout := document.Travel()
//	doc := document.New(layout)
//	place, err := layout.Place(map[string]any{"day": 1, "time_slot": "morning"})
//	updated, err := doc.Append(document.Write{
//		Author: "food", Place: place, Content: "Breakfast at the market.",
//	}, document.Bounds{})
//	// append updated to the log, then fold it as it came back:
//	err = doc.Apply(env)
//	tagged, shown := doc.RenderTagged(document.Query{})
//	fmt.Println(doc.RenderClean())
//
// The texts of errors and results are written for a model: what is wrong and
// what to do next. All costs are linear in the text written or shown.
package document
