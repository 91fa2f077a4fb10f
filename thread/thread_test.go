package thread_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/eventstest"
	"github.com/convene-run/convene/thread"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// history is a thread that is built fact by fact.
type history struct {
	t   require.TestingT
	th  *thread.Thread
	run events.RunID
}

func begin(t require.TestingT) *history {
	h := &history{t, thread.New(), "r"}
	h.add("", events.WorkflowStarted{Message: "Hello"})
	return h
}

func (h *history) envelope(dispatch events.DispatchID, data events.Event) events.Envelope {
	return events.Envelope{
		Tenant: events.LocalTenant, Thread: "t", Run: h.run, Seq: h.th.Seq + 1,
		Time: noon.Add(time.Duration(h.th.Seq) * time.Second), Dispatch: dispatch, Data: data,
	}
}

func (h *history) add(dispatch events.DispatchID, data events.Event) {
	require.NoError(h.t, h.th.Apply(h.envelope(dispatch, data)))
}

func (h *history) refuses(t *testing.T, dispatch events.DispatchID, data events.Event, why string) {
	t.Helper()
	before := h.th.Seq
	require.ErrorContains(t, h.th.Apply(h.envelope(dispatch, data)), why)
	require.Equal(t, before, h.th.Seq)
}

func turn(id events.ModelCallID, calls ...events.ToolCall) events.ModelCalled {
	return events.ModelCalled{ID: id, Reply: events.Reply{Text: "Turn " + string(id), ToolCalls: calls}}
}

func result(id events.ModelCallID, index int, call events.ToolCall, text string) events.ToolCallDone {
	return events.ToolCallDone{Tool: call.Name, Result: text, CallRef: events.CallRef{ModelCall: id, Index: index, CallID: call.ID}}
}

func contents(c *thread.Conversation) []string {
	var list []string
	for _, m := range c.Messages() {
		list = append(list, m.Content)
	}
	return list
}

var one, two = events.ToolCall{ID: "a", Name: "one"}, events.ToolCall{ID: "b", Name: "two"}

// Results stand in the order of the calls, whatever order they came in, and only once
// all of them are there.
func TestResultsInCallOrder(t *testing.T) {
	h := begin(t)
	c := h.th.Current().Facilitator
	h.add("", turn("f.1", one, two))
	require.Equal(t, []string{"Turn f.1"}, contents(c))
	h.add("", result("f.1", 1, two, "second"))
	require.Equal(t, []string{"Turn f.1"}, contents(c))
	require.NotNil(t, c.Turn())
	h.add("", result("f.1", 0, one, "first"))
	require.Equal(t, []string{"Turn f.1", "first", "second"}, contents(c))
	require.Nil(t, c.Turn())
	require.Equal(t, events.ModelCallID("f.2"), c.NextTurn())
	require.Equal(t, events.ModelCallID("f.1"), c.LastTurn())
}

// What a person says while calls are under way stands behind their results: a model's
// endpoint takes nothing between them.
func TestMessageWhileCallsAreUnderWay(t *testing.T) {
	h := begin(t)
	c := h.th.Current().Facilitator
	h.add("", turn("f.1", one))
	h.add("", events.UserMessage{Content: "And sushi"})
	require.Equal(t, []string{"Turn f.1"}, contents(c))
	h.add("", result("f.1", 0, one, "first"))
	require.Equal(t, []string{"Turn f.1", "first", "And sushi"}, contents(c))
	h.add("", turn("f.2", two))
	h.refuses(t, "", events.UserMessage{Content: "Go on", Synthetic: true}, "between the calls")
}

