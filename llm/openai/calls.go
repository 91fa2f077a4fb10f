package openai

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/wire"
)

// call is one tool call under assembly.
type call struct {
	index int    // place in the reply
	rawID string // as sent; what later fragments refer to
	name  string
	args  []byte
	scan  objectScan
	// lastFragment is where the newest fragment begins in args.
	lastFragment int
	// repeat collects an object that follows the whole arguments: the same once more
	// (WIRE 8) or another call (WIRE 5).
	repeat     []byte
	repeatScan objectScan
	extra      extraFields
	// whole is set at the end of the stream: what there is can be announced.
	whole bool
	// given is the index that the endpoint gave, where indexed is set.
	given   int64
	indexed bool
}

// empty reports arguments of {}: some endpoints send that first and the real
// arguments after it.
func (c *call) empty() bool {
	return len(c.args) <= 8 && string(bytes.Join(bytes.Fields(c.args), nil)) == "{}"
}

// firstArguments is the room for the arguments of a call at first: most need it.
const firstArguments = 256

// callSet assembles the tool calls of one reply from their fragments.
type callSet struct {
	list []*call
	last *call
	// announced are the calls already handed on, always the first of list.
	announced []events.ToolCall
	// history holds the calls whose ids are taken.
	history []events.Message
	// call hears of new text in the arguments of a call.
	call *wire.Call
}

// unused are calls that were announced: their memory serves others.
var unused = sync.Pool{New: func() any { return &call{args: make([]byte, 0, firstArguments)} }}

// release forgets all calls.
func (s *callSet) release() {
	for _, c := range s.list {
		*c = call{args: wire.Again(c.args)}
		unused.Put(c)
	}
	*s = callSet{}
}

// fragment is one element of a delta's tool_calls.
type fragment struct {
	index    int64
	hasIndex bool
	id, name string
	args     string
	extra    []field
}

// add takes one fragment.
func (s *callSet) add(f fragment) {
	c := s.resolve(f)
	if c == nil {
		return
	}
	s.last = c
	if c.rawID == "" {
		c.rawID = strings.Clone(f.id)
	}
	if c.name == "" {
		c.name = strings.Clone(f.name)
	}
	for _, x := range f.extra {
		c.extra.add(x.key, x.raw)
	}
	for text := f.args; text != "" && !s.tooMany(); {
		c, text = s.write(c, text)
	}
}

// tooMany reports that the reply is over the bound of its calls.
func (s *callSet) tooMany() bool { return len(s.list) > MaxToolCalls }

// resolve finds the call that a fragment belongs to: by index where given, else by
// id, else by name, else the one last written to.
func (s *callSet) resolve(f fragment) *call {
	known := s.last
	switch {
	case f.hasIndex:
		known = s.byIndex(f.index)
	case f.id != "":
		known = s.byID(f.id)
	}
	if known == nil && !f.hasIndex && f.id == "" && f.name == "" {
		if strings.TrimSpace(f.args) == "" {
			return nil
		}
		return s.start(f)
	}
	if known == nil || startsNew(known, f) {
		return s.start(f)
	}
	return known
}

// startsNew reports whether the fragment opens another call than the known one
// that its index, id or place points to.
func startsNew(known *call, f fragment) bool {
	if f.id != "" && known.rawID != "" && f.id != known.rawID {
		return true
	}
	if f.name == "" {
		return false
	}
	if f.name != known.name && known.name != "" {
		return true
	}
	if f.hasIndex || f.id != "" {
		return false
	}
	// The same name again, with nothing else to tell the calls apart.
	return known.scan.done || (len(known.args) == 0 && f.args == "")
}

func (s *callSet) byID(id string) *call {
	for i := len(s.list) - 1; i >= 0; i-- {
		if s.list[i].rawID == id {
			return s.list[i]
		}
	}
	return nil
}

// byIndex finds the newest call under an index that the endpoint gave.
func (s *callSet) byIndex(index int64) *call {
	for i := len(s.list) - 1; i >= 0; i-- {
		if c := s.list[i]; c.indexed && c.given == index {
			return c
		}
	}
	return nil
}

func (s *callSet) start(f fragment) *call {
	c := unused.Get().(*call)
	c.given, c.indexed = f.index, f.hasIndex
	return s.append(c)
}

func (s *callSet) append(c *call) *call {
	c.index = len(s.list)
	s.list = append(s.list, c)
	s.last = c
	if len(c.args) > 0 {
		s.call.AddFragment(c.index, string(c.args))
	}
	return c
}

