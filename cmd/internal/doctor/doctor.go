// Package doctor tries an endpoint: whether it can be reached, takes the key, knows
// the model, streams, calls tools, several of them at once, counts tokens, and
// keeps from calling tools when told to. It says what to do about what it misses.
//
//	for finding := range doctor.Examine(ctx, target) {
//		fmt.Println(finding.Mark, finding.Check, finding.Detail, finding.Fix)
//	}
//
// It makes three short model calls. It retries nothing: it is to see what happens.
package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// Mark says how a check went.
type Mark string

// The marks. Only Failed keeps convene from working with the endpoint.
const (
	Good   Mark = "✓"
	Weak   Mark = "!"
	Failed Mark = "✗"
)

// Finding is the outcome of one check.
type Finding struct {
	Mark Mark
	// Check names what was looked at, Detail what was seen, Fix what to do; both may
	// be empty.
	Check, Detail, Fix string
}

// callTimeout bounds each of the calls: a reply of a line or two takes seconds, and
// a slow local model may have to be loaded first.
const callTimeout = 90 * time.Second

// maxOutputTokens bounds a reply: room for a model that thinks first.
const maxOutputTokens = 2000

// Examine tries the target and yields findings as they come. After a failure that
// makes the rest pointless it ends.
func Examine(ctx context.Context, target llm.Target) iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		e := examination{ctx: ctx, target: target, yield: yield}
		if e.answers() && e.callsTools() {
			e.holdsBack()
		}
	}
}

type examination struct {
	ctx    context.Context
	target llm.Target
	yield  func(Finding) bool
}

// heard is what came of one call.
type heard struct {
	done *llm.Completion
	// pieces counts the deltas that brought text.
	pieces int
	first  time.Duration
}

func (e *examination) call(prompt string, tools []llm.Tool, choice llm.ToolChoice) (heard, error) {
	ctx, cancel := context.WithTimeout(e.ctx, callTimeout)
	defer cancel()
	var h heard
	begun := time.Now()
	for delta, err := range e.target.Endpoint.Client.Stream(ctx, llm.Request{
		Model: e.target.Model, Tools: tools, ToolChoice: choice, MaxOutputTokens: maxOutputTokens,
		Messages: []events.Message{{Role: events.RoleUser, Content: prompt}},
	}) {
		if err != nil {
			return h, err
		}
		if delta.Text != "" || delta.Reasoning != "" || delta.Fragment != "" {
			if h.pieces++; h.pieces == 1 {
				h.first = time.Since(begun)
			}
		}
		if delta.Done != nil {
			h.done = delta.Done
		}
	}
	if h.done == nil {
		return h, errors.New("the reply has no end")
	}
	return h, nil
}

// answers looks at a plain reply. It reports whether to go on.
func (e *examination) answers() bool {
	h, err := e.call("Write the numbers from one to thirty as words, separated by commas.", nil, llm.ToolChoiceAuto)
	if err != nil {
		return e.refused(err)
	}
	for _, check := range []string{"reachable", "key accepted", "model exists"} {
		if !e.yield(Finding{Mark: Good, Check: check}) {
			return false
		}
	}
	streams := Finding{Mark: Good, Check: "streams", Detail: fmt.Sprintf("first token after %s", h.first.Round(time.Millisecond))}
	if h.pieces < 2 {
		streams = Finding{Weak, "streams", "the reply came in one piece",
			"It works, but live views show nothing until a turn ends, and specialists start late."}
	}
	usage := Finding{Mark: Good, Check: "reports usage",
		Detail: fmt.Sprintf("%d tokens in, %d out", h.done.Usage.InputTokens, h.done.Usage.OutputTokens)}
	if h.done.Usage.Estimated {
		usage = Finding{Weak, "reports usage", "it counts no tokens",
			"It works, but tokens and cost are estimates, and so is when a bound is met."}
	}
	return e.yield(streams) && e.yield(usage)
}

