package openai

import (
	"errors"
	"unsafe"

	"github.com/tidwall/gjson"

	lib "github.com/sashabaranov/go-openai"

	"github.com/convene-run/convene/events"
)

var errNotJSON = errors.New("chunk is not valid JSON")

// chunk takes one JSON document of the stream: a chunk, a whole completion, or an
// error. It is lenient: a field of an unexpected type is as good as absent.
func (s *stream) chunk(data []byte) error {
	if !validJSON(data) {
		return errNotJSON
	}
	// The strings below share data's memory; whatever outlives this call is cloned.
	root := gjson.Parse(unsafe.String(unsafe.SliceData(data), len(data)))
	if !root.IsObject() {
		return nil
	}
	var choices, usage gjson.Result
	var failed bool
	root.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "choices":
			choices = value
		case "usage":
			usage = value
		case "model":
			if value.Str != "" && value.Str != s.model {
				s.model = string(append([]byte(nil), value.Str...))
			}
		case "error":
			failed = failed || says(value)
		case "object":
			failed = failed || value.Str == "error"
		}
		return true
	})
	if failed {
		return s.client.streamError(s.req.Model, root)
	}
	had := s.content
	var err error
	choices.ForEach(func(_, choice gjson.Result) bool {
		err = s.choice(choice)
		return err == nil
	})
	if err != nil {
		return err
	}
	if err := s.bounded(); err != nil {
		return err
	}
	s.finalUsage = false
	if u, ok := parseUsage(usage); ok {
		s.usage, s.usageSeen = u, true
		s.finalUsage = had && (!choices.IsArray() || choices.Raw == "[]")
	}
	return s.announce()
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
	var delta gjson.Result
	var finish string
	other := false
	choice.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "index":
			other = value.Int() > 0
		case "delta", "message":
			if value.IsObject() {
				delta = value
			}
		case "finish_reason":
			finish = value.Str
		}
		return true
	})
	if other {
		return nil // asked for one choice; a second is not ours
	}
	if err := s.delta(delta); err != nil {
		return err
	}
	if finish == "error" {
		return s.client.failure(s.req.Model, errorServer, "the endpoint finished with an error")
	}
	if finish != "" && s.finish == "" {
		s.finish = finishReason(finish)
	}
	return nil
}

// finishReason folds the spellings of some endpoints into those of the format.
func finishReason(sent string) events.FinishReason {
	switch sent {
	case "max_tokens", "max_output_tokens", "model_length", "MAX_TOKENS":
		return events.FinishLength
	case string(lib.FinishReasonFunctionCall), "tool_use":
		return events.FinishToolCalls
	case "end_turn", "eos", "STOP":
		return events.FinishStop
	}
	return events.FinishReason(string(append([]byte(nil), sent...)))
}

func (s *stream) delta(delta gjson.Result) error {
	var content, refusal, thought, reasoning, details, calls gjson.Result
	delta.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "content":
			content = value
		case "refusal":
			refusal = value
		case "reasoning_content":
			thought = value
		case "reasoning":
			reasoning = value
		case reasoningDetails:
			details = value
		case "tool_calls":
			calls = value
		case "role", "annotations", "audio", "function_call", "channel", "logprobs", "index", "name",
			"content_filter_results", "obfuscation", "id", "type", "token_ids":
			// parts of an answer that no endpoint wants back
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
	return s.toolCalls(calls)
}

// keep stores a field to be sent back, unless it says nothing.
func (s *stream) keep(to *extraFields, key string, value gjson.Result) {
	if value.Type == gjson.Null || value.Raw == `""` || value.Raw == "[]" || value.Raw == "{}" {
		return
	}
	s.size += len(value.Raw)
	to.add(string(append([]byte(nil), key...)), []byte(value.Raw))
}

// thoughts takes the reasoning from the first of its fields that has some: they
// repeat each other.
func (s *stream) thoughts(thought, reasoning, details gjson.Result) error {
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
	return s.addReasoning(text)
}

// contents takes content as text or as an array of parts (WIRE 3).
func (s *stream) contents(content gjson.Result) error {
	if content.Type == gjson.String {
		return s.think.split(content.Str, s.piece)
	}
	if !content.IsArray() {
		return nil
	}
	var err error
	content.ForEach(func(_, part gjson.Result) bool {
		switch thinking := part.Get("thinking"); {
		case part.Type == gjson.String:
			err = s.addText(part.Str)
		case thinking.Type == gjson.String:
			err = s.addReasoning(thinking.Str)
		case thinking.IsArray():
			thinking.ForEach(func(_, p gjson.Result) bool {
				err = s.addReasoning(p.Get("text").Str)
				return err == nil
			})
		default:
			err = s.addText(part.Get("text").Str)
		}
		return err == nil
	})
	return err
}

func (s *stream) toolCalls(calls gjson.Result) error {
	if !calls.IsArray() {
		return nil
	}
	calls.ForEach(func(_, element gjson.Result) bool {
		if element.IsObject() {
			s.content = true
			s.calls.add(s.fragment(element))
		}
		return s.emitErr == nil && !s.calls.tooMany()
	})
	if s.emitErr != nil {
		return s.emitErr
	}
	if s.calls.tooMany() {
		return s.client.failure(s.req.Model, errorTooLarge, "more than %d tool calls in one reply (the bound of a reply)", MaxToolCalls)
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
			if value.Type == gjson.JSON {
				f.args = value.Raw
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
	s.size += len(f.args)
	return f
}
