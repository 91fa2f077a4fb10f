package openai

import (
	"errors"
	"strings"

	"github.com/tidwall/gjson"

	lib "github.com/sashabaranov/go-openai"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/wire"
)

// Document takes one JSON document of the stream: a chunk, a whole completion, or an
// error. It is lenient: a field of an unexpected type is as good as absent.
func (s *stream) Document(root wire.Value) error {
	var choices, usage, padding wire.Value
	var failed bool
	s.news = news{}
	var kind string
	for key, value := range root.Members() {
		switch key {
		case "choices":
			choices = value
		case "usage":
			usage = value
		case "service_tier":
			s.Served(value.Text())
		case "type":
			kind = value.Text()
		case "model":
			s.Named(value.Text())
		case "error":
			failed = failed || says(value)
		case "object":
			failed = failed || value.Text() == "error"
		case "obfuscation":
			padding = value
		}
	}
	if failed {
		return s.ErrorIn(root.Result())
	}
	if !choices.Exists() && !usage.Exists() {
		if err := s.otherAPI(kind); err != nil {
			return err
		}
	}
	had := s.Content
	for choice := range choices.Items() {
		if err := s.choice(choice); err != nil {
			return err
		}
	}
	if err := s.settled(); err != nil {
		return err
	}
	if u, ok := parseUsage(usage); ok {
		s.news.more = true
		s.Counted(u)
		if s.client.cfg.ChargesUSD {
			s.charged(usage)
		}
		s.finalUsage = had && (!choices.IsArray() || choices.Raw() == "[]")
	}
	if s.news.kind != newsNone && !s.news.more {
		s.Repeats(s.news.text.Place(), padding.Place())
	}
	return s.announce()
}

// settled looks at the reply behind what a chunk brought.
func (s *stream) settled() error {
	s.finalUsage = false
	return s.Grow(0)
}

// otherAPI is the error of an event that belongs to another API: its stream would end
// with [DONE] and look like an empty reply.
func (s *stream) otherAPI(kind string) error {
	var instead events.API
	switch {
	case strings.HasPrefix(kind, "response."):
		instead = events.APIResponses
	case kind == "message_start", strings.HasPrefix(kind, "content_block"):
		instead = events.APIMessages
	default:
		return nil
	}
	err := s.Failure(llm.ErrServer, "the endpoint answered by another API: %s", instead)
	var e *llm.Error
	if errors.As(err, &e) {
		e.Instead = instead
	}
	return err
}

// says reports whether an error field holds an error.
func says(v wire.Value) bool {
	return v.IsString() && v.Raw() != `""` || v.IsObject() && v.Raw() != "{}" || v.IsArray() && v.Raw() != "[]"
}

// charged notes what the endpoint says it charges.
func (s *stream) charged(usage wire.Value) {
	if cost := usage.Result().Get("cost"); cost.Type == gjson.Number {
		s.Charged(cost.Num)
	}
}

func (s *stream) choice(choice wire.Value) error {
	var delta, message, usage wire.Value
	var finish string
	other := false
	for key, value := range choice.Members() {
		switch key {
		case "index":
			other = value.Int() > 0
		case "delta":
			delta = value
		case "message":
			message = value
		case "usage":
			usage = value
		case "finish_reason":
			finish = value.Text()
		}
	}
	if other {
		s.news.more = true
		return nil // asked for one choice; a second is not ours
	}
	if !delta.IsObject() || delta.Raw() == "{}" && !s.Content {
		delta = message // beside a delta it repeats the reply so far
	}
	if err := s.delta(delta); err != nil {
		return err
	}
	if u, ok := parseUsage(usage); ok {
		s.news.more = true
		s.Counted(u)
	}
	s.news.more = s.news.more || finish != ""
	switch {
	case finish == "error":
		return s.Failure(llm.ErrServer, "the endpoint finished with an error")
	case broken[finish]:
		return s.Broken("the endpoint broke the reply off: " + finish)
	}
	if finish != "" && s.finish == "" {
		s.finish = finishReason(finish)
	}
	return nil
}

// broken are the finish reasons that mean half a reply: DeepSeek, Z.ai, vLLM.
var broken = map[string]bool{"insufficient_system_resource": true, "network_error": true, "abort": true, "aborted": true, "server_error": true}

// finishReason folds the spellings of some endpoints into those of the format.
func finishReason(sent string) events.FinishReason {
	switch sent {
	case "max_tokens", "max_output_tokens", "model_length", "MAX_TOKENS":
		return events.FinishLength
	case string(lib.FinishReasonFunctionCall), "tool_use":
		return events.FinishToolCalls
	case "model_context_window_exceeded":
		return events.FinishLength
	case "end_turn", "eos", "STOP":
		return events.FinishStop
	case "SAFETY", "RECITATION", "PROHIBITED_CONTENT", "sensitive":
		return events.FinishContentFilter
	}
	return events.FinishReason(strings.Clone(sent))
}

func (s *stream) delta(delta wire.Value) error {
	var content, refusal, thought, reasoning, details, calls, function wire.Value
	for key, value := range delta.Members() {
		switch key {
		case "content":
			content = value
		case "refusal":
			refusal = value
		case "reasoning_content":
			thought = value
			s.cameIn(key, value)
		case "reasoning":
			reasoning = value
			s.cameIn(key, value)
		case reasoningDetails:
			details = value
		case "tool_calls":
			calls = value
		case "function_call":
			function = value
		default:
			s.keep(&s.extra, key, value)
		}
	}
	if err := s.thoughts(thought, reasoning, details); err != nil {
		return err
	}
	if err := s.contents(content); err != nil {
		return err
	}
	if refusal.IsString() {
		if err := s.contents(refusal); err != nil {
			return err
		}
	}
	if function.IsObject() && !calls.IsArray() {
		return s.functionCall(function)
	}
	return s.toolCalls(calls)
}

