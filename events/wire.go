package events

import (
	"bytes"
	"encoding/json"
	"time"
)

// cut takes an envelope apart in the form that [Encode] writes, without a pass over its
// payload, of which nothing is known then but where it lies. It reports false where the form
// is another one, as it may be in files that others wrote: encoding/json reads those.
func (w *wire) cut(body []byte) bool {
	rest, ok := bytes.CutSuffix(body, []byte{'}'})
	c := cutter{rest: rest, ok: ok}
	w.V = int(c.number(`{"v":`))
	w.Tenant = TenantID(c.text(`,"tenant_id":"`))
	w.Thread = ThreadID(c.text(`,"thread_id":"`))
	w.Run = RunID(c.text(`,"run_id":"`))
	w.Seq = Seq(c.number(`,"seq":`))
	w.Time = c.time(`,"time":"`)
	w.Type = Kind(c.text(`,"type":"`))
	if c.at(`,"agent":"`) {
		w.Agent = AgentID(c.text(`,"agent":"`))
	}
	if c.at(`,"dispatch_id":"`) {
		w.Dispatch = DispatchID(c.text(`,"dispatch_id":"`))
	}
	if c.at(byMember) {
		w.By = c.actor()
	}
	c.member(`,"data":`)
	w.Data = c.rest
	return c.ok
}

// cutter takes members off the front of an object. Once one is not as expected ok is false,
// and what it gives means nothing.
type cutter struct {
	rest []byte
	ok   bool
}

func (c *cutter) at(name string) bool { return bytes.HasPrefix(c.rest, []byte(name)) }

func (c *cutter) member(name string) {
	var found bool
	c.rest, found = bytes.CutPrefix(c.rest, []byte(name))
	c.ok = c.ok && found
}

// maxDigits keeps a number within an int64.
const maxDigits = 18

func (c *cutter) number(name string) (n int64) {
	c.member(name)
	digits := 0
	for digits < len(c.rest) && c.rest[digits] >= '0' && c.rest[digits] <= '9' && digits <= maxDigits {
		n = n*10 + int64(c.rest[digits]-'0')
		digits++
	}
	c.ok = c.ok && digits > 0 && digits <= maxDigits && c.rest[0] != '0'
	c.rest = c.rest[digits:]
	return n
}

// text cuts a string of printable ASCII without escapes.
func (c *cutter) text(name string) string {
	c.member(name)
	text, rest, found := bytes.Cut(c.rest, []byte{'"'})
	for _, b := range text {
		found = found && b >= ' ' && b <= '~' && b != '\\'
	}
	c.rest, c.ok = rest, c.ok && found
	return string(text)
}

// byMember begins the member of an envelope that says who caused the event.
const byMember = `,"by":`

// actor cuts who caused the event.
func (c *cutter) actor() *Actor {
	c.member(byMember)
	actor := new(Actor)
	length := valueLength(c.rest)
	c.ok = c.ok && json.Unmarshal(c.rest[:length], actor) == nil
	c.rest = c.rest[length:]
	return actor
}

func (c *cutter) time(name string) (t time.Time) {
	text := c.text(name)
	c.ok = c.ok && t.UnmarshalText([]byte(text)) == nil
	return t
}
