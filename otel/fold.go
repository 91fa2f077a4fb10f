package otel

import (
	"strings"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"

	"github.com/convene-run/convene/events"
)

// facilitator is the actor of events without a dispatch.
const facilitator = "f"

// fold makes the spans of one run from its events, in the order of the log. It reads no clock.
type fold struct {
	content bool
	run     events.RunID
	// where are the attributes that all spans have: the conversation and the run.
	where []attribute.KeyValue
	// started is the first event of the run.
	started events.WorkflowStarted
	// root is open until the run has finished.
	root *span
	// open are the agents at work, by actor, and begun when calls began that are not done.
	open  map[string]*span
	begun map[callKey]time.Time
	// since is when the run began. What a fork has from before is a copy of another run's.
	since time.Time
	// parked is set while no process drives the run, or says that it does.
	parked bool
	// ended are the spans that ended with the last event. Its room is used again.
	ended []*span
}

// folded are the kinds of events that a fold looks at.
var folded = map[events.Kind]bool{
	events.KindWorkflowStarted: true, events.KindRunSuspended: true, events.KindRunResumed: true, events.KindAgentStarted: true,
	events.KindAgentFinished: true, events.KindAgentMessage: true, events.KindModelCalled: true, events.KindModelCallFailed: true,
	events.KindToolStarted: true, events.KindToolCall: true, events.KindError: true, events.KindFinalAnswer: true, events.KindWorkflowFinished: true,
}

// callKey names a tool call.
type callKey struct {
	call  events.ModelCallID
	index int
}

func keyOf(call events.CallRef) callKey { return callKey{call.ModelCall, call.Index} }

func newFold(env events.Envelope, started events.WorkflowStarted, content bool) *fold {
	f := &fold{
		content: content, run: env.Run, started: started,
		where: []attribute.KeyValue{conversationID.String(string(env.Thread)), runID.String(string(env.Run))},
		open:  map[string]*span{}, begun: map[callKey]time.Time{}, since: env.Time,
	}
	f.root = &span{
		id: rootSpan(env.Run), name: invokeWorkflow + " " + started.Team, start: env.Time,
		attributes: f.attributes(operationName.String(invokeWorkflow), workflowName.String(started.Team), tenantID.String(string(env.Tenant))),
	}
	if started.Simulated {
		f.root.attributes = append(f.root.attributes, simulated.Bool(true))
	}
	if row := started.Batch; row != nil {
		f.root.attributes = append(f.root.attributes, batchID.String(string(row.Batch)), batchRow.String(row.Row))
	}
	if origin := started.ForkedFrom; origin != nil {
		f.since = forkedAt(env)
		f.root.start = f.since
		f.root.attributes = append(f.root.attributes, forkedFrom.String(string(origin.Run)))
	}
	if content {
		f.root.attributes = append(f.root.attributes, said(inputMessages, events.RoleUser, started.Message))
	}
	return f
}

// maxAttributes is room for the attributes of nearly every span, so that they are allocated once.
const maxAttributes = 16

// attributes begins those of a span.
func (f *fold) attributes(of ...attribute.KeyValue) []attribute.KeyValue {
	all := make([]attribute.KeyValue, 0, maxAttributes)
	return append(append(all, of...), f.where...)
}

// apply gives the spans that end with the event, until the next one. The last one of a run is
// its root.
func (f *fold) apply(env events.Envelope) []*span {
	f.ended = f.ended[:0]
	switch e := env.Data.(type) {
	case events.RunSuspended:
		f.parked = true
		f.note(suspendedEvent, env.Time)
	case events.RunResumed:
		f.parked = false
		f.note(resumedEvent, env.Time)
	case events.AgentStarted:
		f.agentStarted(env, e)
	case events.AgentFinished:
		f.agentFinished(env, e)
	case events.AgentMessage:
		f.wrote(actorOf(env), e.Content)
	case events.ModelCalled:
		f.modelCalled(env, e)
	case events.ModelCallFailed:
		f.callFailed(env, e.FailedCall)
	case events.ToolStarted:
		f.begun[keyOf(e.CallRef)] = env.Time
	case events.ToolCallDone:
		f.toolDone(env, e)
	case events.Error:
		f.callFailed(env, e.FailedCall)
		f.root.failed = e.Code
	case events.FinalAnswer:
		if f.content {
			f.root.attributes = append(f.root.attributes, said(outputMessages, events.RoleAssistant, e.Content))
		}
	case events.WorkflowFinished:
		f.finished(env, e)
	}
	return f.ended
}

