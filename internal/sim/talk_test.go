package sim_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
)

// fakeTalk is the history of one agent's talk with the user.
type fakeTalk struct {
	t        *testing.T
	messages []events.Message
	tools    []llm.Tool
}

const builderPrompt = `You are Builder. The conversation with the user was handed over to you.

- gathering: ask. Which service is it for? How often should it run?
- drafting: write FILE.md. Is anything missing in it?
- complete: give the conversation back.

Rules:
- Do you see this? It is no question to ask.`

func talkWith(t *testing.T, system string, tools ...llm.Tool) *fakeTalk {
	return &fakeTalk{t: t, tools: tools, messages: []events.Message{{Role: events.RoleSystem, Content: system}}}
}

// say adds what the agent hears and plays its turns to the next text; the calls that it
// makes on the way are answered as given, "ok" by default.
func (f *fakeTalk) say(text string, results ...string) (answer string, calls []events.ToolCall) {
	f.messages = append(f.messages, events.Message{Role: events.RoleUser, Content: text})
	for range maxFakeTurns {
		reply := sim.New(sim.Options{}).Reply(llm.Request{Messages: f.messages, Tools: f.tools})
		f.messages = append(f.messages, reply.Message())
		if len(reply.ToolCalls) == 0 {
			return reply.Text, calls
		}
		ends := false
		for _, call := range reply.ToolCalls {
			result := "ok"
			if len(results) > 0 {
				result, results = results[0], results[1:]
			}
			f.messages = append(f.messages, events.Message{Role: events.RoleTool, ToolCallID: call.ID, Content: result})
			ends = ends || result == "ok" && (call.Name == "return_control" || call.Name == "handoff_conversation" || call.Name == "complete_phase")
		}
		if calls = append(calls, reply.ToolCalls...); ends {
			return reply.Text, calls
		}
	}
	f.t.Fatalf("no answer within %d turns", maxFakeTurns)
	return "", nil
}

func builderTools() []llm.Tool {
	return []llm.Tool{
		tool("return_control", "", object(map[string]any{
			"completion_status": map[string]any{"type": "string", "enum": []string{"completed", "cancelled", "error"}},
			"result_summary":    text(), "artifacts_created": map[string]any{"type": "array", "items": text()},
		}, "completion_status", "result_summary")),
		tool("set_workflow_state", "", object(map[string]any{
			"state": map[string]any{"type": "string", "enum": []string{"gathering", "drafting", "complete"}}, "metadata": object(nil),
		}, "state")),
	}
}

func names(calls []events.ToolCall) (list []string) {
	for _, call := range calls {
		list = append(list, call.Name)
	}
	return list
}

// A specialist takes its steps with the user: the questions of its prompt one step at a
// time, what it makes of the answers, and the conversation back at the end.
func TestTakesItsStepsWithTheUser(t *testing.T) {
	f := talkWith(t, builderPrompt, builderTools()...)
	f.messages = append(f.messages, events.Message{Role: events.RoleUser, Content: "[Context from previous agent (Assistant)]: Wants alerts"})
	answer, calls := f.say("I want to create a skill that sends alerts")
	require.Equal(t, []string{"set_workflow_state"}, names(calls))
	require.JSONEq(t, `{"state":"gathering","metadata":{"goal":"a skill that sends alerts","answers":[]}}`, calls[0].Arguments)
	require.Contains(t, answer, "Which service is it for? How often should it run?")
	require.NotContains(t, answer, "Do you see this")

	answer, calls = f.say("What can it do?")
	require.Empty(t, calls, "a question back is no answer")
	require.Contains(t, answer, "hich service is it for?")

	answer, calls = f.say("Slack, hourly")
	require.JSONEq(t, `{"state":"drafting","metadata":{"goal":"a skill that sends alerts","answers":["Slack, hourly"]}}`, calls[0].Arguments)
	require.Contains(t, answer, "1. Slack, hourly")
	require.Contains(t, answer, "Is anything missing in it?")

	_, calls = f.say("Looks good")
	require.Equal(t, []string{"set_workflow_state", "return_control"}, names(calls))
	require.JSONEq(t, `{"completion_status":"completed","result_summary":"A skill that sends alerts: Slack, hourly.","artifacts_created":["FILE.md"]}`, calls[1].Arguments)
}

