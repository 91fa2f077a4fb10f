package events

import (
	"strconv"
	"unicode/utf8"

	"github.com/convene-run/convene/internal/chars"
)

// frequent appends a payload of the kinds that most events of a run are, in the bytes of
// encoding/json at a third of its price. ok is false for others, and where a field is set that
// few events have.
func (enc *encoder) frequent(dst []byte, data Event) (_ []byte, ok bool) {
	switch e := data.(type) {
	case ToolCallDone:
		return enc.toolCall(dst, &e)
	case ModelCalled:
		return enc.modelCalled(dst, &e)
	case DocumentUpdated:
		return enc.documentUpdated(dst, &e)
	}
	return nil, false
}

func (enc *encoder) toolCall(dst []byte, e *ToolCallDone) (_ []byte, ok bool) {
	if len(e.Parts)+len(e.Sources)+len(e.Extra) > 0 || e.Early != nil {
		return nil, false
	}
	dst = enc.text(append(dst, `{"agent":`...), string(e.Agent))
	dst = enc.text(append(dst, `,"tool":`...), e.Tool)
	dst = enc.text(append(dst, `,"result":`...), e.Result)
	dst = enc.text(append(dst, `,"phase":`...), e.Phase)
	dst = appendTrueIf(dst, `,"failed":`, e.Failed)
	dst = appendNumbers(dst, `,"shown_entries":`, e.ShownEntries)
	dst = enc.text(append(dst, `,"model_call_id":`...), string(e.ModelCall))
	dst = strconv.AppendInt(append(dst, `,"index":`...), int64(e.Index), 10)
	dst = enc.text(append(dst, `,"call_id":`...), string(e.CallID))
	dst = enc.text(append(dst, `,"arguments":`...), e.Arguments)
	return append(dst, '}'), true
}

func (enc *encoder) modelCalled(dst []byte, e *ModelCalled) (_ []byte, ok bool) {
	if len(e.Retries) > 0 || e.Lost != nil || e.Interrupted || e.KeptDropped {
		return nil, false
	}
	dst = enc.text(append(dst, `{"id":`...), string(e.ID))
	dst = enc.textIf(dst, `,"provider":`, e.Provider)
	dst = enc.text(append(dst, `,"model":`...), e.Model)
	dst = enc.textIf(dst, `,"api":`, string(e.API))
	if dst, ok = enc.reply(append(dst, `,"reply":`...), &e.Reply); !ok {
		return nil, false
	}
	dst = appendUsage(append(dst, `,"usage":`...), &e.Usage)
	dst = enc.textIf(dst, `,"tier":`, e.Tier)
	dst, err := enc.cost(append(dst, `,"cost_usd":`...), e.CostUSD)
	if err != nil {
		return nil, false
	}
	dst = strconv.AppendInt(append(dst, `,"queued_ms":`...), e.QueuedMS, 10)
	dst = appendNumberIf(dst, `,"retried_ms":`, e.RetriedMS)
	dst = strconv.AppendInt(append(dst, `,"first_token_ms":`...), e.FirstTokenMS, 10)
	dst = strconv.AppendInt(append(dst, `,"total_ms":`...), e.TotalMS, 10)
	dst = strconv.AppendInt(append(dst, `,"attempts":`...), int64(e.Attempts), 10)
	dst = enc.textIf(dst, `,"purpose":`, e.Purpose)
	return append(dst, '}'), true
}

