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
			},
		},
		events.ToolCallDone{Agent: "alpha", Tool: "write_section", Result: "Written.", Phase: "complete", CallRef: write},
	} {
		s.at(1000, "alpha", "d1", fact)
	}
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	b.open(server.url("/#/runs/" + string(s.run)))
	b.wait(`document.querySelectorAll('.footnotes li').length === 2`)
	require.Equal(t, "Acme is from 1998.", b.text(`[data-entry="1"] .s`))
	require.Contains(t, b.text(".footnotes li:first-child summary"), "About <i>Acme</i>, https://a.example/")
	require.Contains(t, b.text(".footnotes li:last-child"), "<script>boom()</script>")
	require.Contains(t, b.text(".footnotes li:last-child"), "not found in the source")
	b.click(".footnotes li:first-child summary")
	b.wait(`document.querySelector('.footnotes mark')`)
	require.Equal(t, "<img src=x onerror=boom()> FOUNDED\n  in 1998.", js[string](b, `document.querySelector('.footnotes mark').textContent`))
	require.Equal(t, page, js[string](b, `document.querySelector('.footnotes .passage').textContent`))
	require.Zero(t, js[int](b, `document.querySelectorAll('.footnotes img, .footnotes script, .footnotes i, .footnotes b').length`))
	b.clean()
}