// What ends a specialist's talk early: the user, and nothing that is refused for ever.
func TestATalkEnds(t *testing.T) {
	f := talkWith(t, builderPrompt, builderTools()...)
	f.say("Build me a skill")
	_, calls := f.say("Never mind")
	require.Contains(t, calls[0].Arguments, `"cancelled"`)

	f = talkWith(t, "You ask.", builderTools()[0])
	answer, calls := f.say("Check my order")
	require.Empty(t, calls)
	require.Contains(t, answer, "?")
	answer, calls = f.say("Number 12", "Error: no handoff is active", "Error: no handoff is active")
	require.Len(t, calls, 2)
	require.Contains(t, answer, "Number 12")
}

// With phases, the end of its questions completes the specialist's phase; where it has none
// it does its part at once.
func TestCompletesItsPhase(t *testing.T) {
	complete := tool("complete_phase", "", object(map[string]any{"result": text()}, "result"))
	f := talkWith(t, "You qualify. How many people use it?", complete, builderTools()[0])
	_, calls := f.say("Assess our shop system")
	require.Empty(t, calls)
	closing, calls := f.say("Twelve")
	require.NotEmpty(t, closing)
	require.Equal(t, []string{"complete_phase"}, names(calls))
	require.Contains(t, calls[0].Arguments, "Twelve")

	_, calls = talkWith(t, "You analyze.", complete, builderTools()[0]).say("Our shop system: twelve people")
	require.Equal(t, []string{"complete_phase"}, names(calls))
}

func moderatorTools(t *testing.T) []llm.Tool {
	targets := map[string]any{"type": "string", "enum": []string{"builder", "refunds"}}
	return append(travelTeam(t, nil).facilitatorTools(),
		tool("handoff_conversation", "Hands over. The specialists are:\n- builder: Creates a skill with the user.\n- refunds: Pays back orders.",
			object(map[string]any{"target": targets, "reason": text(), "summary": text()}, "target", "reason", "summary")),
		tool("ask_user", "", object(map[string]any{"question": text(), "choices": map[string]any{"type": "array", "items": text()}}, "question")))
}

// The facilitator hands over to who suits the request, says so where that is refused, and
// says in a sentence that it is back.
func TestHandsOver(t *testing.T) {
	for request, target := range map[string]string{
		"I want to create a skill that sends Slack alerts": "builder",
		"I'd like my order refunded":                       "refunds",
		"Plan a 3-day trip to Lisbon":                      "",
		"What is a skill?":                                 "",
		"Hello":                                            "",
	} {
		reply := sim.New(sim.Options{}).Reply(llm.Request{Tools: moderatorTools(t), Messages: []events.Message{{Role: events.RoleUser, Content: request}}})
		var args struct{ Target string }
		if len(reply.ToolCalls) > 0 {
			require.NoError(t, json.Unmarshal([]byte(reply.ToolCalls[0].Arguments), &args))
		}
		require.Equal(t, target, args.Target, request)
	}
	f := talkWith(t, "You lead.", moderatorTools(t)...)
	answer, _ := f.say("I want to create a skill", "Error: builder has the conversation already; finish that first")
	require.Contains(t, answer, "Builder has the conversation already; finish that first")

	for note, says := range map[string]string{
		"builder gives the conversation back (completed): Alerts to #ops.\nIt made: FILE.md\n\nAnswer the user now.":     "That is settled: alerts to #ops.\n\nMade along the way: FILE.md.",
		"builder gives the conversation back (completed):\n> Alerts\n> to #ops.\n\nAnswer the user now.":                 "That is settled: alerts\nto #ops.",
		"builder gives the conversation back (cancelled): The user left.\nIt stood at step 1 of 3.\n\nSay you are back.": "No problem, I'm back.",
		"builder gives the conversation back (error): it could not go on.\n\nTell the user.":                             "It could not go on.",
	} {
		answer, calls := talkWith(t, "You lead.", moderatorTools(t)...).say(note)
		require.Empty(t, calls)
		require.Contains(t, answer, says)
	}
}

