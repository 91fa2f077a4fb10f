package sim

import (
	"encoding/json"
	"hash/maphash"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

const (
	// maxRecords bounds the log of requests; the oldest go first. About 10 MB.
	maxRecords = 20_000
	// maxBodies bounds the request bodies remembered (by hash) to find duplicates.
	maxBodies = 1 << 20
	// maxConversations bounds the conversations remembered; past it they are forgotten
	// all at once, and those under way count as new ones.
	maxConversations = 100_000
	// maxUnclaimed bounds the dispatches that wait for their specialist's first call.
	maxUnclaimed = 1024
	minute       = time.Minute
)

// ledger is the server's account of its requests.
type ledger struct {
	price Price
	seed  maphash.Seed

	// mu guards all below, and the records.
	mu            sync.Mutex
	since         time.Time
	epoch         int // counts the resets
	number        int
	inFlight, max int // of the requests that hold a place
	open          int // those whose handler has not returned
	refused       int
	served        int
	unfinished    int
	dropped       int
	faults        map[string]int
	tokens, paid  events.Usage
	// flexTokens and flexPaid are what of them was served in the flex tier.
	flexTokens, flexPaid events.Usage
	records              []*Record
	bodies               map[uint64]int
	duplicates           int
	admitted             []time.Time // of the last minute, for the per-minute limit
	told                 told        // the same limit, where replies tell of it
	conversations        map[string]*conversation
	unclaimed            []*dispatch
}

// conversation is one agent's history as it grows from request to request.
type conversation struct {
	key string
	run string
	// parent is the request whose reply dispatched the agent, nil for the agent that
	// the run began with; due is when the dispatching call had streamed whole.
	parent *Record
	due    time.Duration
}

// dispatch is a dispatching call that no specialist has answered yet.
type dispatch struct {
	id      events.CallID
	message string
	from    *conversation
	parent  *Record
	due     time.Duration
}

func newLedger(price Price) *ledger {
	l := &ledger{price: price, seed: maphash.MakeSeed()}
	l.reset()
	return l
}

func (l *ledger) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since = time.Now()
	l.epoch++
	l.number, l.max, l.refused, l.served, l.unfinished, l.dropped, l.duplicates = 0, l.inFlight, 0, 0, 0, 0, 0
	l.faults, l.bodies, l.conversations = map[string]int{}, map[uint64]int{}, map[string]*conversation{}
	l.tokens, l.paid, l.flexTokens, l.flexPaid = events.Usage{}, events.Usage{}, events.Usage{}, events.Usage{}
	l.records, l.unclaimed, l.admitted, l.told = nil, nil, nil, told{}
}

// refuse counts a request that never got as far as a record.
func (l *ledger) refuse(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number++
	l.refused++
	l.faults[why]++
}

// admit numbers a request and lets it in, or gives the time to wait.
func (l *ledger) admit(now time.Time, faults *Faults) (*Record, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number++
	if faults.MaxInFlight > 0 && l.inFlight >= faults.MaxInFlight {
		l.refused++
		l.faults["429-above"]++
		return nil, faults.retryAfter()
	}
	switch limit := faults.RequestsPerMinute; {
	case limit > 0 && faults.TellLimits:
		if wait := l.told.take(now, limit); wait > 0 {
			l.refused++
			l.faults["rpm"]++
			return nil, wait
		}
	case limit > 0:
		for len(l.admitted) > 0 && now.Sub(l.admitted[0]) >= minute {
			l.admitted = l.admitted[1:]
		}
		if len(l.admitted) >= limit {
			l.refused++
			l.faults["rpm"]++
			return nil, minute - now.Sub(l.admitted[0])
		}
		l.admitted = append(l.admitted, now)
	}
	l.inFlight++
	l.open++
	l.max = max(l.max, l.inFlight)
	r := &Record{Number: l.number, ArrivalMS: milliseconds(now.Sub(l.since)), epoch: l.epoch}
	if len(l.records) == maxRecords {
		l.records, l.dropped = l.records[1:], l.dropped+1
	}
	l.records = append(l.records, r)
	if faults.TellLimits && faults.RequestsPerMinute > 0 {
		r.told = l.told.tell(faults.RequestsPerMinute)
	}
	return r, 0
}

