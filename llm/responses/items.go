package responses

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/wire"
)

// The kinds of items that count; others are skipped.
const (
	kindReasoning = "reasoning"
	kindMessage   = "message"
	kindCall      = "function_call"
	kindSearch    = "web_search_call"
)

// itemBytes is what an item counts beside its text, so that endless empty ones are
// bounded too.
const itemBytes = 128

// item is one item of the output under way.
type item struct {
	output int64
	kind   string
	// at is the stretch of a message's text, bytes what streamed of it.
	at    span
	bytes int
	phase string
	// kept is a reasoning item, or a search, as it goes back.
	kept []byte
	// thought is set once reasoning of the item has streamed.
	thought bool
	// index is the place of a call in the reply; call is whole once it is set.
	index int
	name  string
	id    string
	args  strings.Builder
	whole bool
}

// item gives the item that an event is about, made where it is new: known by its
// output_index, since ids change in mid-stream.
func (s *stream) item(event gjson.Result) *item {
	at := event.Get("output_index")
	if !at.Exists() {
		if n := len(s.items); n > 0 && event.Get("type").Str != "response.output_item.added" {
			return s.items[n-1]
		}
		return s.open(int64(len(s.items)))
	}
	for i := len(s.items) - 1; i >= 0; i-- {
		if s.items[i].output == at.Int() {
			return s.items[i]
		}
	}
	return s.open(at.Int())
}

func (s *stream) open(output int64) *item {
	_ = s.Grow(itemBytes) // the event is looked at as a whole
	it := &item{output: output, index: -1}
	s.items = append(s.items, it)
	return it
}

// describe takes from an item's object what it says of it so far.
func (s *stream) describe(it *item, object gjson.Result) {
	if kind := object.Get("type").Str; it.kind == "" {
		it.kind = strings.Clone(kind)
	}
	if phase := object.Get("phase").Str; phase != "" {
		it.phase = strings.Clone(phase)
	}
	if it.kind != kindCall {
		return
	}
	s.number(it)
	if it.name == "" {
		it.name = strings.Clone(object.Get("name").Str)
	}
	if it.id == "" {
		it.id = strings.Clone(object.Get("call_id").Str)
	}
}

// number gives a call its place in the reply.
func (s *stream) number(it *item) {
	it.kind = kindCall
	if it.index < 0 {
		it.index = len(s.calls)
		s.calls = append(s.calls, it)
		s.Content = true
	}
}

// argue adds text to the arguments of a call.
func (s *stream) argue(it *item, text string) error {
	if it.whole || text == "" {
		return s.Err()
	}
	s.number(it)
	it.args.WriteString(text)
	if err := s.Grow(len(text)); err != nil {
		return err
	}
	s.AddFragment(it.index, text)
	return s.Err()
}

// wholeCall closes a call whose arguments are all there: they hold, whatever streamed
// before.
func (s *stream) wholeCall(it *item, arguments gjson.Result) error {
	if it.whole {
		return nil
	}
	text := arguments.Str
	if arguments.Type == gjson.JSON {
		text = arguments.Raw
	}
	switch streamed := it.args.String(); {
	case text == "" || streamed == text:
	case strings.HasPrefix(text, streamed):
		if err := s.argue(it, text[len(streamed):]); err != nil {
			return err
		}
	default:
		it.args.Reset()
		it.args.WriteString(text)
	}
	s.number(it)
	it.whole = true
	return s.announce()
}

// final gives a call as it is announced.
func (it *item) final(history []events.Message, taken []events.ToolCall) events.ToolCall {
	args := it.args.String()
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	return events.ToolCall{ID: wire.UniqueID(it.id, history, taken), Name: it.name, Arguments: args}
}
