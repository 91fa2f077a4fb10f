package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/thread"
)

// callView is `show --call --json`.
type callView struct {
	Seq   events.Seq     `json:"seq"`
	Agent events.AgentID `json:"agent"`
	// System is the system prompt; "" in logs that do not have it.
	System string `json:"system,omitempty"`
	// Tools are those that the model was offered.
	Tools []toolView `json:"tools"`
	// Messages are the conversation as it was sent. It begins with what the agent was asked,
	// without what the engine adds to the request.
	Messages []events.Message   `json:"messages"`
	Call     events.ModelCalled `json:"call"`
}

// toolView is a tool as a model was offered it. Parameters is a JSON Schema.
type toolView struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// showCall shows a model call with the conversation that was sent for it.
func (a *app) showCall(ctx context.Context, log events.Reader, summary events.RunSummary, id events.ModelCallID, asJSON bool) error {
	call, run, err := findCall(ctx, log, summary, id)
	if err != nil {
		return err
	}
	if call == nil {
		return usage(fmt.Errorf("run %s has no model call %q. `convene show %s --events` lists them", summary.Run, id, termview.ShortID(summary.Run)))
	}
	if asJSON {
		return a.printObject(call)
	}
	tools := make([]string, len(call.Tools))
	for i, tool := range call.Tools {
		tools[i] = tool.Name
	}
	return a.printLines(termview.Call(run, termview.Called{Agent: call.Agent, Tools: tools, Sent: call.Messages, Call: call.Call}, a.theme(a.out), width(a.out)))
}

// findCall folds a run up to a model call: before it, the agent's conversation is what was
// sent. The call is nil where the run has none of that id.
func findCall(ctx context.Context, log events.Reader, summary events.RunSummary, id events.ModelCallID) (found *callView, run *thread.Run, err error) {
	th := thread.New()
	err = eachEvent(ctx, log, summary, func(env events.Envelope) error {
		call, ok := env.Data.(events.ModelCalled)
		if ok && env.Run == summary.Run && call.ID == id {
			found = &callView{Seq: env.Seq, Agent: env.Agent, Call: call, Tools: []toolView{}}
			found.Messages = sentFor(th.Current(), env.Dispatch)
			if err := found.offered(th.Current(), env.Dispatch); err != nil {
				return err
			}
		}
		return th.Apply(env)
	})
	return found, th.Current(), err
}

// offered puts in what the model was sent beside the conversation.
func (v *callView) offered(run *thread.Run, dispatch events.DispatchID) error {
	offered, err := runner.OfferedTo(run, v.Agent, dispatch)
	if err != nil {
		return err
	}
	v.System = offered.System
	if v.Call.Purpose == events.PurposeCompact {
		return nil
	}
	for _, tool := range offered.Tools {
		v.Tools = append(v.Tools, toolView{tool.Name, tool.Description, tool.Parameters})
	}
	return nil
}

// sentFor gives the conversation of an agent so far.
func sentFor(run *thread.Run, dispatch events.DispatchID) []events.Message {
	asked := cmp.Or(run.Started.Prompt, run.Started.Message)
	if d := run.Dispatch(dispatch); d != nil {
		asked = d.Start.Message
	}
	messages := []events.Message{{Role: events.RoleUser, Content: asked}}
	if conversation := run.Conversation(thread.ActorOf(dispatch)); conversation != nil {
		messages = append(messages, conversation.Messages()...)
	}
	return messages
}