// begin notes which conversation a request belongs to and whom its reply dispatches.
func (l *ledger) begin(r *Record, run string, req llm.Request, reply events.Reply, due []time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.conversation(run, req.Messages)
	r.conversation, r.Conversation, r.Run = c, c.key, c.run
	for i, call := range reply.ToolCalls {
		r.Tools = append(r.Tools, call.Name)
		if strings.HasPrefix(call.Name, dispatchPrefix) && i < len(due) {
			l.expect(&dispatch{id: call.ID, message: longestText(call.Arguments), from: c, parent: r, due: due[i]})
		}
	}
}

// conversation finds the conversation of a request by its system prompt and first
// user message. A new one belongs to the run whose dispatch message it carries.
func (l *ledger) conversation(run string, messages []events.Message) *conversation {
	system, first, fresh := "", "", true
	for _, m := range messages {
		switch {
		case m.Role == events.RoleSystem:
			system += m.Content
		case m.Role == events.RoleUser && first == "":
			first = m.Content
		case m.Role == events.RoleAssistant:
			fresh = false
		}
	}
	key := hex(hash(run, system, first))
	if len(l.conversations) >= maxConversations {
		clear(l.conversations)
	}
	if fresh {
		if d := l.claim(first); d != nil {
			c := &conversation{key: key, run: d.from.run, parent: d.parent, due: d.due}
			l.conversations[key] = c
			return c
		}
	}
	if c := l.conversations[key]; c != nil {
		return c
	}
	c := &conversation{key: key, run: run}
	if run == "" {
		c.run = key
	}
	l.conversations[key] = c
	return c
}

// expect remembers a dispatch until its specialist calls. A reply that is served
// again, to a client that lost the first, replaces its dispatches.
func (l *ledger) expect(d *dispatch) {
	if d.message == "" {
		return
	}
	for i, old := range l.unclaimed {
		if old.id == d.id && old.from == d.from {
			l.unclaimed[i] = d
			return
		}
	}
	if len(l.unclaimed) == maxUnclaimed {
		l.unclaimed = l.unclaimed[1:]
	}
	l.unclaimed = append(l.unclaimed, d)
}

func (l *ledger) claim(first string) *dispatch {
	for i, d := range l.unclaimed {
		if strings.Contains(first, d.message) {
			l.unclaimed = append(l.unclaimed[:i:i], l.unclaimed[i+1:]...)
			return d
		}
	}
	return nil
}

// sent notes that a chunk has gone out, the given time after the request's arrival.
func (l *ledger) sent(r *Record, after time.Duration) {
	at := milliseconds(after)
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.FirstChunkMS == 0 {
		r.FirstChunkMS = at
	}
	r.LastChunkMS = at
}

// leave gives back the request's place among those in flight. It comes before the last
// byte of a reply: from there on the client may send its next request.
func (l *ledger) leave(r *Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !r.left {
		r.left = true
		l.inFlight--
	}
}

// end closes a request.
func (l *ledger) end(r *Record, body []byte, o outcome) {
	l.leave(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if r.epoch != l.epoch {
		return // from before the reset
	}
	r.Status, r.Fault, r.Whole, r.planned = o.status, o.fault, o.whole, o.planned
	r.PlannedMS = milliseconds(o.planned)
	if r.Fault != "" {
		l.faults[r.Fault]++
	}
	if r.Status == http.StatusOK {
		l.paid = l.paid.Add(o.paid())
		if o.flex {
			l.flexPaid = l.flexPaid.Add(o.paid())
		}
	}
	switch {
	case r.Status != http.StatusOK:
		l.refused++
	case !r.Whole:
		l.unfinished++
	default:
		l.served++
		l.tokens = l.tokens.Add(o.usage)
		if o.flex {
			l.flexTokens = l.flexTokens.Add(o.usage)
		}
		l.count(r, body)
	}
}

// count finds replies that were paid for twice.
func (l *ledger) count(r *Record, body []byte) {
	key := maphash.Bytes(l.seed, body) ^ maphash.String(l.seed, r.Run)
	if l.bodies[key] == 0 && len(l.bodies) >= maxBodies {
		return
	}
	l.bodies[key]++
	if l.bodies[key] > 1 {
		r.Duplicate = true
		l.duplicates++
	}
}

// longestText gives the longest text among a call's arguments: its message.
func longestText(arguments string) string {
	var args map[string]any
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return ""
	}
	longest := ""
	for _, value := range args {
		if text, ok := value.(string); ok && len(text) > len(longest) {
			longest = text
		}
	}
	return longest
}