// forkedAt is when a fork was made: its id says so, a UUID version 7.
func forkedAt(env events.Envelope) time.Time {
	id, err := uuid.Parse(string(env.Run))
	if err != nil || id.Version() != 7 {
		return env.Time
	}
	return time.Unix(id.Time().UnixTime()).UTC()
}

func (f *fold) note(name string, at time.Time) {
	if at.Before(f.since) {
		return
	}
	f.root.events = append(f.root.events, spanEvent{name: name, at: at})
}

// end adds a span that ended, unless it is a copy. Nothing of a run began before it.
func (f *fold) end(s *span) {
	if s.end.Before(f.since) {
		return
	}
	if s.start.Before(f.since) {
		s.start = f.since
	}
	if s.end.Before(s.start) {
		s.end = s.start
	}
	if s.failed != "" {
		s.attributes = append(s.attributes, errorType.String(s.failed))
	}
	f.ended = append(f.ended, s)
}

// agentStarted opens the span of a dispatch. Its parent is the agent that called, or the call
// where that only asks.
func (f *fold) agentStarted(env events.Envelope, e events.AgentStarted) {
	s := f.agent(actorOf(env), e.Agent, e.DisplayName, env.Time)
	s.attributes = append(s.attributes, dispatchID.String(string(env.Dispatch)))
	switch {
	case e.ModelCall == "":
		s.parent = f.root.id
	case e.Asked:
		s.parent = toolSpan(f.run, e.CallRef)
		if _, known := f.begun[keyOf(e.CallRef)]; !known {
			f.begun[keyOf(e.CallRef)] = env.Time
		}
	default:
		s.parent = agentSpan(f.run, caller(e.ModelCall))
	}
	if f.content {
		s.attributes = append(s.attributes, said(inputMessages, events.RoleUser, e.Message))
	}
}

// agent opens the span of an agent at work.
func (f *fold) agent(actor string, id events.AgentID, name string, at time.Time) *span {
	if name == "" {
		name = f.displayName(id)
	}
	s := &span{
		id: agentSpan(f.run, actor), parent: f.root.id, name: invokeAgent + " " + name, start: at,
		attributes: f.attributes(operationName.String(invokeAgent), agentID.String(string(id)), agentName.String(name)),
	}
	f.open[actor] = s
	return s
}

// at gives the open span of the agent whose event it is. The facilitator, and whoever speaks
// with the user, are not dispatched: their spans begin with their first call.
func (f *fold) at(env events.Envelope, began time.Time) *span {
	if s := f.open[actorOf(env)]; s != nil {
		return s
	}
	return f.agent(actorOf(env), env.Agent, "", began)
}

func (f *fold) displayName(id events.AgentID) string {
	for _, card := range f.started.Agents {
		if card.ID == id && card.DisplayName != "" {
			return card.DisplayName
		}
	}
	return string(id)
}

func (f *fold) wrote(actor, text string) {
	if s := f.open[actor]; s != nil && f.content {
		s.set(said(outputMessages, events.RoleAssistant, text))
	}
}

func (f *fold) agentFinished(env events.Envelope, e events.AgentFinished) {
	f.callFailed(env, e.FailedCall)
	s := f.at(env, env.Time)
	if e.Status != events.OutcomeOK {
		s.failed = string(e.Status)
	}
	f.closeAgent(actorOf(env), env.Time)
}

func (f *fold) closeAgent(actor string, at time.Time) {
	s := f.open[actor]
	delete(f.open, actor)
	s.end = at
	f.end(s)
}

// finished closes the run, and with it whoever was not dispatched.
func (f *fold) finished(env events.Envelope, e events.WorkflowFinished) {
	for _, actor := range sorted(f.open) {
		f.closeAgent(actor, env.Time)
	}
	f.root.end = env.Time
	f.root.attributes = append(f.root.attributes, runStatus.String(string(e.Status)))
	if e.Limit != "" {
		f.root.attributes = append(f.root.attributes, runLimit.String(string(e.Limit)))
	}
	if e.CostUSD != nil {
		f.root.attributes = append(f.root.attributes, costUSD.Float64(*e.CostUSD))
	}
	switch {
	case e.Status != events.StatusFailed:
		f.root.failed = ""
	case f.root.failed == "":
		f.root.failed = string(e.Status)
	}
	f.end(f.root)
}

// actorOf names whose event it is.
func actorOf(env events.Envelope) string {
	if env.Dispatch == "" {
		return facilitator
	}
	return string(env.Dispatch)
}

// caller is the actor whose model call it is: f of f.3.
func caller(call events.ModelCallID) string {
	if end := strings.LastIndexByte(string(call), '.'); end > 0 {
		return string(call[:end])
	}
	return facilitator
}
