package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// callView is `show --call --json`.
type callView struct {
	Seq   events.Seq     `json:"seq"`
	Agent events.AgentID `json:"agent"`
	// Messages are the conversation as it was sent. It begins with what the agent was asked,
	// without the system prompt and what the engine adds to the request.
	Messages []events.Message   `json:"messages"`
	Call     events.ModelCalled `json:"call"`
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
	return a.printLines(termview.Call(run, call.Agent, call.Messages, call.Call, a.theme(a.out), width(a.out)))
}

// findCall folds a run up to a model call: before it, the agent's conversation is what was
// sent. The call is nil where the run has none of that id.
func findCall(ctx context.Context, log events.Reader, summary events.RunSummary, id events.ModelCallID) (found *callView, run *thread.Run, err error) {
	th := thread.New()
	err = eachEvent(ctx, log, summary, func(env events.Envelope) error {
		call, ok := env.Data.(events.ModelCalled)
		if ok && env.Run == summary.Run && call.ID == id {
			found = &callView{Seq: env.Seq, Agent: env.Agent, Call: call}
			found.Messages = sentFor(th.Current(), env.Dispatch)
		}
		return th.Apply(env)
	})
	return found, th.Current(), err
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
