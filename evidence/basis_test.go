package evidence_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/evidence"
)

// written is a document of two entries with sources, merged: one by reference, one rewritten.
func written(t *testing.T) *document.Document {
	t.Helper()
	doc := document.New(document.Free())
	apply := func(e events.DocumentUpdated) {
		require.NoError(t, doc.Apply(events.Envelope{Run: "r", Seq: events.Seq(e.Version), Time: time.Unix(1, 0), Data: e}))
	}
	cite := func(url, quote string, found bool) events.Citation {
		return events.Citation{Source: events.Source{URL: url, Title: "About *Acme*"}, Quote: quote, Found: found, SHA256: "ab12", Call: &events.CallPlace{ModelCall: "d1.1"}}
	}
	apply(events.DocumentUpdated{
		Version: 1, EntryID: 1, Author: "a", Section: "facts", Slot: "facts", Content: "Acme is from 1998. It is big.", ModelCall: "d1.2",
		Sources: []events.Citation{cite("https://a.example/", "founded in 1998", true), cite("https://b.example/", "<b>never</b> said", false)},
	})
	apply(events.DocumentUpdated{
		Version: 2, EntryID: 2, Author: "a", Section: "facts", Slot: "facts", Content: "532 people work there.", ModelCall: "d1.3",
		Sources: []events.Citation{cite("https://a.example/", "532 employees", true)},
	})
	apply(events.DocumentUpdated{
		Version: 3, EntryID: 3, Author: "a", Section: "facts", Slot: "facts", Content: "It is the best.", ModelCall: "d1.4", Unsupported: true,
	})
	apply(events.DocumentUpdated{
		Version: 4, EntryID: 4, Author: events.FacilitatorID, Section: "facts", Slot: "facts", Content: "Acme is from 1998. It is big.\n\nIt has a large staff.",
		Replaced: []events.EntryID{1, 2, 3}, Merged: []events.EntryID{1}, Spans: []events.Span{{Start: 0, End: 29, Entry: 1}}, ModelCall: "f.4",
	})
	return doc
}

func TestBasisOfAnAnswer(t *testing.T) {
	basis := evidence.Of(written(t), "In short: Acme.\n\n- Acme is from 1998.\n- It has a large staff.", false)
	require.Len(t, basis, 2, "what was not found is no basis")
	require.Equal(t, "Acme is from 1998.", basis[0].Sentence)
	require.Equal(t, "founded in 1998", basis[0].Quote)
	require.Equal(t, events.EntryID(1), basis[0].Entry)
	require.Equal(t, events.ModelCallID("d1.2"), basis[0].ModelCall)
	require.Equal(t, events.EntryID(2), basis[1].Entry)
	require.Empty(t, basis[1].Sentence, "similar words prove nothing")
	body, err := json.Marshal(basis[0])
	require.NoError(t, err)
	require.JSONEq(t, `{"sentence":"Acme is from 1998.","url":"https://a.example/","title":"About *Acme*","quote":"founded in 1998","sha256":"ab12","entry":1,"model_call":"d1.2","call":{"model_call_id":"d1.1","index":0}}`, string(body))
}

func TestBasisOfAStructuredAnswer(t *testing.T) {
	basis := evidence.Of(written(t), `{"company":{"founded":1998,"staff":53,"a/b":["532"]}}`, true)
	require.Len(t, basis, 2)
	require.Equal(t, "/company/founded", basis[0].Field)
	require.Equal(t, "/company/a~1b/0", basis[1].Field, "53 is another number than 532")
}

// Footnotes stand behind what rests on them, through a merge, and show the text of others
// as text.
func TestFootnotesOfADocument(t *testing.T) {
	doc := written(t)
	require.Equal(t, `## Facts

### Facts

Acme is from 1998. It is big. \[1\]\[2\]

It has a large staff. \[3\] \[unsupported\]

## Sources

1. About \*Acme\*, https://a.example/: “founded in 1998”
2. About \*Acme\*, https://b.example/: “\<b\>never\</b\> said” (not found in the source)
3. About \*Acme\*, https://a.example/: “532 employees”
`, doc.RenderCited())
	require.Equal(t, []events.EntryID{3}, doc.Unsupported(4))
	past, err := doc.At(0)
	require.NoError(t, err)
	require.Empty(t, past.RenderCited())
}
