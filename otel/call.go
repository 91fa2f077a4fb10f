package otel

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/convene-run/convene/events"
)

// modelCalled gives the span of a model call: from the moment that it was due, waits and
// failed attempts included, to its reply.
func (f *fold) modelCalled(env events.Envelope, e events.ModelCalled) {
	sent := env.Time.Add(-ms(e.TotalMS))
	began := sent.Add(-ms(e.QueuedMS + e.RetriedMS))
	if n := len(e.Retries); n > 0 {
		began = sent.Add(-until(e.Retries[n-1]))
	}
	s := f.call(env, e.ID, e.Model, began)
	s.events = failures(began, e.Retries)
	s.attributes = append(s.attributes, provider(e.Provider))
	s.attributes = usage(s.attributes, e.Usage)
	s.attributes = append(s.attributes,
		timeToFirstChunk.Float64(ms(e.FirstTokenMS).Seconds()), queuedTime.Float64(ms(e.QueuedMS).Seconds()), attempts.Int(e.Attempts))
	if e.Reply.FinishReason != "" {
		s.attributes = append(s.attributes, finishReasons.StringSlice([]string{string(e.Reply.FinishReason)}))
	}
	if e.Purpose != "" {
		s.attributes = append(s.attributes, purpose.String(e.Purpose))
	}
	if e.CostUSD != nil {
		s.attributes = append(s.attributes, costUSD.Float64(*e.CostUSD))
	}
	s.attributes = lost(s.attributes, e.Lost)
	if f.content {
		s.attributes = append(s.attributes, replied(e.Reply))
	}
	if e.Interrupted {
		s.failed = "interrupted"
	}
	f.end(s)
}

// callFailed gives the span of a call that got no reply, if there was one.
func (f *fold) callFailed(env events.Envelope, e events.FailedCall) {
	if len(e.Attempts) == 0 {
		return
	}
	last := e.Attempts[len(e.Attempts)-1]
	began := env.Time.Add(-until(last))
	s := f.call(env, e.ModelCall, last.Model, began)
	s.events = failures(began, e.Attempts)
	s.failed = last.Error
	s.attributes = append(s.attributes, attempts.Int(len(e.Attempts)+e.EarlierAttempts))
	s.attributes = lost(s.attributes, e.Lost)
	f.end(s)
}

// call is the span of a model call. A call that failed may be made again under its id, so
// the span has its own by its event.
func (f *fold) call(env events.Envelope, id events.ModelCallID, model string, began time.Time) *span {
	agent := f.at(env, began)
	if began.Before(agent.start) { // by less than the millisecond that durations are rounded to
		began = agent.start
	}
	return &span{
		id: callSpan(f.run, env.Seq), parent: agent.id, name: chat + " " + model, kind: trace.SpanKindClient, start: began, end: env.Time,
		attributes: f.attributes(operationName.String(chat), requestModel.String(model), modelCall.String(string(id))),
	}
}

// toolDone gives the span of a tool call. One that only decides takes no time.
func (f *fold) toolDone(env events.Envelope, e events.ToolCallDone) {
	key := keyOf(e.CallRef)
	began, known := f.begun[key]
	if !known {
		began = env.Time
	}
	delete(f.begun, key)
	s := &span{
		id: toolSpan(f.run, e.CallRef), parent: f.at(env, began).id, name: executeTool + " " + e.Tool, start: began, end: env.Time,
		attributes: f.attributes(
			operationName.String(executeTool), toolName.String(e.Tool), toolType.String(toolTypeFunction),
			toolCallID.String(string(e.CallID)), modelCall.String(string(e.ModelCall))),
	}
	if e.Failed {
		s.failed = "tool_error"
	}
	if f.content {
		s.attributes = append(s.attributes, toolCallArguments.String(e.Arguments), toolCallResult.String(e.Result))
	}
	f.end(s)
}

// until is the time from the beginning of a call to the end of what followed an attempt.
func until(a events.FailedAttempt) time.Duration { return ms(a.StartMS + a.RanMS + a.WaitMS) }

// failures are the attempts of a call that failed, at the moments when they did.
func failures(began time.Time, failed []events.FailedAttempt) []spanEvent {
	if len(failed) == 0 {
		return nil
	}
	all := make([]spanEvent, len(failed))
	for i, a := range failed {
		all[i] = spanEvent{attemptEvent, began.Add(ms(a.StartMS + a.RanMS)), []attribute.KeyValue{errorType.String(a.Error), requestModel.String(a.Model)}}
		if a.Status != 0 {
			all[i].attributes = append(all[i].attributes, httpStatus.Int(a.Status))
		}
	}
	return all
}

func usage(to []attribute.KeyValue, u events.Usage) []attribute.KeyValue {
	to = append(to, inputTokens.Int64(u.InputTokens), outputTokens.Int64(u.OutputTokens))
	if u.CachedInputTokens > 0 {
		to = append(to, cacheReadTokens.Int64(u.CachedInputTokens))
	}
	if u.CacheWriteInputTokens > 0 {
		to = append(to, cacheWriteTokens.Int64(u.CacheWriteInputTokens))
	}
	if u.ReasoningTokens > 0 {
		to = append(to, reasoningTokens.Int64(u.ReasoningTokens))
	}
	return to
}

func lost(to []attribute.KeyValue, s *events.Spent) []attribute.KeyValue {
	if s == nil {
		return to
	}
	return append(to, lostTokens.Int64(s.Usage.Total()))
}

// message is one in the form of the conventions.
type message struct {
	Role         events.Role         `json:"role"`
	Parts        []part              `json:"parts"`
	FinishReason events.FinishReason `json:"finish_reason,omitempty"`
}

type part struct {
	Type      string        `json:"type"`
	Content   string        `json:"content,omitempty"`
	ID        events.CallID `json:"id,omitempty"`
	Name      string        `json:"name,omitempty"`
	Arguments any           `json:"arguments,omitempty"`
}

// said is an attribute with one message of text.
func said(key attribute.Key, role events.Role, text string) attribute.KeyValue {
	return encoded(key, message{Role: role, Parts: []part{{Type: "text", Content: text}}})
}

// replied is the attribute with a model's reply.
func replied(r events.Reply) attribute.KeyValue {
	m := message{Role: events.RoleAssistant, FinishReason: r.FinishReason}
	if r.Reasoning != "" {
		m.Parts = append(m.Parts, part{Type: "reasoning", Content: r.Reasoning})
	}
	if r.Text != "" {
		m.Parts = append(m.Parts, part{Type: "text", Content: r.Text})
	}
	for _, call := range r.ToolCalls {
		m.Parts = append(m.Parts, part{Type: "tool_call", ID: call.ID, Name: call.Name, Arguments: arguments(call.Arguments)})
	}
	return encoded(outputMessages, m)
}

// arguments are those of a call as JSON, or as text where a model wrote something else.
func arguments(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

func encoded(key attribute.Key, m message) attribute.KeyValue {
	body, err := json.Marshal([]message{m})
	if err != nil {
		return key.String("") // cannot be: strings and valid JSON
	}
	return key.String(string(body))
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
