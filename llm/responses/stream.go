package responses

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/wire"
)

// stream is the reply of one call under way. It lives on the goroutine of its
// consumer.
type stream struct {
	wire.Call
	client *Client
	kept   llm.Kept
	// leftOut are the fields that the model is known to refuse.
	leftOut wire.Fields

	items []*item
	// calls are the items that are calls, by their index; announced the calls already
	// handed on, always the first of them.
	calls     []*item
	announced []events.ToolCall
	// length is how much text there is, in bytes.
	length int
	// searches and cited are those of the reply.
	searches []string
	cited    []events.CitedPage
	// paidSearches counts the searches that streamed and that the provider charges for.
	paidSearches int64

	finish  events.FinishReason
	refused bool
	over    bool

	// adds takes the text of the newest event, and of those that repeat it, for the item of.
	adds func(s *stream, of *item, text string) error
	of   *item
}

var _ wire.Protocol = (*stream)(nil)

// Encode writes the request.
func (s *stream) Encode(dst []byte) []byte {
	w := writer{dst: dst, req: s.Request(), kept: s.kept, tier: s.client.Tier(s.Request().Tier), refused: s.leftOut, strict: &s.client.strict}
	w.request()
	return w.dst
}

// State says that only the end of the response ends a reply: neither [DONE] nor the
// end of the body does.
func (s *stream) State() wire.State {
	if s.over {
		return wire.StateOver
	}
	return wire.StateOpen
}

// Refused looks at an answer that is no 200.
func (s *stream) Refused(e *llm.Error, param string) error {
	if wire.NothingThere(e) {
		e.Instead = events.APIChat
		return e
	}
	if refusedBack(e) {
		return wire.RefusedKept(e)
	}
	return s.client.refusals.Look(s.Request(), e, param+" "+e.Code)
}

// Document takes one event of the stream, or a whole response.
func (s *stream) Document(root wire.Value) error {
	if err := s.event(root.Result()); err != nil {
		return err
	}
	return s.Grow(0)
}

func (s *stream) event(root gjson.Result) error {
	switch root.Get("type").Str {
	case "":
		return s.untyped(root)
	case "error":
		return s.ErrorIn(root)
	case "response.output_item.added":
		s.describe(s.item(root), root.Get("item"))
	case "response.output_item.done":
		return s.itemDone(s.item(root), root.Get("item"))
	case "response.output_text.delta", "response.refusal.delta":
		return s.delta(root, (*stream).write)
	case "response.output_text.done":
		return s.written(s.item(root), root.Get("text").Str)
	case "response.refusal.done":
		s.refused = true
		return s.written(s.item(root), root.Get("refusal").Str)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return s.delta(root, (*stream).think)
	case "response.reasoning_summary_part.added":
		if root.Get("summary_index").Int() > 0 {
			return s.think(s.item(root), "\n\n")
		}
	case "response.function_call_arguments.delta":
		return s.delta(root, (*stream).argue)
	case "response.function_call_arguments.done":
		return s.wholeCall(s.item(root), root.Get("arguments"))
	case "response.created", "response.in_progress", "response.queued":
		s.Named(root.Get("response.model").Str)
		s.Served(root.Get("response.service_tier").Str)
	case "response.completed", "response.incomplete", "response.failed":
		return s.ended(root.Get("response"))
	}
	return nil // others are of no use to us
}

// delta takes an event that brings more text of an item.
func (s *stream) delta(root gjson.Result, adds func(*stream, *item, string) error) error {
	text := root.Get("delta")
	s.adds, s.of = adds, s.item(root)
	if text.Type == gjson.String {
		s.Repeats(wire.PlaceOf(text), wire.PlaceOf(root.Get("sequence_number")), wire.PlaceOf(root.Get("item_id")), wire.PlaceOf(root.Get("obfuscation")))
	}
	return adds(s, s.of, text.Str)
}

// Again takes more text of the same item.
func (s *stream) Again(text string) error {
	if err := s.adds(s, s.of, text); err != nil {
		return err
	}
	return s.Grow(0)
}

// untyped takes JSON that is no event: a whole response, or an error.
func (s *stream) untyped(root gjson.Result) error {
	switch {
	case root.Get("object").Str == "response" || root.Get("output").IsArray():
		return s.ended(root)
	case root.Get("error").Exists() && root.Get("error").Type != gjson.Null:
		return s.ErrorIn(root)
	case root.Get("choices").IsArray():
		return s.Failure(llm.ErrServer, "the endpoint answered with chat completions; ask for them with --api chat")
	}
	return nil
}

// ended takes the response as it is at its end.
func (s *stream) ended(response gjson.Result) error {
	s.Named(response.Get("model").Str)
	s.Served(response.Get("service_tier").Str)
	if u, ok := parseUsage(response.Get("usage")); ok {
		u.WebSearches = s.charged(response)
		s.Counted(u)
	}
	if failure := response.Get("error"); failure.IsObject() {
		return s.ErrorIn(response)
	}
	if response.Get("status").Str == "failed" {
		return s.Failure(llm.ErrServer, "the endpoint gave up the reply without saying why")
	}
	for i, object := range response.Get("output").Array() {
		if i >= len(s.items) { // nothing of it streamed
			if err := s.itemDone(s.open(int64(i)), object); err != nil {
				return err
			}
		}
	}
	s.over = true
	switch response.Get("incomplete_details.reason").Str {
	case "max_output_tokens":
		s.finish = events.FinishLength
	case "content_filter":
		s.finish = events.FinishContentFilter
	default:
		if response.Get("status").Str == "incomplete" {
			s.finish = events.FinishLength
		}
	}
	return nil
}

