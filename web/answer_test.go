//go:build browser

package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// answered is a log of a run whose answer has sentences of every origin.
func answered(t testing.TB, content string, fallback bool) (*events.Memory, *script) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("Where shall we eat?")
	facilitator := func(fact events.Event) { s.at(int(s.seq)*10, events.FacilitatorID, "", fact) }
	food := func(fact events.Event) { s.at(int(s.seq)*10, "food", "d1", fact) }
	write := func(id int, content string) events.DocumentUpdated {
		return events.DocumentUpdated{Version: id, EntryID: events.EntryID(id), Author: "food", Content: content, Section: "Day 1", Slot: "general", Tasks: []events.TaskID{1}, ModelCall: "d1.1"}
	}
	read := func(turn events.ModelCallID, tool, result string, shown ...events.EntryID) {
		ref := events.CallRef{ModelCall: turn, CallID: events.CallID("call_" + turn), Arguments: "{}"}
		facilitator(events.ModelCalled{ID: turn, Model: "big", Reply: events.Reply{ToolCalls: []events.ToolCall{{ID: ref.CallID, Name: tool, Arguments: "{}"}}}})
		facilitator(events.ToolCallDone{Agent: events.FacilitatorID, Tool: tool, Result: result, Phase: "complete", ShownEntries: shown, CallRef: ref})
	}
	facilitator(events.TasksCreated{Tasks: []events.Task{{ID: 1, Text: "breakfast", AssignedTo: "food"}}})
	food(events.AgentStarted{Agent: "food", DisplayName: "Food", TaskIDs: []events.TaskID{1}, CallRef: events.CallRef{ModelCall: "f.1", CallID: "c1"}})
	food(events.ModelCalled{ID: "d1.1", Model: "small", Usage: events.Usage{InputTokens: 500, OutputTokens: 12}})
	food(write(1, "The **Nishiki** market\nopens at nine in the morning. Go there early!"))
	food(write(2, "- 錦市場は朝九時に開きます。静かな時間に行きましょう。\n- The tofu house is closed on Mondays"))
	food(write(3, "The facilitator never saw this sentence before it wrote."))
	food(write(4, "What was read without ids stands here in one piece."))
	food(events.AgentFinished{Agent: "food", DisplayName: "Food", CallID: "c1", Status: events.OutcomeOK, Result: "done"})
	read("f.1", "read_document", "[1] … [2] …", 1, 2)
	merged := write(5, "In short: The **Nishiki** market\nopens at nine in the morning. Go there early!")
	merged.Author, merged.Replaced, merged.Merged, merged.ModelCall = events.FacilitatorID, []events.EntryID{1}, []events.EntryID{1}, "f.2"
	merged.Spans = []events.Span{{Start: len("In short: "), End: len(merged.Content), Entry: 1}}
	facilitator(merged)
	read("f.3", "read_document_clean", "## Day 1\n\nWhat was read without ids stands here in one piece.\n")
	facilitator(events.ModelCalled{ID: "f.4", Model: "big", Reply: events.Reply{Text: content, FinishReason: events.FinishStop}, Usage: events.Usage{InputTokens: 900, OutputTokens: 100}})
	facilitator(events.FinalAnswer{Content: content, Fallback: fallback})
	s.at(int(s.seq)*10, "", "", events.WorkflowFinished{Status: events.StatusCompleted})
	return log, s
}

// Proves R71, R16: pointing at a sentence of the answer tells the call that wrote it,
// and its source where it stands word for word in an entry that the call had been
// shown; of other sentences no more is said than the log proves.
func TestProvenanceOfTheAnswer(t *testing.T) {
	t.Parallel()
	content := strings.Join([]string{
		"Eat well in Kyoto, my friends.",
		"The Nishiki *market* opens   at nine in the morning.",
		"**Then**: go on. Yes. 静かな時間に行きましょう、と彼。 錦市場は朝九時に開きます。",
		"The tofu house is closed on Mondays, they say.",
		"The facilitator never saw this sentence before it wrote.",
		"What was read without ids stands here in one piece.",
		"{{entry:2}}",
	}, "\n\n")
	log, s := answered(t, content, false)
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	b.open(server.url("/runs/" + string(s.run)))
	b.wait(`document.querySelectorAll('.answer .s').length > 8`)
	told := func(start string) string {
		t.Helper()
		b.wait(fmt.Sprintf(`(() => {
			const s = [...document.querySelectorAll('.answer .s')].find((e) => e.innerText.trim().startsWith(%q));
			if (!s) return false;
			document.activeElement.blur();
			s.focus();
			return document.activeElement === s && document.querySelector('.provenance').innerText.includes('answer');
		})()`, start))
		b.frames(2)
		text := strings.Join(strings.Fields(b.text(".provenance")), " ")
		require.Contains(t, text, "answer ← written by Facilitator call f.4 (big, 1.0k tok, cost unknown)")
		return strings.TrimPrefix(text, "answer ← written by Facilitator call f.4 (big, 1.0k tok, cost unknown) ")
	}
	const unproved = "It had been shown 4 entries: 1–2, 4–5."
	entry := func(id int) string {
		return fmt.Sprintf("word for word in entry %d ← Food ← task 1 ← call d1.1 (small, 512 tok, cost unknown)", id)
	}
	require.Equal(t, unproved, told("Eat well"))
	// The newest entry that has it repeats the first by reference: Markdown and white
	// space differ, and the sentence is in three pieces.
	for _, piece := range []string{"The Nishiki", "market", "opens"} {
		require.Equal(t, entry(1)+" repeated by reference in entry 5 by Facilitator", told(piece))
	}
	b.shot("answer-provenance")
	b.scheme("dark")
	b.size(390, 844, true)
	b.shot("answer-provenance-phone")
	b.size(1440, 900, false)
	b.scheme("light")
	require.Equal(t, unproved, told("Yes."), "too short to prove anything")
	require.Equal(t, unproved, told("静かな"), "it goes on otherwise")
	require.Equal(t, entry(2), told("錦市場"))
	require.Equal(t, unproved, told("The tofu house"), "a part of a sentence")
	require.Equal(t, unproved, told("The facilitator never"), "it stands in an entry that was not shown")
	require.Equal(t, entry(4), told("What was read"))
	require.Equal(t, strings.Replace(entry(2), "word for word in", "it refers to", 1), told("{{entry"))
	b.click(".provenance .source + .source .link")
	b.wait(`document.querySelector('.detail pre')?.innerText.includes('"entry_id": 2')`)
	b.press("j")
	b.wait(`document.activeElement.classList.contains('s')`)
	b.clean()

	log, s = answered(t, "The tofu house is closed on Mondays", true)
	server = serve(t, web.Config{Log: log})
	b.open("about:blank")
	b.open(server.url("/runs/" + string(s.run)))
	b.wait(`document.querySelectorAll('.answer .s').length === 1`)
	b.press("j")
	b.wait(`/no model wrote it[^]*word for word in\s+entry 2/.test(document.querySelector('.provenance').innerText)`)
	b.clean()
}