// What others post too late, or to nobody, is in the log and changes nothing: a thread
// stays readable whoever posts whenever.
func TestPostsThatComeTooLate(t *testing.T) {
	late := []events.Event{events.CancelRequested{Reason: "late"}, events.UserMessage{Content: "late"}}
	h := begin(t)
	h.add("d7", events.UserMessage{Content: "to nobody"})
	h.add("", events.WorkflowFinished{Status: events.StatusCompleted})
	for _, post := range late {
		h.add("", post)
	}
	run := h.th.Current()
	require.Equal(t, events.StatusCompleted, run.Status)
	require.Nil(t, run.CancelRequested)
	require.Empty(t, contents(run.Facilitator))
	require.Equal(t, events.Seq(5), h.th.Seq)
	h.refuses(t, "", events.FinalAnswer{}, "has finished")

	again := h.envelope("", events.WorkflowStarted{Message: "Once more"})
	again.Run = "r2"
	require.NoError(t, h.th.Apply(again))
	for _, post := range late {
		h.add("", post) // to the run before
	}
	require.Nil(t, h.th.Current().CancelRequested)

	cancelled := begin(t)
	cancelled.add("", events.RunCancelled{})
	for _, post := range late {
		cancelled.add("", post)
	}
	require.Empty(t, contents(cancelled.th.Current().Facilitator))
}

// Empty replies count while they follow each other.
func TestEmptyRepliesInARow(t *testing.T) {
	h := begin(t)
	c := h.th.Current().Facilitator
	h.add("", events.ModelCalled{ID: "f.1"})
	h.add("", events.ModelCalled{ID: "f.2", Reply: events.Reply{Text: " \n", FinishReason: events.FinishLength}})
	require.Equal(t, 2, c.EmptyReplies())
	require.Equal(t, events.FinishLength, c.LastFinish())
	h.add("", turn("f.3"))
	require.Zero(t, c.EmptyReplies())
	require.Equal(t, []string{"Turn f.3"}, contents(c))
}

// Events that contradict the log are errors that name the event.
func TestContradictions(t *testing.T) {
	started := events.AgentStarted{Agent: "alpha", Tool: "one", CallRef: events.CallRef{ModelCall: "f.1", CallID: "a"}}
	for name, c := range map[string]struct {
		before   []events.Event
		dispatch events.DispatchID
		event    events.Event
		why      string
	}{
		"a second start":           {nil, "", events.WorkflowStarted{}, "has not finished"},
		"a turn out of order":      {nil, "", turn("f.2"), "f.1 is next"},
		"a result of no turn":      {nil, "", result("f.3", 0, one, ""), "f.1 is next"},
		"a result twice":           {[]events.Event{turn("f.1", one, two), result("f.1", 0, one, "")}, "", result("f.1", 0, one, ""), "has a result already"},
		"a result of no call":      {[]events.Event{turn("f.1", one)}, "", result("f.1", 7, one, ""), "has no call 7"},
		"a result of another turn": {[]events.Event{turn("f.1", one)}, "", result("f.2", 0, one, ""), "while f.1 is under way"},
		"a start twice":            {[]events.Event{events.ToolStarted{Tool: "one", CallRef: events.CallRef{ModelCall: "f.1"}}}, "", events.ToolStarted{Tool: "one", CallRef: events.CallRef{ModelCall: "f.1"}}, "has started already"},
		"a dispatch out of order":  {[]events.Event{turn("f.1", one)}, "d2", started, "d1 is next"},
		"the end of no dispatch":   {nil, "d1", events.AgentFinished{}, "is not under way"},
		"a turn of no dispatch":    {nil, "d1", turn("d1.1"), "no dispatch d1"},
		"compaction amid calls":    {[]events.Event{turn("f.1", one)}, "", events.HistoryCompacted{}, "between the calls"},
		"work on a cancelled run":  {[]events.Event{events.RunCancelled{}}, "", events.TasksCreated{}, "cancelled"},
		"an answer of a cancelled": {[]events.Event{events.RunCancelled{}}, "", events.FinalAnswer{}, "cancelled"},
		"a task that is not there": {nil, "", events.TaskUpdated{Task: events.Task{ID: 4}}, "task 4"},
	} {
		t.Run(name, func(t *testing.T) {
			h := begin(t)
			for _, event := range c.before {
				h.add("", event)
			}
			h.refuses(t, c.dispatch, c.event, c.why)
		})
	}
	h := begin(t)
	skipped := h.envelope("", turn("f.1"))
	skipped.Seq++
	require.ErrorIs(t, h.th.Apply(skipped), thread.ErrOutOfOrder)
}

