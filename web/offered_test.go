package web_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/thread"
)

// offeredConfig is the configuration of a run whose billing is asked, talks and supervises, too.
const offeredConfig = `{"agents": [
	{"id": "facilitator", "system": "Lead.", "tools": [{"name": "create_tasks", "description": "Adds tasks.", "parameters": {"type": "object"}}]},
	{"id": "billing", "system": "Work.", "asked_system": "Answer.", "tools": [
		{"name": "write_section", "description": "Writes.", "parameters": {}}, {"name": "search", "description": "Finds <b>it</b>.", "parameters": {"type": "object"}}],
		"session": {"system": "Talk.", "tools": [{"name": "return_control", "description": "Gives it back.", "parameters": {}}]},
		"supervisor": {"system": "Watch.", "tools": [{"name": "note_to_user", "description": "Writes a note.", "parameters": {}}]}},
	{"id": "idle", "tools": []}]}`

// Proves R71: the page tells as the runner does what each model was sent beside the
// conversation: at work, when asked, with the conversation, and as supervisor.
func TestPageAndRunnerOfferAlike(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.add(events.WorkflowStarted{Message: "Help", Team: "test", Config: json.RawMessage(offeredConfig), Agents: []events.AgentCard{{ID: events.FacilitatorID}, {ID: "billing"}}})
	add := func(agent events.AgentID, dispatch events.DispatchID, facts ...events.Event) {
		for _, fact := range facts {
			require.NoError(t, log.Append(t.Context(), s.key, s.epoch, s.seq, []events.Envelope{{Run: s.run, Agent: agent, Dispatch: dispatch, Data: fact}}))
			s.seq++
		}
	}
	called := func(id events.ModelCallID, calls ...events.ToolCall) events.ModelCalled {
		return events.ModelCalled{ID: id, Model: "m", Attempts: 1, Reply: events.Reply{ToolCalls: calls}}
	}
	started := func(tool string, index int, asked bool) events.AgentStarted {
		return events.AgentStarted{Agent: "billing", TaskIDs: []events.TaskID{}, Tool: tool, Asked: asked, CallRef: events.CallRef{ModelCall: "f.1", Index: index}}
	}
	add(events.FacilitatorID, "", called("f.1", events.ToolCall{Name: "call_billing"}, events.ToolCall{Name: "ask_specialists"}))
	add("billing", "d1", started("call_billing", 0, false), called("d1.1"))
	add("billing", "d2", started("ask_specialists", 1, true), called("d2.1"))
	add("billing", "d3", started(events.SuperviseTool, 0, true), called("d3.1"))
	add(events.FacilitatorID, "", events.HandoffRequested{HandoffID: "h1", Source: events.FacilitatorID, Target: "billing", Reason: "r"}, events.HandoffAccepted{HandoffID: "h1"})
	add("billing", "h1", called("h1.1"))
	bodies := encoded(t, log, s.key)
	var want []string
	th := thread.New()
	for _, body := range bodies {
		env, err := events.Decode([]byte(body))
		require.NoError(t, err)
		require.NoError(t, th.Apply(env), body)
		if _, ok := env.Data.(events.ModelCalled); !ok {
			continue
		}
		offered, err := runner.OfferedTo(th.Current(), env.Agent, env.Dispatch)
		require.NoError(t, err)
		tools := []any{}
		for _, tool := range offered.Tools {
			tools = append(tools, map[string]any{"name": tool.Name, "description": tool.Description, "parameters": tool.Parameters})
		}
		text, err := json.Marshal(map[string]any{"system": offered.System, "tools": tools})
		require.NoError(t, err)
		want = append(want, string(text))
	}
	have := pageFold(t, "offers", bodies)
	require.Len(t, have, len(want))
	for i := range want {
		require.JSONEq(t, want[i], have[i])
	}
	for i, system := range []string{"Lead.", "Work.", "Answer.", "Watch.", "Talk."} {
		require.Contains(t, have[i], `"system":"`+system+`"`)
	}
}