// itemDone takes an item that is complete. What it holds counts where nothing of it
// streamed.
func (s *stream) itemDone(it *item, object gjson.Result) error {
	s.describe(it, object)
	switch it.kind {
	case kindCall:
		return s.wholeCall(it, object.Get("arguments"))
	case kindReasoning:
		it.kept = keepItem(object)
		if err := s.Grow(len(it.kept)); err != nil || it.thought {
			return err
		}
		return s.thoughts(it, object)
	case kindSearch:
		return s.searched(it, object)
	case kindMessage:
		if err := s.cite(object); err != nil {
			return err
		}
		return s.contents(it, object)
	}
	return nil
}

// contents takes the text of a message none of which streamed.
func (s *stream) contents(it *item, object gjson.Result) error {
	streamed := it.bytes > 0
	var err error
	object.Get("content").ForEach(func(_, part gjson.Result) bool {
		if refusal := part.Get("refusal"); refusal.Type == gjson.String {
			s.refused = true
			if !streamed {
				err = s.write(it, refusal.Str)
			}
		} else if !streamed {
			err = s.write(it, part.Get("text").Str)
		}
		return err == nil
	})
	return err
}

// thoughts takes the reasoning of an item none of which streamed.
func (s *stream) thoughts(it *item, object gjson.Result) error {
	for _, list := range []string{"summary", "content"} {
		for _, part := range object.Get(list).Array() {
			if it.thought {
				if err := s.think(it, "\n\n"); err != nil {
					return err
				}
			}
			if err := s.think(it, part.Get("text").Str); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *stream) think(it *item, text string) error {
	it.thought = it.thought || text != ""
	if it.kind == "" {
		it.kind = kindReasoning
	}
	return s.AddReasoning(text)
}

// write adds text to a message. Messages of one reply are separated by an empty line.
func (s *stream) write(it *item, text string) error {
	if text == "" {
		return nil
	}
	if it.bytes == 0 {
		it.kind = kindMessage
		if s.length > 0 {
			const between = "\n\n"
			s.length += len(between)
			if err := s.AddText(between); err != nil {
				return err
			}
		}
		it.at.From = s.length
	}
	it.bytes += len(text)
	s.length += len(text)
	it.at.To = s.length
	return s.AddText(text)
}

// written takes the whole text of a part of a message, where none of it streamed.
func (s *stream) written(it *item, text string) error {
	if it.bytes > 0 {
		return nil
	}
	return s.write(it, text)
}

// announce hands on the calls that are whole, in their order.
func (s *stream) announce() error {
	for len(s.announced) < len(s.calls) {
		if len(s.announced) == wire.MaxToolCalls {
			return s.TooManyCalls()
		}
		it := s.calls[len(s.announced)]
		if !it.whole || it.name == "" {
			return nil
		}
		call := it.final(s.Request().Messages, s.announced)
		s.announced = append(s.announced, call)
		if err := s.AddCall(it.index, &call, s.keep()); err != nil {
			return err
		}
	}
	return nil
}

// keep gives what goes back with the reply as it is now.
func (s *stream) keep() json.RawMessage {
	ordered := slices.Clone(s.items)
	slices.SortStableFunc(ordered, func(a, b *item) int { return int(a.output - b.output) })
	var parts []part
	for _, it := range ordered {
		switch {
		case it.kept != nil:
			parts = append(parts, part{Item: it.kept})
		case it.kind == kindMessage && it.bytes > 0:
			at := it.at
			parts = append(parts, part{Text: &at, Phase: it.phase})
		case it.kind == kindCall && it.index < len(s.announced):
			index := it.index
			parts = append(parts, part{Call: &index})
		}
	}
	if plain(parts) {
		return nil
	}
	raw, err := json.Marshal(parts)
	if err != nil {
		return nil // items are valid JSON
	}
	return s.kept.With(raw)
}

// Reply gives the whole reply. A call that the end of the output cut off is as whole
// as it will be.
func (s *stream) Reply() (events.Reply, error) {
	for _, it := range s.calls {
		it.whole = true
	}
	if err := s.announce(); err != nil {
		return events.Reply{}, err
	}
	reply := events.Reply{ToolCalls: s.announced, Extra: s.keep(), FinishReason: s.finish, Searches: s.searches, Cited: s.cited}
	switch {
	case reply.FinishReason != "":
	case s.refused:
		reply.FinishReason = events.FinishContentFilter
	case len(s.announced) > 0:
		reply.FinishReason = events.FinishToolCalls
	default:
		reply.FinishReason = events.FinishStop
	}
	return reply, nil
}
