package sim

import (
	"encoding/json"
	"strings"

	"github.com/convene-run/convene/events"
)

// transcript is the request's history as the model reads it: the job it is on and
// what it has done about it so far.
type transcript struct {
	system string
	// request is the user's message that began the job.
	request string
	// nudges counts the later user messages of the job; last are those that came
	// after the model's last reply, joined.
	nudges int
	last   string
	// notes are what the engine said of handoffs since the model's last reply.
	notes string
	// earlier are the exchanges before the job, in order.
	earlier []saying
	// turns counts the model's replies in the job.
	turns int
	// exchanges are the tool calls of the job in order, with their results.
	exchanges []exchange
}

// saying is an earlier request with its answer.
type saying struct{ request, answer string }

// exchange is one tool call and its answer.
type exchange struct {
	turn     int
	name     string
	args     map[string]any
	valid    bool // the arguments are a JSON object with all that the tool requires
	result   string
	answered bool
}

// fine reports whether the call was answered with a result.
func (e exchange) fine() bool { return e.valid && e.answered && !refused(e.result) }

func readTranscript(messages []events.Message) *transcript {
	t := &transcript{}
	open := map[events.CallID]int{}
	begun, ended, spoken, answer := false, false, false, ""
	for _, m := range messages {
		if t.noted(m) {
			continue
		}
		switch m.Role {
		case events.RoleSystem:
			t.system += m.Content + "\n"
		case events.RoleUser:
			switch {
			case !begun, ended && !nudge.MatchString(m.Content):
				if begun {
					t.earlier = append(t.earlier, saying{t.request, answer})
				}
				*t = transcript{system: t.system, request: m.Content, notes: t.notes, earlier: t.earlier}
				clear(open)
				begun, ended, spoken = true, false, false
			case !spoken:
				t.request += "\n" + m.Content
			default:
				t.nudges++
				t.last += m.Content + "\n"
			}
		case events.RoleAssistant:
			t.turns++
			t.last = ""
			spoken, ended, answer = true, len(m.ToolCalls) == 0, m.Content
			for _, call := range m.ToolCalls {
				open[call.ID] = len(t.exchanges)
				t.exchanges = append(t.exchanges, newExchange(t.turns, call))
			}
		case events.RoleTool:
			t.answer(open, m)
		}
	}
	t.system = strings.TrimSpace(t.system)
	return t
}

// noted keeps what the engine says of handoffs, until the model's next reply. It reports
// whether the message was that.
func (t *transcript) noted(m events.Message) bool {
	switch {
	case m.Role == events.RoleAssistant:
		t.notes = ""
	case m.Role == events.RoleUser && handoffNote.MatchString(m.Content):
		t.notes += m.Content + "\n"
		return true
	}
	return false
}

func newExchange(turn int, call events.ToolCall) exchange {
	e := exchange{turn: turn, name: call.Name}
	text := call.Arguments
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	e.valid = json.Unmarshal([]byte(text), &e.args) == nil && e.args != nil
	return e
}

func (t *transcript) answer(open map[events.CallID]int, m events.Message) {
	if i, ok := open[m.ToolCallID]; ok {
		t.exchanges[i].result, t.exchanges[i].answered = m.Content, true
	}
}

// tried counts the valid calls of a tool after a turn, and says whether one of
// them was answered well. A call that does not parse is no try: it was an accident.
func (t *transcript) tried(name string, after int) (tries int, fine bool) {
	for _, e := range t.exchanges {
		if e.name == name && e.turn > after && e.valid {
			tries++
			fine = fine || e.fine()
		}
	}
	return tries, fine
}

// result gives the last good result of a tool after a turn.
func (t *transcript) result(name string, after int) (text string, turn int) {
	for _, e := range t.exchanges {
		if e.name == name && e.turn > after && e.fine() {
			text, turn = e.result, e.turn
		}
	}
	return text, turn
}