// Advice says what a person can do about a failure of this kind at a first call.
func Advice(kind llm.ErrorKind) string {
	switch kind {
	case llm.ErrUnreachable, llm.ErrTimeout:
		return "Is the server running, and is the address right? See --base-url and OPENAI_BASE_URL."
	case llm.ErrAuthentication:
		return "Set the key of this provider; see `convene doctor --help`."
	case llm.ErrModelNotFound:
		return "Check the name after --model: it is the provider's own, after the first slash."
	case llm.ErrNoTools:
		return "convene needs a model that calls tools. Choose another model, or switch tool calling on at the server."
	case llm.ErrQuota:
		return "Add credit at the provider, or use another one."
	case llm.ErrRateLimited:
		return "The endpoint wants fewer calls at the moment. Try again later."
	}
	return "The endpoint itself failed: try again later. Is the address that of an OpenAI-compatible one, such as …/v1?"
}

// refused says which of the first checks an error belongs to.
func (e *examination) refused(err error) bool {
	kind := llm.KindOf(err)
	passed, failed := []string{"reachable", "key accepted"}, Finding{Mark: Failed, Check: "answers", Detail: err.Error(), Fix: Advice(kind)}
	switch kind {
	case llm.ErrUnreachable, llm.ErrTimeout:
		passed, failed.Check = nil, "reachable"
	case llm.ErrAuthentication:
		passed, failed.Check = passed[:1], "key accepted"
	case llm.ErrModelNotFound:
		failed.Check = "model exists"
	case llm.ErrQuota:
		failed.Check = "account has credit"
	case llm.ErrRateLimited:
	default:
		passed = nil
	}
	for _, check := range passed {
		if !e.yield(Finding{Mark: Good, Check: check}) {
			return false
		}
	}
	e.yield(failed)
	return false
}

// tools are as simple as can be. There are two, because some models merge two calls
// of the same one.
var tools = []llm.Tool{
	tool("get_weather", "Tells the weather of a city."),
	tool("get_time", "Tells the time of day in a city."),
}

func tool(name, description string) llm.Tool {
	return llm.Tool{Name: name, Description: description, Parameters: json.RawMessage(
		`{"type":"object","properties":{"city":{"type":"string","description":"Name of the city"}},"required":["city"],"additionalProperties":false}`)}
}

const toolPrompt = "What are the weather and the time in Kyoto? Call get_weather and get_time, both in this turn."

// callsTools looks at a reply that should call two tools.
func (e *examination) callsTools() bool {
	h, err := e.call(toolPrompt, tools, llm.ToolChoiceAuto)
	noTools := Finding{Failed, "calls tools", "", Advice(llm.ErrNoTools)}
	if err != nil {
		noTools.Detail = err.Error()
		e.yield(noTools)
		return false
	}
	good := map[string]bool{}
	for _, call := range h.done.Reply.ToolCalls {
		var arguments struct{ City string }
		if json.Unmarshal([]byte(call.Arguments), &arguments) == nil && arguments.City != "" {
			good[call.Name] = true
		}
	}
	if !good[tools[0].Name] && !good[tools[1].Name] {
		noTools.Detail = fmt.Sprintf("asked for two tools it made %d calls, none of them right", len(h.done.Reply.ToolCalls))
		e.yield(noTools)
		return false
	}
	parallel := Finding{Mark: Good, Check: "calls tools in parallel"}
	if !good[tools[0].Name] || !good[tools[1].Name] {
		parallel = Finding{Weak, parallel.Check, "asked for two at once it called one",
			"It works, but specialists may run one after another."}
	}
	return e.yield(Finding{Mark: Good, Check: "calls tools"}) && e.yield(parallel)
}

// holdsBack looks at a reply that must not call a tool.
func (e *examination) holdsBack() {
	finding := Finding{Mark: Good, Check: "honours tool_choice none"}
	h, err := e.call(toolPrompt, tools, llm.ToolChoiceNone)
	switch {
	case err != nil:
		finding = Finding{Weak, finding.Check, err.Error(), "It works, but wrapping up at a bound may fail; the document is then the answer."}
	case len(h.done.Reply.ToolCalls) > 0:
		finding = Finding{Weak, finding.Check, "it calls tools all the same",
			"It works, but wrapping up at a bound may fail; the document is then the answer."}
	}
	e.yield(finding)
}
