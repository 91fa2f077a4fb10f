//go:build browser

package web_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// Proves R71: a model call opens as people read it, what was sent before folded; the cost
// of each agent stands behind that of the run; the log speaks words, with times that differ.
func TestModelCallIsRead(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	s := newScript(t, log)
	s.add(events.WorkflowStarted{Message: "Find a place for dinner", Team: "test", Agents: []events.AgentCard{
		{ID: events.FacilitatorID, DisplayName: "Facilitator", Models: []string{"sim/m-1"}}, {ID: "billing", DisplayName: "Billing", Models: []string{"sim/m-1"}},
	}, Config: json.RawMessage(offeredConfig)})
	ref := events.CallRef{ModelCall: "f.1", CallID: "c1", Arguments: `{"query":"tofu <b>house</b>"}`}
	cost := 0.0125
	for _, fact := range []events.Event{
		events.ModelCalled{ID: "f.1", Provider: "sim", Model: "m-1", Attempts: 1, TotalMS: 900, FirstTokenMS: 100, Usage: events.Usage{InputTokens: 1200, OutputTokens: 30}, CostUSD: &cost,
			Reply: events.Reply{ToolCalls: []events.ToolCall{{ID: "c1", Name: "search", Arguments: ref.Arguments}}}},
		events.ToolCallDone{Agent: events.FacilitatorID, Tool: "search", Result: "three places", CallRef: ref},
		events.ModelCalled{ID: "f.2", Provider: "sim", Model: "m-1", Attempts: 2, TotalMS: 1900, FirstTokenMS: 200, QueuedMS: 50, Usage: events.Usage{InputTokens: 2400, CachedInputTokens: 1000, OutputTokens: 70, ReasoningTokens: 40, WebSearches: 1}, CostUSD: &cost,
			Retries: []events.FailedAttempt{{RanMS: 300, WaitMS: 1000, Error: "rate_limit", Status: 429, Message: "slow down"}},
			Reply: events.Reply{Reasoning: "Tofu is good.", Text: "Take the **tofu house**.", FinishReason: "stop",
				Searches: []string{"tofu <b>near</b>"}, Cited: []events.CitedPage{{URL: "javascript:boom()", Title: "Tofu <img src=x>", Quote: "Open <i>late</i>."}}}},
		events.FinalAnswer{Content: "Take the **tofu house**."}, events.WorkflowFinished{Status: events.StatusCompleted},
	} {
		s.at(1042, events.FacilitatorID, "", fact)
	}
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	b.open(server.url("/runs/" + string(s.run) + "?sel=event:4"))
	b.wait(`document.querySelector('.call .tool-call, .call .body')`)
	facts := strings.Join(strings.Fields(b.text(".call-facts")), " ")
	require.Equal(t, "model sim m-1 input 2,400 tokens, 1,000 cached output 70 tokens, 40 of them reasoning searches 1 of the web, by the provider cost $0.013 time 1.9 s, first token after 200 ms, after waiting 50 ms attempts 2 ended stop", facts)
	require.Contains(t, b.text(".attempts"), "HTTP 429, slow down, after 300 ms; waited 1.0 s")
	require.Equal(t, "tofu house", b.text(".call > .body strong"))
	shown := b.text(".call")
	require.Contains(t, shown, "1 message that f.1 was sent too")
	require.Contains(t, shown, "three places")
	require.Contains(t, shown, "tofu <b>house</b>")
	require.Contains(t, shown, "Searched the web for tofu <b>near</b>")
	require.Equal(t, "Tofu <img src=x>, javascript:boom(): Open <i>late</i>.", b.text(".call .cited li"))
	require.Zero(t, js[int](b, `document.querySelectorAll('.call .cited a, .call .cited img').length`))
	require.NotContains(t, shown, "Find a place for dinner", "it is folded")
	require.Equal(t, "Offered 1 tool: create_tasks", b.text(".call .tools > summary"))
	require.NotContains(t, shown, "Adds tasks.")
	b.click(".call .tools > summary")
	b.wait(`document.querySelector('.call .tools').innerText.includes('Adds tasks.')`)
	require.NotContains(t, b.text(".call .tools"), `"type": "object"`)
	b.click(".call .tools details > summary")
	b.wait(`document.querySelector('.call .tools').innerText.includes('"type": "object"')`)
	js[bool](b, `([...document.querySelectorAll('.call details')].forEach((d) => d.open = true), true)`)
	require.Contains(t, b.text(".call"), "Find a place for dinner")
	require.Contains(t, b.text(".call"), "Tofu is good.")
	require.Contains(t, js[string](b, `document.querySelector('.detail pre').textContent`), `"type": "model_called"`)
	js[bool](b, `(document.querySelector('.costs').open = true)`)
	require.Equal(t, "Facilitator 2 3,600 100 $0.025", strings.Join(strings.Fields(b.text(".costs tbody")), " "))
	require.Equal(t, []string{"run started", "model call", "tool result", "model call", "answer", "run ended"}, js[[]string](b, `[...document.querySelectorAll('#log-rows .kind')].map((k) => k.innerText)`))
	require.Regexp(t, `^\d+:\d\d\.\d{3}$`, b.text("#log-rows .when"))
	b.shot("model-call")
	b.scheme("dark")
	b.shot("model-call-dark")
	js[bool](b, `([...document.querySelectorAll('.log .menu input')].pop().click(), true)`)
	b.wait(`document.querySelector('#log-rows .kind').innerText === 'workflow_started'`)
	b.clean()
}
