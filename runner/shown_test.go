package runner_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/team"
)

// twoEntries plays a run in which alpha writes two entries into one slot; the
// facilitator's turns after its work are given.
func twoEntries(t *testing.T, tm *team.Team, first, second string, turns ...llmtest.Step) (played, *llmtest.Scripted) {
	t.Helper()
	steps := append([]llmtest.Step{llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1))}, turns...)
	script := llmtest.Script(t, llmtest.Agent(boss, steps...),
		llmtest.Agent(alpha, llmtest.Calls("", write("a", first), write("a", second), complete(1)), llmtest.Says("Did it")))
	p := play(t, script, tm)
	require.Equal(t, events.StatusCompleted, p.Status, p.Reason)
	return p, script
}

func read(section string) events.ToolCall {
	return llmtest.Call("read_document", args{"section": section})
}

func merge(section, content string) events.ToolCall {
	return llmtest.Call("consolidate_section", args{"section": section, "content": content})
}

// live are the ids of the entries in the document at the end.
func (p played) live() []events.EntryID {
	var ids []events.EntryID
	document := p.thread.Current().Document
	for _, place := range document.Places() {
		for _, entry := range document.Entries(place) {
			ids = append(ids, entry.ID)
		}
	}
	return ids
}

// Every script has the same room: two Japanese entries of 9,600 characters, 28.8 kB
// each, are read whole, as two of as many English ones are.
func TestJapaneseEntriesAreReadWhole(t *testing.T) {
	first, second := strings.Repeat("京都の朝。", 1920), strings.Repeat("大阪の夜。", 1920)
	require.Equal(t, 9600, utf8.RuneCountInString(first))
	p, script := twoEntries(t, pair(), first, second,
		llmtest.Calls("", read("a")), llmtest.Calls("", merge("a", "{{entry:1}}")), llmtest.Says("Done"))
	p.completed(t)
	messages := script.Requests(boss)[3].Messages
	sent := messages[len(messages)-1].Content
	require.Contains(t, sent, first)
	require.Contains(t, sent, second)
	require.NotContains(t, sent, "[cut:")
	require.Equal(t, []events.EntryID{3}, p.live(), "both were read, so both are replaced")
}

// What is cut off a result was not read: it is not replaced.
func TestEntriesBeyondTheBoundOfAResultStay(t *testing.T) {
	tight := pair(func(l *team.Limits) { l.MaxToolResultChars = 15_000 })
	first, second := strings.Repeat("京都の朝。", 1920), strings.Repeat("大阪の夜。", 1920)
	p, script := twoEntries(t, tight, first, second,
		llmtest.Calls("", read("a")), llmtest.Calls("", merge("a", "{{entry:1}}")), llmtest.Says("Done"))
	messages := script.Requests(boss)[3].Messages
	sent := messages[len(messages)-1].Content
	require.Contains(t, sent, first)
	require.NotContains(t, sent, second)
	require.Contains(t, sent, "[cut: 15000 of ")
	require.Equal(t, 15_000, utf8.RuneCountInString(sent[:strings.Index(sent, "…\n[cut:")]))
	require.Equal(t, []events.EntryID{1}, p.of(events.KindToolCall)[4].Data.(events.ToolCallDone).ShownEntries)
	require.Equal(t, []events.EntryID{2, 3}, p.live(), "the second was not seen")
	require.Contains(t, p.results("consolidate_section")[0], "Not merged, because you have not read them: entry 2")
	require.Equal(t, []events.Limit{events.LimitMaxToolResultChars}, p.limits())
}

// An entry that no reading can show whole is said to stay, and stays; those beside it
// can be read.
func TestEntryLongerThanAReading(t *testing.T) {
	tight := pair(func(l *team.Limits) { l.MaxToolResultChars = 5000 })
	p, script := twoEntries(t, tight, strings.Repeat("長", 6000), "Short.",
		llmtest.Calls("", read("a")), llmtest.Calls("", merge("a", "{{entry:1}}")), llmtest.Calls("", merge("a", "Shorter.")), llmtest.Says("Done"))
	messages := script.Requests(boss)[3].Messages
	require.Contains(t, messages[len(messages)-1].Content, "It is longer than a reading can be, and stays as it is.")
	require.Contains(t, p.results("consolidate_section")[0], "entry 1 is not one that you have read")
	require.Equal(t, []events.EntryID{1, 3}, p.live())
	require.Empty(t, p.limits())
}

// What a turn reads is known to the next one, not to the turn itself: it was written
// before the result was there.
func TestReadingInTheTurnOfTheMerge(t *testing.T) {
	p, _ := twoEntries(t, pair(), "One.", "Two.",
		llmtest.Calls("", read("a"), merge("a", "Both.")), llmtest.Calls("", merge("a", "Both.")), llmtest.Says("Done"))
	p.completed(t)
	require.Contains(t, p.results("consolidate_section")[0], "You have not read")
	require.Equal(t, []events.EntryID{3}, p.live())
}