// A dispatch is fruitless while it wrote nothing and completed nothing itself.
func TestFruitless(t *testing.T) {
	h := begin(t)
	run := h.th.Current()
	h.add("", events.TasksCreated{Tasks: []events.Task{{ID: 1, AssignedTo: "alpha"}, {ID: 2, AssignedTo: "alpha"}}})
	again := func(n int, tasks []events.TaskID, work ...events.Event) {
		id := h.th.NextDispatch()
		ref := events.CallRef{ModelCall: run.Facilitator.NextTurn(), CallID: events.CallID(id)}
		h.add("", turn(ref.ModelCall, events.ToolCall{ID: ref.CallID, Name: "call_alpha"}))
		h.add(id, events.AgentStarted{Agent: "alpha", Tool: "call_alpha", TaskIDs: tasks, CallRef: ref})
		require.Len(t, run.Busy(), len(tasks))
		for _, event := range work {
			h.add(id, event)
		}
		h.add(id, events.AgentFinished{Agent: "alpha"})
		require.Empty(t, run.Busy())
		require.Equal(t, n, run.Fruitless("alpha", []events.TaskID{2, 1}))
	}
	both := []events.TaskID{1, 2}
	again(1, both)
	again(2, both)
	again(2, []events.TaskID{1}) // other tasks are another matter
	again(0, both, events.DocumentUpdated{Version: 1, EntryID: 1, Author: "alpha", Section: "a", Slot: "general", Content: "A"})
	again(1, both, events.TaskUpdated{Task: events.Task{ID: 1, AssignedTo: "alpha", Finished: true}, AutoCompleted: true})
	again(0, both, events.TaskUpdated{Task: events.Task{ID: 2, AssignedTo: "alpha", Finished: true}})
}