func (enc *encoder) reply(dst []byte, r *Reply) (_ []byte, ok bool) {
	if len(r.Extra)+len(r.Searches)+len(r.Cited) > 0 {
		return nil, false
	}
	at := len(dst)
	dst = enc.textIf(dst, `,"text":`, r.Text)
	dst = enc.textIf(dst, `,"reasoning":`, r.Reasoning)
	for i := range r.ToolCalls {
		call := &r.ToolCalls[i]
		if len(call.Extra) > 0 {
			return nil, false
		}
		if i == 0 {
			dst = append(dst, `,"tool_calls":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = enc.text(append(dst, `{"id":`...), string(call.ID))
		dst = enc.text(append(dst, `,"name":`...), call.Name)
		dst = enc.text(append(dst, `,"arguments":`...), call.Arguments)
		dst = append(dst, '}')
	}
	if len(r.ToolCalls) > 0 {
		dst = append(dst, ']')
	}
	dst = enc.textIf(dst, `,"finish_reason":`, string(r.FinishReason))
	if len(dst) == at {
		return append(dst, `{}`...), true
	}
	dst[at] = '{' // for the first comma
	return append(dst, '}'), true
}

func appendUsage(dst []byte, u *Usage) []byte {
	dst = strconv.AppendInt(append(dst, `{"input_tokens":`...), u.InputTokens, 10)
	dst = appendNumberIf(dst, `,"cached_input_tokens":`, u.CachedInputTokens)
	dst = appendNumberIf(dst, `,"cache_write_input_tokens":`, u.CacheWriteInputTokens)
	dst = appendNumberIf(dst, `,"cache_write_1h_input_tokens":`, u.CacheWrite1hInputTokens)
	dst = strconv.AppendInt(append(dst, `,"output_tokens":`...), u.OutputTokens, 10)
	dst = appendNumberIf(dst, `,"reasoning_tokens":`, u.ReasoningTokens)
	dst = appendNumberIf(dst, `,"web_searches":`, u.WebSearches)
	return append(appendTrueIf(dst, `,"estimated":`, u.Estimated), '}')
}

func (enc *encoder) documentUpdated(dst []byte, e *DocumentUpdated) (_ []byte, ok bool) {
	if len(e.Spans)+len(e.Sources) > 0 || e.Unsupported {
		return nil, false
	}
	dst = strconv.AppendInt(append(dst, `{"version":`...), int64(e.Version), 10)
	dst = enc.text(append(dst, `,"author":`...), string(e.Author))
	dst = enc.text(append(dst, `,"content":`...), e.Content)
	dst = enc.text(append(dst, `,"change_description":`...), e.ChangeDescription)
	dst = enc.text(append(dst, `,"section":`...), e.Section)
	dst = enc.text(append(dst, `,"slot":`...), e.Slot)
	dst = strconv.AppendInt(append(dst, `,"entry_id":`...), int64(e.EntryID), 10)
	dst = appendNumbers(dst, `,"replaced":`, e.Replaced)
	dst = appendNumbers(dst, `,"merged":`, e.Merged)
	dst = appendNumbers(dst, `,"task_ids":`, e.Tasks)
	dst = enc.textIf(dst, `,"model_call_id":`, string(e.ModelCall))
	return append(dst, '}'), true
}

// textIf appends a member unless its text is empty.
func (enc *encoder) textIf(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	return enc.text(append(dst, name...), text)
}

// appendNumberIf appends a member unless it is 0.
func appendNumberIf(dst []byte, name string, n int64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, name...), n, 10)
}

// appendNumbers appends a member unless there are none.
func appendNumbers[N ~int | ~int64](dst []byte, name string, numbers []N) []byte {
	if len(numbers) == 0 {
		return dst
	}
	dst = append(append(dst, name...), '[')
	for i, n := range numbers {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(n), 10)
	}
	return append(dst, ']')
}

// text appends a string. What encoding/json writes in a way of its own is left to it, such as
// bytes that are no UTF-8.
func (enc *encoder) text(dst []byte, text string) []byte {
	start, from := len(dst), 0
	dst = append(dst, '"')
	for i := chars.Unescaped(text); i < len(text); i += chars.Unescaped(text[i:]) {
		escaped := text[i]
		switch escaped {
		case '"', '\\':
		case '\n':
			escaped = 'n'
		case '\t':
			escaped = 't'
		default:
			r, size := utf8.DecodeRuneInString(text[i:])
			if size == 1 || r == '\u2028' || r == '\u2029' {
				quoted, _ := enc.value(text) // no string fails
				return append(dst[:start], quoted...)
			}
			i += size
			continue
		}
		dst = append(append(dst, text[from:i]...), '\\', escaped)
		i++
		from = i
	}
	return append(append(dst, text[from:]...), '"')
}
