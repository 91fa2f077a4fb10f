package openai

import (
	"errors"
	"strings"

	"github.com/tidwall/gjson"

	lib "github.com/sashabaranov/go-openai"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// Document takes one JSON document of the stream: a chunk, a whole completion, or an
// error. It is lenient: a field of an unexpected type is as good as absent.
func (s *stream) Document(root gjson.Result) error {
	var choices, usage, padding gjson.Result
	var failed bool
	s.news = news{}
	var kind string
	root.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "choices":
			choices = value
		case "usage":
			usage = value
		case "service_tier":
			s.Served(value.Str)
		case "type":
			kind = value.Str
		case "model":
			s.Named(value.Str)
		case "error":
			failed = failed || says(value)
		case "object":
			failed = failed || value.Str == "error"
		case "obfuscation":
			padding = value
		}
		return true
	})
	if failed {
		return s.ErrorIn(root)
	}
	if !choices.Exists() && !usage.Exists() {
		if err := s.otherAPI(kind); err != nil {
			return err
		}
	}
	had := s.Content
	var err error
	choices.ForEach(func(_, choice gjson.Result) bool {
		err = s.choice(choice)
		return err == nil
	})
	if err != nil {
		return err
	}
	if err := s.settled(); err != nil {
		return err
	}
	if u, ok := parseUsage(usage); ok {
		s.news.more = true
		s.Counted(u)
		if cost := usage.Get("cost"); cost.Type == gjson.Number && s.client.cfg.ChargesUSD {
			s.Charged(cost.Num)
		}
		s.finalUsage = had && (!choices.IsArray() || choices.Raw == "[]")
	}
	if s.news.kind != newsNone && !s.news.more {
		s.Repeats(s.news.text, padding)
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
func says(v gjson.Result) bool {
	switch v.Type {
	case gjson.String:
		return v.Str != ""
	case gjson.JSON:
		return v.Raw != "{}" && v.Raw != "[]"
	}
	return false
}

func (s *stream) choice(choice gjson.Result) error {
	var delta, message, usage gjson.Result
	var finish string
	other := false
	choice.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "index":
			other = value.Int() > 0
		case "delta":
			delta = value
		case "message":
			message = value
		case "usage":
			usage = value
		case "finish_reason":
			finish = value.Str
		}
		return true
	})
	if other {
		s.news.more = true
		return nil // asked for one choice; a second is not ours
	}
	if !delta.IsObject() || delta.Raw == "{}" && !s.Content {
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

func (s *stream) delta(delta gjson.Result) error {
	var content, refusal, thought, reasoning, details, calls, function gjson.Result
	delta.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "content":
			content = value
		case "refusal":
			refusal = value
		case "reasoning_content":
			thought = value
			s.cameIn(key.Str, value)
		case "reasoning":
			reasoning = value
			s.cameIn(key.Str, value)
		case reasoningDetails:
			details = value
		case "tool_calls":
			calls = value
		case "function_call":
			function = value
		default:
			s.keep(&s.extra, key.Str, value)
		}
		return true
	})
	if err := s.thoughts(thought, reasoning, details); err != nil {
		return err
	}
	if err := s.contents(content); err != nil {
		return err
	}
	if refusal.Type == gjson.String {
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
func (s *stream) functionCall(function gjson.Result) error {
	s.Content, s.news.more = true, true
	s.calls.add(fragment{hasIndex: true, name: function.Get("name").Str, args: function.Get("arguments").String()})
	_ = s.Grow(len(function.Raw)) // the chunk is looked at as a whole
	return s.Err()
}

// cameIn notes the field that reasoning came in: an empty one counts, null does not.
func (s *stream) cameIn(field string, value gjson.Result) {
	if value.Type == gjson.String && s.reasoningField != "reasoning_content" {
		s.reasoningField = strings.Clone(field)
	}
}

// keep stores a field that an endpoint wants back, unless it says nothing.
func (s *stream) keep(to *extraFields, key string, value gjson.Result) {
	if !echoed[key] || value.Type == gjson.Null || value.Raw == `""` || value.Raw == "[]" || value.Raw == "{}" {
		return
	}
	s.news.more = true
	_ = s.Grow(len(value.Raw)) // the chunk is looked at as a whole
	to.add(strings.Clone(key), []byte(value.Raw))
}

// thoughts takes the reasoning from the first of its fields that has some: they
// repeat each other.
func (s *stream) thoughts(thought, reasoning, details gjson.Result) error {
	s.news.brings(newsReasoning, thought)
	s.news.brings(newsReasoning, reasoning)
	text := thought.Str
	if text == "" {
		text = reasoning.Str
	}
	if details.IsArray() && details.Raw != "[]" {
		s.keep(&s.extra, reasoningDetails, details)
		if text == "" {
			details.ForEach(func(_, d gjson.Result) bool {
				text += d.Get("text").Str + d.Get("summary").Str
				return true
			})
		}
	}
	return s.AddReasoning(text)
}

// contents takes content as text or as an array of parts (WIRE 3).
func (s *stream) contents(content gjson.Result) error {
	if content.Type == gjson.String {
		s.news.brings(newsContent, content)
		return s.think.split(content.Str, s.piece)
	}
	if !content.IsArray() {
		return nil
	}
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

func (s *stream) toolCalls(calls gjson.Result) error {
	if !calls.IsArray() {
		return nil
	}
	var err error
	calls.ForEach(func(place, element gjson.Result) bool {
		s.news.more = s.news.more || place.Num > 0
		if element.IsObject() {
			err = s.argue(s.fragment(element))
		}
		return err == nil
	})
	return err
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

func (s *stream) fragment(element gjson.Result) fragment {
	var f fragment
	var function gjson.Result
	var rest extraFields
	element.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "index":
			if value.Type == gjson.Number {
				f.index, f.hasIndex = value.Int(), true
			}
		case "id":
			f.id = value.String()
			if value.Type == gjson.Null {
				f.id = ""
			}
		case "type":
		case "function":
			function = value
		default:
			s.keep(&rest, key.Str, value)
		}
		return true
	})
	var inner extraFields
	function.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "name":
			f.name = value.Str
		case "arguments":
			f.args = value.Str
			s.news.brings(newsArguments, value)
			if value.Type == gjson.JSON {
				f.args, s.news.more = value.Raw, true
			}
		default:
			s.keep(&inner, key.Str, value)
		}
		return true
	})
	if object := inner.object(); object != nil {
		rest.add("function", object)
	}
	f.extra = append(f.extra, rest.fields...)
	if len(rest.details) > 0 {
		details := extraFields{details: rest.details}
		f.extra = append(f.extra, field{reasoningDetails, []byte(gjson.GetBytes(details.object(), reasoningDetails).Raw)})
	}
	s.news.more = s.news.more || !f.hasIndex || f.id != "" || f.name != ""
	s.news.index = f.index
	return f
}