// Whatever is fed to it, a fold gives an error or takes the event; it never panics, and
// an event that it refused leaves the sequence where it was.
func TestFoldNeverPanics(t *testing.T) {
	samples := eventstest.Samples()
	var kinds []events.Kind
	for kind := range samples {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	rapid.Check(t, func(rt *rapid.T) {
		h := begin(rt)
		for range rapid.IntRange(1, 30).Draw(rt, "events") {
			kind := rapid.SampledFrom(kinds).Draw(rt, "kind")
			dispatch := rapid.SampledFrom([]events.DispatchID{"", "d1", "d2"}).Draw(rt, "dispatch")
			before := h.th.Seq
			if err := h.th.Apply(h.envelope(dispatch, samples[kind])); err != nil {
				require.ErrorContains(rt, err, string(kind))
				require.Equal(rt, before, h.th.Seq)
				return // a refusal ends a log
			}
			require.Equal(rt, before+1, h.th.Seq)
		}
	})
}

// A turn that broke off waits for its rest, whose calls become further calls of it.
// Where the log goes on without one, as logs of before do, it stands as it is.
func TestRestOfATurn(t *testing.T) {
	cut := turn("f.1", one)
	cut.Interrupted = true
	rest := events.ModelCalled{ID: "f.1r", Purpose: events.PurposeRest, Reply: events.Reply{Text: "Sorry", ToolCalls: []events.ToolCall{two}}}
	settled := []string{"Turn f.1", "first"}

	h := begin(t)
	c := h.th.Current().Facilitator
	h.refuses(t, "", rest, "the rest of no turn")
	h.add("", cut)
	require.True(t, c.Turn().LacksRest())
	h.add("", result("f.1", 0, one, "first"))
	require.Equal(t, settled, contents(c))
	require.True(t, c.Turn().LacksRest())
	require.False(t, c.Turn().Open())
	h.add("", rest)
	require.Equal(t, []string{"Turn f.1"}, contents(c))
	require.Equal(t, []events.ToolCall{one, two}, c.Messages()[0].ToolCalls)
	require.True(t, h.th.CallIDTaken("b"))
	h.add("", result("f.1", 1, two, "second"))
	require.Equal(t, []string{"Turn f.1", "first", "second"}, contents(c))
	require.Nil(t, c.Turn())
	require.Equal(t, events.ModelCallID("f.2"), c.NextTurn(), "it is no turn of its own")
	h.refuses(t, "", rest, "the rest of no turn")

	h = begin(t)
	c = h.th.Current().Facilitator
	h.add("", cut)
	rest.Reply.ToolCalls = nil
	h.add("", rest)
	h.refuses(t, "", rest, "the rest of no turn")
	h.add("", result("f.1", 0, one, "first"))
	require.Nil(t, c.Turn())
	require.Equal(t, settled, contents(c), "a rest without calls adds nothing")

	for name, next := range map[string]events.Event{
		"a turn":         turn("f.2"),
		"an early call":  events.ToolStarted{Tool: "two", CallRef: events.CallRef{ModelCall: "f.2", CallID: "b"}},
		"a nudge":        events.UserMessage{Synthetic: true, Content: "Go on"},
		"the compaction": events.HistoryCompacted{ThroughTurn: "f.1", Summary: "All"},
	} {
		h := begin(t)
		h.add("", cut)
		h.add("", result("f.1", 0, one, "first"))
		h.add("", next)
		c := h.th.Current().Facilitator
		require.False(t, c.Turn().LacksRest(), name)
		if name != "the compaction" {
			require.Equal(t, settled, contents(c)[:2], name)
		}
	}
}

// Entries count as shown to the facilitator once a request has carried the result that
// shows them: not within the turn that reads them, and not where a compaction shortens
// the result.
func TestShownOnceSent(t *testing.T) {
	reads := func(turn events.ModelCallID, entries ...events.EntryID) events.ToolCallDone {
		done := result(turn, 0, events.ToolCall{ID: events.CallID(turn), Name: "read_document"}, "the document")
		done.ShownEntries = entries
		return done
	}
	call := func(id events.ModelCallID) events.ModelCalled {
		return turn(id, events.ToolCall{ID: events.CallID(id), Name: "read_document"})
	}
	h := begin(t)
	run := h.th.Current()
	h.add("", call("f.1"))
	h.add("", reads("f.1", 1, 2))
	require.Empty(t, run.Shown)
	h.add("", events.ModelCalled{ID: "f.1c", Purpose: events.PurposeCompact})
	require.Empty(t, run.Shown, "a summary is no turn")
	h.add("", reads("f.2", 3)) // early: before the reply that calls it is whole
	h.add("", call("f.2"))
	require.Equal(t, map[events.EntryID]bool{1: true, 2: true}, run.Shown)
	h.add("", call("f.3"))
	require.True(t, run.Shown[3])
	h.add("", reads("f.3", 4))
	h.add("", events.HistoryCompacted{ThroughTurn: "f.3", Summary: "All"})
	h.add("", turn("f.4"))
	require.False(t, run.Shown[4])
}

// Each run has the layout that its own first event names, whatever the runs before it had.
func TestEachRunHasItsOwnLayout(t *testing.T) {
	for _, layout := range []string{`{"kind":"travel"}`, `{"kind":"free"}`, `{"kind":"free"}`, `{"kind":"travel"}`} {
		h := &history{t, thread.New(), "r"}
		h.add("", events.WorkflowStarted{Message: "Hello", Layout: json.RawMessage(layout)})
		written, err := json.Marshal(h.th.Current().Document.Layout())
		require.NoError(t, err)
		require.Equal(t, layout, string(written))
	}
}