// functionCall takes the one call of a reply in the form from before tools.
func (s *stream) functionCall(function wire.Value) error {
	s.Content, s.news.more = true, true
	said := function.Result()
	s.calls.add(fragment{hasIndex: true, name: said.Get("name").Str, args: said.Get("arguments").String()})
	_ = s.Grow(len(function.Raw())) // the chunk is looked at as a whole
	return s.Err()
}

// cameIn notes the field that reasoning came in: an empty one counts, null does not.
func (s *stream) cameIn(field string, value wire.Value) {
	if value.IsString() && s.reasoningField != "reasoning_content" {
		s.reasoningField = strings.Clone(field)
	}
}

// keep stores a field that an endpoint wants back, unless it says nothing.
func (s *stream) keep(to *extraFields, key string, value wire.Value) {
	if !echoed[key] || value.IsNull() || value.Raw() == `""` || value.Raw() == "[]" || value.Raw() == "{}" {
		return
	}
	s.news.more = true
	_ = s.Grow(len(value.Raw())) // the chunk is looked at as a whole
	to.add(strings.Clone(key), []byte(value.Raw()))
}

// thoughts takes the reasoning from the first of its fields that has some: they
// repeat each other.
func (s *stream) thoughts(thought, reasoning, details wire.Value) error {
	s.news.brings(newsReasoning, thought)
	s.news.brings(newsReasoning, reasoning)
	text := thought.Text()
	if text == "" {
		text = reasoning.Text()
	}
	if details.IsArray() && details.Raw() != "[]" {
		s.keep(&s.extra, reasoningDetails, details)
		if text == "" {
			text = thinkingIn(details.Result())
		}
	}
	return s.AddReasoning(text)
}

// thinkingIn gives the text in reasoning details.
func thinkingIn(details gjson.Result) (text string) {
	details.ForEach(func(_, d gjson.Result) bool {
		text += d.Get("text").Str + d.Get("summary").Str
		return true
	})
	return text
}

// contents takes content as text or as an array of parts (WIRE 3).
func (s *stream) contents(content wire.Value) error {
	if content.IsString() {
		s.news.brings(newsContent, content)
		return s.think.split(content.Text())
	}
	if !content.IsArray() {
		return nil
	}
	return s.parts(content.Result())
}

// parts takes an array of parts.
func (s *stream) parts(content gjson.Result) error {
	s.news.more = true
	var err error
	content.ForEach(func(_, part gjson.Result) bool {
		switch thinking := part.Get("thinking"); {
		case part.Type == gjson.String:
			err = s.AddText(part.Str)
		case thinking.Type == gjson.String:
			err = s.AddReasoning(thinking.Str)
		case thinking.IsArray():
			thinking.ForEach(func(_, p gjson.Result) bool {
				err = s.AddReasoning(p.Get("text").Str)
				return err == nil
			})
		default:
			err = s.AddText(part.Get("text").Str)
		}
		return err == nil
	})
	return err
}

func (s *stream) toolCalls(calls wire.Value) error {
	first := true
	for element := range calls.Items() {
		s.news.more = s.news.more || !first
		first = false
		if !element.IsObject() {
			continue
		}
		if err := s.argue(s.fragment(element)); err != nil {
			return err
		}
	}
	return nil
}

// argue takes a fragment of a call.
func (s *stream) argue(f fragment) error {
	s.Content = true
	s.calls.add(f)
	_ = s.Grow(len(f.args)) // the chunk is looked at as a whole
	if err := s.Err(); err != nil {
		return err
	}
	if s.calls.tooMany() {
		return s.TooManyCalls()
	}
	return nil
}

func (s *stream) fragment(element wire.Value) fragment {
	var f fragment
	var function wire.Value
	var rest extraFields
	for key, value := range element.Members() {
		switch key {
		case "index":
			if value.IsNumber() {
				f.index, f.hasIndex = value.Int(), true
			}
		case "id":
			f.id = value.Text()
			if !value.IsString() && !value.IsNull() {
				f.id = value.Result().String()
			}
		case "type":
		case "function":
			function = value
		default:
			s.keep(&rest, key, value)
		}
	}
	s.function(&f, function, &rest)
	f.extra = append(f.extra, rest.fields...)
	if len(rest.details) > 0 {
		details := extraFields{details: rest.details}
		f.extra = append(f.extra, field{reasoningDetails, []byte(gjson.GetBytes(details.object(), reasoningDetails).Raw)})
	}
	s.news.more = s.news.more || !f.hasIndex || f.id != "" || f.name != ""
	s.news.index = f.index
	return f
}

// function takes what a fragment says of its function; what goes back of it is added to rest.
func (s *stream) function(f *fragment, function wire.Value, rest *extraFields) {
	var inner extraFields
	for key, value := range function.Members() {
		switch key {
		case "name":
			f.name = value.Text()
		case "arguments":
			f.args = value.Text()
			s.news.brings(newsArguments, value)
			if value.IsObject() || value.IsArray() {
				f.args, s.news.more = value.Raw(), true
			}
		default:
			s.keep(&inner, key, value)
		}
	}
	if object := inner.object(); object != nil {
		rest.add("function", object)
	}
}
