package specialists

import (
	"errors"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// Bounds are the limits that concern the document.
func Bounds(l team.Limits) document.Bounds {
	return document.Bounds{
		MaxEntryChars: l.MaxEntryChars, MaxDocumentChars: l.MaxDocumentChars, MaxEntries: l.MaxEntries,
	}
}

// RecordDocumentLimit puts a bound of the document that a write met into the log,
// once for each bound.
func RecordDocumentLimit(tx *thread.Tx, in *agent.Invocation, err error) {
	var limit *events.LimitError
	if !errors.As(err, &limit) || tx.Run.LimitMet(limit.Limit) {
		return
	}
	tx.Emit(in.Agent, thread.ActorOf(in.Dispatch), limit.Fact("The write was refused, and the model told so."))
}
