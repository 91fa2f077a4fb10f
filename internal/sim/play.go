package sim

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"unicode/utf8"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// The tools by which the model knows its part.
const (
	toolCreateTasks   = "create_tasks"
	toolPlanStatus    = "get_plan_status"
	toolReadDocument  = "read_document"
	toolReadClean     = "read_document_clean"
	toolConsolidate   = "consolidate_section"
	toolReadTasks     = "read_tasks"
	toolCompleteTask  = "complete_task"
	toolDeclineTask   = "decline_task"
	toolWriteSection  = "write_section"
	toolHandOver      = "handoff_conversation"
	toolReturn        = "return_control"
	toolCompletePhase = "complete_phase"
	toolSetState      = "set_workflow_state"
	toolAskUser       = "ask_user"
	dispatchPrefix    = "call_"
	hugeReplyBytes    = 10 << 20
	floodTasks        = 500
	maxTries          = 2 // a refused call is tried once more, then given up
	maxEntriesPerTask = 7 // a task that covers many days writes some of them
)

// part is one turn of the model: what it was sent and what it makes of it.
type part struct {
	*transcript
	options Options
	req     llm.Request
	reply   events.Reply
	// structured is set where the reply is an answer under a schema.
	structured bool
}

// play decides the reply to a request.
func (m *Model) play(req llm.Request) *part {
	p := &part{transcript: readTranscript(req.Messages), options: m.options, req: req}
	p.spotAccidents()
	switch {
	case p.options.Behaviour == BehaveEmpty:
	case p.options.Behaviour == BehaveEndless && len(req.Tools) > 0:
		p.callForEver()
	case p.talks() && !restAsked.MatchString(p.last):
		p.converse()
	case p.mustAnswer():
		p.answer()
	case restAsked.MatchString(p.last):
		p.resume()
	case p.offered(toolCreateTasks):
		if !p.moderate() {
			p.facilitate()
		}
	case p.offered(toolWriteSection):
		p.specialize()
	default:
		p.workAlone()
	}
	return p
}

// spotAccidents marks the calls whose arguments broke on the way. Clients send those
// back as an empty object: what the tool requires is missing, or the result says so.
func (p *part) spotAccidents() {
	required := map[string][]string{}
	for i := range p.exchanges {
		e := &p.exchanges[i]
		if brokenArguments.MatchString(e.result) {
			e.valid = false
		}
		if _, known := required[e.name]; !known {
			required[e.name] = p.schema(e.name).Required
		}
		for _, name := range required[e.name] {
			if _, given := e.args[name]; !given && e.args[clippedArguments] == nil {
				e.valid = false
			}
		}
	}
}

// talks reports whether the model is a specialist that has the conversation with the user.
func (p *part) talks() bool { return p.offered(toolReturn) || p.offered(toolCompletePhase) }

// mustAnswer reports whether only a plain answer is left.
func (p *part) mustAnswer() bool {
	return p.req.ToolChoice == llm.ToolChoiceNone || len(p.req.Tools) == 0 ||
		p.turns >= maxTurns || answerNow.MatchString(p.last)
}

// answer gives the text that ends the part.
func (p *part) answer() {
	switch {
	case p.options.Behaviour == BehaveHuge:
		line := "This simulated reply goes on and on.\n"
		p.reply.Text = strings.Repeat(line, hugeReplyBytes/len(line)+1)
	case p.answerStructured():
	case p.welcomeBack():
	case p.offered(toolCreateTasks) || p.has(toolCreateTasks):
		p.reply.Text = p.facilitatorAnswer()
	case p.offered(toolWriteSection) || p.has(toolWriteSection):
		p.reply.Text = p.specialistAnswer()
	default:
		p.reply.Text = p.soloAnswer()
	}
}

// finish completes the reply: padding, call ids, finish reason.
func (p *part) finish() events.Reply {
	if p.options.Chunks > 0 && p.options.Behaviour != BehaveEmpty {
		p.pad()
	}
	p.reply.FinishReason = events.FinishStop
	if len(p.reply.ToolCalls) > 0 {
		p.reply.FinishReason = events.FinishToolCalls
		base := p.historyHash()
		for i := range p.reply.ToolCalls {
			p.reply.ToolCalls[i].ID = events.CallID(fmt.Sprintf("call_%016x%02x", base, i))
		}
	}
	return p.reply
}

// pad lengthens the text until it alone can make up the chunks asked for.
func (p *part) pad() {
	const filler = "Working on the next step of the plan. "
	if missing := p.options.Chunks + 1 - utf8.RuneCountInString(p.reply.Text); p.structured && missing > 0 {
		p.reply.Text += strings.Repeat(" ", missing) // white space changes no JSON
	}
	for utf8.RuneCountInString(p.reply.Text) <= p.options.Chunks {
		p.reply.Text = filler + p.reply.Text
	}
}

// historyHash is over all messages, so that call ids differ from turn to turn.
func (p *part) historyHash() uint64 {
	h := fnv.New64a()
	for _, m := range p.req.Messages {
		_, _ = h.Write([]byte(m.Role))
		_, _ = h.Write([]byte(m.Content))
		_, _ = h.Write([]byte(m.ToolCallID))
		for _, call := range m.ToolCalls {
			_, _ = h.Write([]byte(call.ID))
			_, _ = h.Write([]byte(call.Arguments))
		}
	}
	return h.Sum64() ^ p.options.Seed
}

// dice gives a source of choices that depends on the given texts and the seed only.
func (p *part) dice(texts ...string) *rand.Rand {
	return rand.New(rand.NewPCG(p.options.Seed, hash(texts...)))
}

func hash(texts ...string) uint64 {
	h := fnv.New64a()
	for _, text := range texts {
		_, _ = h.Write([]byte(text))
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}

func (p *part) offered(name string) bool { return p.tool(name) != nil }

func (p *part) tool(name string) *llm.Tool {
	for i := range p.req.Tools {
		if p.req.Tools[i].Name == name {
			return &p.req.Tools[i]
		}
	}
	return nil
}

// has reports whether a tool was called before in the job.
func (p *part) has(name string) bool {
	tries, _ := p.tried(name, 0)
	return tries > 0
}

// schema gives the parameters of an offered tool.
func (p *part) schema(name string) *schema {
	tool := p.tool(name)
	if tool == nil {
		return &schema{}
	}
	return parseSchema(tool.Parameters)
}

// call adds a tool call to the reply.
func (p *part) call(name string, args map[string]any) {
	raw, err := json.Marshal(args)
	if err != nil {
		raw = []byte("{}")
	}
	p.reply.ToolCalls = append(p.reply.ToolCalls, events.ToolCall{Name: name, Arguments: string(raw)})
}

// callForEver calls a harmless tool whatever happened before.
func (p *part) callForEver() {
	name := p.req.Tools[0].Name
	for _, harmless := range []string{toolPlanStatus, toolReadTasks, toolReadDocument} {
		if p.offered(harmless) {
			name = harmless
			break
		}
	}
	args, _ := p.schema(name).sample(p.request).(map[string]any)
	p.call(name, args)
}