// write adds text to the arguments of c and returns what is left for another call
// that the text turned out to open.
func (s *callSet) write(c *call, text string) (*call, string) {
	if !c.scan.done {
		n := c.scan.feed(text)
		c.lastFragment = len(c.args)
		c.args = append(c.args, text[:n]...)
		s.call.AddFragment(c.index, text[:n])
		return c, text[n:]
	}
	if len(c.repeat) == 0 {
		if text = strings.TrimLeft(text, " \t\r\n"); text == "" || text[0] != '{' {
			return c, "" // a stray brace or comma behind the arguments
		}
	}
	n := c.repeatScan.feed(text)
	c.repeat = append(c.repeat, text[:n]...)
	if !c.repeatScan.done {
		return c, ""
	}
	next := s.settleRepeat(c)
	return next, text[n:]
}

// settleRepeat decides what an object behind whole arguments was.
func (s *callSet) settleRepeat(c *call) *call {
	object := c.repeat
	c.repeat, c.repeatScan = nil, objectScan{}
	switch {
	case sameJSON(c.args, object):
		return c
	case c.empty() && s.isLast(c):
		c.args = object
		s.call.AddFragment(c.index, string(object))
		return c
	}
	return s.append(&call{name: c.name, args: object, scan: objectScan{opened: true, done: true}, given: c.given, indexed: c.indexed && s.byIndex(c.given) == c})
}

func (s *callSet) isLast(c *call) bool { return s.list[len(s.list)-1] == c }

// ready gives the next call in order that can be announced, or nil.
func (s *callSet) ready() *call {
	place := len(s.announced)
	if place == len(s.list) {
		return nil
	}
	c := s.list[place]
	later := s.list[place+1:]
	switch {
	case c.whole, c.scan.done && (len(later) > 0 || !c.empty()):
		return c
	case len(c.args) == 0 && len(later) > 0 && later[0].scan.done:
		return c
	}
	return nil
}

// finish closes all calls at the end of the stream.
func (s *callSet) finish() {
	for i := 0; i < len(s.list); i++ { //nolint:intrange // append below makes the list longer
		c := s.list[i]
		c.whole = true
		if len(c.repeat) > 0 && !bytes.HasPrefix(c.args, c.repeat) {
			s.append(&call{name: c.name, args: c.repeat, whole: true})
		}
		c.repeat = nil
		// The newest fragment repeated arguments that were not complete before it, perhaps
		// spaced otherwise.
		if last := c.args[c.lastFragment:]; c.lastFragment > 0 && wire.ValidJSON(last) && !wire.ValidJSON(c.args) &&
			bytes.HasPrefix(compact(last), compact(c.args[:c.lastFragment])) {
			c.args = last
		}
	}
}

// announce gives the next ready call its final form, with what is kept of it.
func (s *callSet) announce(c *call, extra json.RawMessage) *events.ToolCall {
	args := string(c.args)
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	final := events.ToolCall{ID: wire.UniqueID(c.rawID, s.history, s.announced), Name: c.name, Arguments: args, Extra: extra}
	s.announced = append(s.announced, final)
	return &s.announced[len(s.announced)-1]
}

// compact gives JSON, or the beginning of it, without the white space between its
// values.
func compact(text []byte) []byte {
	out := make([]byte, 0, len(text))
	inString, escape := false, false
	for _, b := range text {
		switch {
		case escape:
			escape = false
		case inString:
			escape = b == '\\'
			inString = b != '"'
		case b == '"':
			inString = true
		case b == ' ' || b == '\n' || b == '\t' || b == '\r':
			continue
		}
		out = append(out, b)
	}
	return out
}

func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// objectScan follows a JSON object through its fragments to its closing brace.
type objectScan struct {
	depth            int
	opened, done     bool
	inString, escape bool
	// other is set where the text does not begin with a brace: its end shows only at
	// the end of the stream.
	other bool
}

// feed takes text and returns how many bytes of it belong to the object.
func (s *objectScan) feed(text string) int {
	for i := 0; i < len(text) && !s.other; i++ {
		b := text[i]
		switch {
		case s.escape:
			s.escape = false
		case s.inString:
			s.escape = b == '\\'
			s.inString = b != '"'
		case b == '"':
			s.inString = s.opened
			s.other = !s.opened
		case b == '{' || (b == '[' && s.opened):
			s.depth++
			s.opened = true
		case (b == '}' || b == ']') && s.opened:
			s.depth--
			if s.depth == 0 {
				s.done = true
				return i + 1
			}
		case !s.opened && b != ' ' && b != '\n' && b != '\t' && b != '\r':
			s.other = true
		}
	}
	return len(text)
}
