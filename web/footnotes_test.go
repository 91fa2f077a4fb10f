//go:build browser

package web_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// A sentence leads to its entry, the entry to the passages that it rests on, and a passage to
// the result that it stands in. What a tool returned is shown as text, whatever it is.
func TestPassageIsOpenedInItsSource(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	s := newScript(t, log)
	s.add(events.WorkflowStarted{Message: "When was Acme founded?", Team: "test", Agents: []events.AgentCard{
		{ID: events.FacilitatorID, DisplayName: "Facilitator"}, {ID: "alpha", DisplayName: "Alpha"},
	}})
	// The text of the file is more than what the tool returned of it.
	report := s.keep(events.ArtifactCreated{Name: "report.pdf", MediaType: "application/pdf", Pages: 2, Source: events.SourceFile}, "%PDF <b>", "First page.\fIn 2004 Acme\nmoved to <b>Bonn</b>, with a garden.")
	start := events.CallRef{ModelCall: "f.1", CallID: "c1", Arguments: "{}"}
	fetch := events.CallRef{ModelCall: "d1.1", CallID: "c2", Arguments: `{"url":"https://a.example/"}`}
	write := events.CallRef{ModelCall: "d1.2", CallID: "c3", Arguments: "{}"}
	const page = "<b>About us</b>\nAcme was <img src=x onerror=boom()> FOUNDED\n  in 1998."
	const quote = "<img src=x onerror=boom()> founded in 1998."
	source := events.Source{URL: "https://a.example/", Title: "About <i>Acme</i>"}
	s.add(events.ModelCalled{ID: "f.1", Reply: events.Reply{ToolCalls: []events.ToolCall{{ID: "c1", Name: "call_alpha", Arguments: "{}"}}}})
	for _, fact := range []events.Event{
		events.AgentStarted{Agent: "alpha", DisplayName: "Alpha", Tool: "call_alpha", CallRef: start},
		events.ModelCalled{ID: "d1.1", Reply: events.Reply{ToolCalls: []events.ToolCall{{ID: "c2", Name: "fetch_url", Arguments: fetch.Arguments}}}},
		events.ToolStarted{Tool: "fetch_url", Effect: events.EffectPure, CallRef: fetch},
		events.ToolCallDone{Agent: "alpha", Tool: "fetch_url", Result: page, Phase: "complete", Sources: []events.Source{source}, CallRef: fetch},
		events.ModelCalled{ID: "d1.2", Reply: events.Reply{ToolCalls: []events.ToolCall{{ID: "c3", Name: "write_section", Arguments: "{}"}}}},
		events.DocumentUpdated{
			Version: 1, EntryID: 1, Author: "alpha", Section: "facts", Slot: "facts", Content: "Acme is from 1998.", ModelCall: "d1.2",
			Sources: []events.Citation{
				{Source: source, Quote: quote, Found: true, SHA256: "ab12", Call: &events.CallPlace{ModelCall: "d1.1"}},
				{Source: events.Source{URL: "https://never.example/"}, Quote: "<script>boom()</script>"},
				{Source: events.Source{Artifact: report.Artifact, Page: 2, Title: "report.pdf"}, Quote: "moved to <b>Bonn</b>", Found: true, Call: &events.CallPlace{ModelCall: "d1.1"}},
			},
		},
		events.ToolCallDone{Agent: "alpha", Tool: "write_section", Result: "Written.", Phase: "complete", CallRef: write},
	} {
		s.at(1000, "alpha", "d1", fact)
	}
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	b.open(server.url("/runs/" + string(s.run)))
	b.wait(`document.querySelectorAll('.footnotes li').length === 3`)
	require.Equal(t, "Acme is from 1998.", b.text(`[data-entry="1"] .s`))
	require.Contains(t, b.text(".footnotes li:first-child summary"), "About <i>Acme</i>, https://a.example/")
	require.Contains(t, b.text(".footnotes li:nth-child(2)"), "<script>boom()</script>")
	require.Contains(t, b.text(".footnotes li:nth-child(2)"), "not found in the source")
	b.click(".footnotes li:first-child summary")
	b.wait(`document.querySelector('.footnotes mark')`)
	require.Equal(t, "<img src=x onerror=boom()> FOUNDED\n  in 1998.", js[string](b, `document.querySelector('.footnotes mark').textContent`))
	require.Equal(t, page, js[string](b, `document.querySelector('.footnotes .passage').textContent`))
	require.Zero(t, js[int](b, `document.querySelectorAll('.footnotes img, .footnotes script, .footnotes i, .footnotes b').length`))

	b.click(".footnotes li:nth-child(3) summary")
	b.wait(`document.querySelector('.footnotes li:nth-child(3) mark')`)
	require.Equal(t, "moved to <b>Bonn</b>", js[string](b, `document.querySelector('.footnotes li:nth-child(3) mark').textContent`))
	require.Equal(t, "In 2004 Acme\nmoved to <b>Bonn</b>, with a garden.", js[string](b, `document.querySelector('.footnotes li:nth-child(3) .passage').textContent`), "of the file's bytes, its second page")
	require.Equal(t, "Files 1", b.text(".files summary"))
	require.Equal(t, "%PDF <b>", js[string](b, `fetch(document.querySelector('.files a').href).then((r) => r.text())`))
	require.Contains(t, js[string](b, `document.querySelector('.files li').textContent`), "report.pdfapplication/pdf, 8 bytes, 2 pages")
	b.clean()
}
