package specialists

import (
	"errors"
	"fmt"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// Bounds are the limits that concern the document.
func Bounds(l team.Limits) document.Bounds {
	return document.Bounds{
		MaxEntryBytes: l.MaxEntryBytes, MaxDocumentBytes: l.MaxDocumentBytes, MaxEntries: l.MaxEntries,
	}
}

// RecordDocumentLimit puts a bound of the document that a write met into the log,
// once for each bound.
func RecordDocumentLimit(tx *thread.Tx, in agent.Invocation, err error) {
	var limit *document.LimitError
	if !errors.As(err, &limit) || tx.Run.LimitMet(limit.Limit) {
		return
	}
	tx.Emit(in.Agent, in.Dispatch, events.LimitReached{
		Limit: limit.Limit, Value: float64(limit.Max), Used: float64(limit.Used),
		Consequence: "The write was refused, and the model told so.",
	})
}

func written(layout document.Layout, e events.DocumentUpdated) string {
	place := document.Place{Section: e.Section, Slot: e.Slot}
	return fmt.Sprintf("Written as entry %d in %s.", e.EntryID, layout.Args(place))
}