// What a request lacks is asked for once, and the answer becomes part of the request.
func TestAsksForWhatIsMissing(t *testing.T) {
	f := talkWith(t, "You lead.", moderatorTools(t)...)
	f.messages = append(f.messages, events.Message{Role: events.RoleUser, Content: "Plan a trip for two"})
	reply := sim.New(sim.Options{}).Reply(llm.Request{Messages: f.messages, Tools: f.tools})
	require.Equal(t, "ask_user", reply.ToolCalls[0].Name)
	f.messages = append(f.messages, reply.Message(), events.Message{Role: events.RoleTool, ToolCallID: reply.ToolCalls[0].ID, Content: "Kyoto, three days"})
	reply = sim.New(sim.Options{}).Reply(llm.Request{Messages: f.messages, Tools: f.tools})
	require.Equal(t, "create_tasks", reply.ToolCalls[0].Name)
	require.Contains(t, reply.ToolCalls[0].Arguments, "Kyoto")
}

// A remark is answered from what was said before; a new request is new work.
func TestAnswersRemarksFromWhatWasSaid(t *testing.T) {
	f := talkWith(t, "You lead.", moderatorTools(t)...)
	f.messages = append(f.messages,
		events.Message{Role: events.RoleUser, Content: "Plan a 3-day trip to Lisbon"}, events.Message{Role: events.RoleAssistant, Content: "Begin in Alfama, at eight."},
		events.Message{Role: events.RoleUser, Content: "Compare two heat pumps"}, events.Message{Role: events.RoleAssistant, Content: "The small one will do."})
	answer, calls := f.say("Thanks")
	require.Empty(t, calls)
	require.Equal(t, "You're welcome.", answer)
	answer, calls = f.say("Was Lisbon there?")
	require.Empty(t, calls)
	require.Contains(t, answer, "Begin in Alfama, at eight.")
	answer, _ = f.say("And which one again?")
	require.Contains(t, answer, "The small one will do.")
	f.messages = append(f.messages, events.Message{Role: events.RoleUser, Content: "Now plan a day in Rome"})
	reply := sim.New(sim.Options{}).Reply(llm.Request{Messages: f.messages, Tools: f.tools})
	require.True(t, strings.Contains(reply.ToolCalls[0].Arguments, "Rome"), reply)
}

// What the engine says of handoffs is no request: a session that was left is continued where
// the user wants that, offered where the message asks for another, and else not mentioned.
func TestTakesUpWhatWasLeft(t *testing.T) {
	tools := moderatorTools(t)
	tools[len(tools)-2] = tool("handoff_conversation", "Hands over. The targets are:\n- builder: Creates a skill with the user.",
		object(map[string]any{"target": map[string]any{"type": "string", "enum": []string{"builder"}}, "reason": text(), "summary": text(), "resume": text()}, "target", "reason", "summary"))
	const left = "Session h1 with builder was left at step 2 of 3, drafting, and its state is kept."
	play := func(request, note string) events.Reply {
		return sim.New(sim.Options{}).Reply(llm.Request{Tools: tools, Messages: []events.Message{
			{Role: events.RoleUser, Content: request}, {Role: events.RoleUser, Content: note},
		}})
	}
	const idle = left + "\nIf the user wants to continue one of these, call handoff_conversation with its id as resume. Otherwise do not mention them."
	require.Contains(t, play("Let's continue", idle).ToolCalls[0].Arguments, `"resume":"h1"`)
	require.Equal(t, "create_tasks", play("Plan a 3-day trip to Lisbon", idle).ToolCalls[0].Name)
	const asked = "The user's message asks for builder. " + left + " If it goes on, resume.\nSay in the user's language: Welcome back! Continue with Builder?"
	require.Equal(t, "Welcome back! Continue with Builder?", play("Create a skill", asked).Text)
	require.Contains(t, play("Create a skill, from scratch", asked).ToolCalls[0].Arguments, `"resume":"new"`)
	const refusal = "The conversation could not be handed over to builder: it is down\nSay in the user's language: Builder is currently unavailable.\n\nTell the user so."
	require.Equal(t, "Builder is currently unavailable.", play("Create a skill", refusal).Text)

	f := talkWith(t, builderPrompt, builderTools()...)
	f.say("Build me a skill")
	f.messages = append(f.messages, events.Message{Role: events.RoleUser, Content: "[You have the conversation with the user again. Go on where you were.]"})
	answer, calls := f.say("yes")
	require.Empty(t, calls)
	require.Contains(t, answer, "Welcome back")
	require.Contains(t, answer, "Which service is it for?")
}
