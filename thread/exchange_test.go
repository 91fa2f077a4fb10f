package thread_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// talk is a thread without runs.
func talk(t require.TestingT) *history { return &history{t, thread.New(), ""} }

// begin starts the next run of the thread, which the event says more of.
func (h *history) begin(run events.RunID, started events.WorkflowStarted) {
	h.run = run
	h.add("", started)
}

// answer ends the run.
func (h *history) answer(text string) {
	h.add("", events.FinalAnswer{Content: text})
	h.add("", events.WorkflowFinished{Status: events.StatusCompleted})
}

// earlier is what the run under way sees of those before it.
func (h *history) earlier() []string {
	var list []string
	for _, m := range h.th.Current().Facilitator.AppendEarlier(nil) {
		list = append(list, string(m.Role)+": "+m.Content)
	}
	return list
}

// Proves R25: a run sees what was asked and answered before it in the thread, in order,
// and nothing of the tools' work.
func TestRunFollowsTheExchangesOfItsThread(t *testing.T) {
	h := talk(t)
	h.begin("a", events.WorkflowStarted{Message: "Kyoto", Prompt: "Plan Kyoto"})
	require.Empty(t, h.earlier())
	h.add("", turn("f.1", one))
	h.add("", events.UserMessage{Content: "and Nara"})
	h.add("", result("f.1", 0, one, "secret of a tool"))
	h.add("", events.UserMessage{Content: "Go on", Synthetic: true, Reason: "empty_reply"})
	h.answer("Three days")

	h.begin("b", events.WorkflowStarted{Message: "Cheaper", Follows: "a"})
	first := []string{"user: Plan Kyoto", "user: and Nara", "assistant: Three days"}
	require.Equal(t, first, h.earlier())
	require.Empty(t, h.th.Current().Facilitator.Messages(), "they are not of this run")
	h.add("", events.WorkflowFinished{Status: events.StatusFailed})

	h.begin("c", events.WorkflowStarted{Message: "Once more", Follows: "b"})
	both := append(first, "user: Cheaper", "assistant: (No answer was given: this request is failed.)")
	require.Equal(t, both, h.earlier())
	h.answer("Two days")

	h.begin("d", events.WorkflowStarted{Message: "As it was logged before"})
	require.Empty(t, h.earlier(), "what was written keeps its meaning")
}

// Proves R73: a run that continues another one stands in its place for those that follow.
func TestContinuedRunTakesThePlaceOfTheOneBefore(t *testing.T) {
	h := talk(t)
	h.begin("a", events.WorkflowStarted{Message: "One"})
	h.answer("1")
	h.begin("b", events.WorkflowStarted{Message: "Two", Follows: "a"})
	h.add("", events.WorkflowFinished{Status: events.StatusFailed})
	h.begin("c", events.WorkflowStarted{Message: "Three", Follows: "b"})
	h.answer("3")
	h.begin("b2", events.WorkflowStarted{Message: "Two", Continues: "b"})
	require.Equal(t, []string{"user: One", "assistant: 1"}, h.earlier(), "what the attempt before it saw")
	h.answer("2")
	h.begin("d", events.WorkflowStarted{Message: "Four", Follows: "b2"})
	require.Equal(t, []string{"user: One", "assistant: 1", "user: Three", "assistant: 3", "user: Two", "assistant: 2"}, h.earlier())
}

// A summary stands for what the run that was compacted had seen, for those that follow it
// too, and for nothing else.
func TestSummaryStandsForEarlierExchanges(t *testing.T) {
	h := talk(t)
	h.begin("a", events.WorkflowStarted{Message: "One"})
	h.answer("1")
	h.begin("b", events.WorkflowStarted{Message: "Two", Follows: "a"})
	h.add("", events.WorkflowFinished{Status: events.StatusFailed})
	h.begin("c", events.WorkflowStarted{Message: "Three", Follows: "b"})
	h.answer("3")
	h.begin("b2", events.WorkflowStarted{Message: "Two", Continues: "b"})
	h.add("", events.HistoryCompacted{Summary: "One is 1"})
	require.Empty(t, h.earlier())
	h.answer("2")
	h.begin("d", events.WorkflowStarted{Message: "Four", Follows: "b2"})
	summary := "user: " + thread.SummaryMessage("One is 1").Content
	require.Equal(t, []string{summary, "user: Three", "assistant: 3", "user: Two", "assistant: 2"}, h.earlier())
	h.add("", events.HistoryCompacted{Summary: "One to three"})
	h.answer("4")
	h.begin("e", events.WorkflowStarted{Message: "Five", Follows: "d"})
	require.Equal(t, []string{"user: " + thread.SummaryMessage("One to three").Content, "user: Four", "assistant: 4"}, h.earlier())
}

// A run follows the newest one only: the log is else not one that convene wrote.
func TestRunFollowsTheNewest(t *testing.T) {
	h := talk(t)
	h.begin("a", events.WorkflowStarted{Message: "One"})
	h.answer("1")
	h.begin("b", events.WorkflowStarted{Message: "Two", Follows: "a"})
	h.answer("2")
	h.run = "c"
	h.refuses(t, "", events.WorkflowStarted{Message: "Three", Follows: "a"}, thread.ErrNoSuchRun.Error())
}

// On the wire the facilitator has no dispatch; in code every agent at work has an id, with
// which the ids of its model calls begin.
func TestActors(t *testing.T) {
	h := begin(t)
	h.add("", turn("f.1", one))
	h.add("", result("f.1", 0, one, "1"))
	h.add("d1", events.AgentStarted{Agent: "food", Asked: true})
	run := h.th.Current()
	for dispatch, id := range map[events.DispatchID]thread.ActorID{"": thread.Facilitator, "d1": "d1"} {
		require.Equal(t, id, thread.ActorOf(dispatch))
		require.Equal(t, dispatch, id.Dispatch())
		require.Contains(t, string(run.Conversation(id).NextTurn()), string(id)+".")
	}
	require.Nil(t, run.Conversation("d2"))
	require.Nil(t, run.Conversation(""), "the run itself says nothing")
	tx := h.th.Begin(noon)
	tx.Emit(events.FacilitatorID, thread.Facilitator, events.Warning{Code: "a"})
	tx.Emit("food", "d1", events.Warning{Code: "b"})
	tx.Emit("", "", events.Warning{Code: "c"})
	facts, err := tx.Facts()
	require.NoError(t, err)
	require.Equal(t, []events.DispatchID{"", "d1", ""}, []events.DispatchID{facts[0].Dispatch, facts[1].Dispatch, facts[2].Dispatch})
}
