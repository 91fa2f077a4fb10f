// Package doctor tries an endpoint: whether it can be reached, takes the key, knows
// the model, streams, calls tools, several of them at once, counts tokens, and
// refrains from calling tools when told to. It says what to do about what is missing.
//
//	for finding := range doctor.Examine(ctx, target) {
//		fmt.Println(finding.Mark, finding.Check, finding.Detail, finding.Fix)
//	}
//
// It makes four short model calls and two longer ones, and one more for each further API
// that the endpoint may offer. It retries nothing: it is to see what happens.
package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/effort"
	"github.com/convene-run/convene/llm/endpoint"
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
		if e.answers() && e.apis() && e.callsTools() && e.holdsBack() && e.takesEffort() && e.caches() {
			e.window()
		}
	}
}

type examination struct {
	ctx    context.Context
	target llm.Target
	yield  func(Finding) bool
	// level is the effort that calls ask for.
	level string
}

// heard is what came of one call.
type heard struct {
	done *llm.Completion
	// pieces counts the deltas that brought text.
	pieces int
	first  time.Duration
}

func (e *examination) call(prompt string, tools []llm.Tool, choice llm.ToolChoice) (heard, error) {
	return e.converse([]events.Message{{Role: events.RoleUser, Content: prompt}}, tools, choice)
}

func (e *examination) converse(messages []events.Message, tools []llm.Tool, choice llm.ToolChoice) (heard, error) {
	ctx, cancel := context.WithTimeout(e.ctx, callTimeout)
	defer cancel()
	var h heard
	begun := time.Now()
	for delta, err := range e.target.Endpoint.Client.Stream(ctx, llm.Request{
		Model: e.target.Model, API: e.target.API, Tools: tools, ToolChoice: choice, MaxOutputTokens: maxOutputTokens, Effort: e.level,
		Messages: messages,
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
		return h, errors.New("the reply never ended")
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
		usage = Finding{Weak, "reports usage", "it reports no token counts",
			"It works, but tokens and cost are estimates, and limits on them are only approximate."}
	}
	return e.yield(streams) && e.yield(usage)
}

// apis tries each API that the endpoint may offer, with tools, and says which one is
// taken.
func (e *examination) apis() bool {
	doors, ok := e.target.Endpoint.Client.(interface{ APIs() []events.API })
	if !ok {
		return true
	}
	named := e.target.API
	h, err := e.call(toolPrompt, tools, llm.ToolChoiceAuto)
	if err != nil {
		return true // callsTools says what is wrong
	}
	defer func() { e.target.API = named }()
	taken := h.done.API
	var others, none []string
	for _, api := range doors.APIs() {
		if api == taken {
			continue
		}
		e.target.API = api
		if _, err := e.call(toolPrompt, tools, llm.ToolChoiceAuto); err != nil {
			none = append(none, string(api))
		} else {
			others = append(others, string(api))
		}
	}
	finding := Finding{Mark: Good, Check: "API", Detail: "using " + string(taken)}
	if len(others) > 0 {
		finding.Detail += "; also offers " + strings.Join(others, " and ")
	}
	if len(none) > 0 {
		finding.Detail += "; not " + strings.Join(none, " or ")
	}
	return e.yield(finding)
}

// takesEffort looks whether the model can be told how much to think. What is known of it
// is not asked.
func (e *examination) takesEffort() bool {
	const level = "low"
	finding := Finding{Mark: Good, Check: "effort"}
	levels, known := effort.Takes(e.target.Model)
	takes := "; the model accepts " + strings.Join(levels, ", ")
	if err := effort.Check(e.target.Model, level); err != nil {
		finding.Detail = strings.TrimPrefix(takes, "; ")
		switch {
		case slices.Equal(levels, []string{effort.None}):
			finding.Detail = "the model does not think"
		case len(levels) == 0:
			finding.Detail = "the model decides how much it thinks; effort cannot be set"
		}
		return e.yield(finding)
	}
	e.level = level
	h, err := e.call("How much is 17 times 23? Reply with the number alone.", nil, llm.ToolChoiceAuto)
	e.level = ""
	switch {
	case err != nil:
		finding = Finding{Weak, finding.Check, err.Error(), "It works without: leave effort out for this model."}
	case known:
		finding.Detail = level + " is accepted" + takes
	default:
		finding.Detail = level + " is accepted, according to the endpoint; some ignore it"
	}
	if err == nil && h.done.Usage.ReasoningTokens > 0 {
		finding.Detail += fmt.Sprintf(" (%d tokens of thinking)", h.done.Usage.ReasoningTokens)
	}
	return e.yield(finding)
}

// prefixLines make a prompt of some 4,500 tokens: above the size from which every provider
// caches.
const prefixLines = 300

// caches looks whether the second turn of a conversation is reported to have found the
// first in the provider's cache.
func (e *examination) caches() bool {
	var prompt strings.Builder
	for i := range prefixLines {
		fmt.Fprintf(&prompt, "Line %d of a text that is sent twice, to see whether it is cached.\n", i+1)
	}
	prompt.WriteString("Reply with the word ready.")
	messages := []events.Message{{Role: events.RoleUser, Content: prompt.String()}}
	var last events.Usage
	for range 2 {
		h, err := e.converse(messages, nil, llm.ToolChoiceAuto)
		if err != nil {
			return e.yield(Finding{Weak, "cache", err.Error(), "A prompt of some 4,500 tokens was not answered: is the model's window large enough?"})
		}
		last = h.done.Usage
		messages = append(messages, events.Message{Role: events.RoleAssistant, Content: "ready"}, events.Message{Role: events.RoleUser, Content: "Once more, please."})
	}
	switch {
	case last.Estimated:
		return true // it counts no tokens, as was said
	case last.CachedInputTokens == 0:
		return e.yield(Finding{Weak, "cache", fmt.Sprintf("none of the %d tokens sent a second time came from a cache", last.InputTokens),
			"It works, but later turns of a run pay again for everything before them. Some servers cache without reporting it."})
	}
	return e.yield(Finding{Mark: Good, Check: "cache", Detail: fmt.Sprintf("%d of %d tokens sent a second time came from the cache", last.CachedInputTokens, last.InputTokens)})
}

// smallWindow is the window below which a team's later turns do not fit.
const smallWindow = 16_000

// window asks the server how much the model reads. A small local window is cut in
// silence.
func (e *examination) window() {
	server, ok := e.target.Endpoint.Client.(interface {
		Window(context.Context, string) int
	})
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(e.ctx, callTimeout)
	defer cancel()
	finding := Finding{Mark: Good, Check: "window"}
	switch tokens := server.Window(ctx, e.target.Model); {
	case tokens == 0:
		return // it does not tell
	case tokens < smallWindow:
		finding = Finding{Weak, finding.Check, fmt.Sprintf("%d tokens", tokens),
			"A team's later turns will not fit, and some servers truncate them silently. Configure a larger one on the server (OLLAMA_CONTEXT_LENGTH, --ctx-size, --max-model-len)."}
	default:
		finding.Detail = fmt.Sprintf("%d tokens", tokens)
	}
	e.yield(finding)
}

// Advice says what a person can do about a failure of this kind at a first call to the
// provider, "" where it is not known.
func Advice(kind llm.ErrorKind, provider string) string {
	switch kind {
	case llm.ErrUnreachable, llm.ErrTimeout:
		return "Is the server running, and is the address right? See " +
			strings.Join(append([]string{"--base-url"}, endpoint.AddressVariables(provider)...), " and ") + "."
	case llm.ErrAuthentication:
		if names := endpoint.KeyVariables(provider); len(names) > 0 {
			return fmt.Sprintf("Set the key of %s: export %s=…; `convene config` says what else sets it.", provider, strings.Join(names, " or "))
		}
		return "Set the key of this provider: `convene doctor --help` and `convene config` say where it is read from."
	case llm.ErrModelNotFound:
		return "Check the name after --model: it is the provider's own, after the first slash."
	case llm.ErrNoTools:
		return "convene needs a model that calls tools. Choose another model, or enable tool calling on the server."
	case llm.ErrRefused:
		return "The provider refuses the request itself; another model may answer it."
	case llm.ErrQuota:
		return "Add credit at the provider, or use another provider."
	case llm.ErrRateLimited:
		return "The endpoint is limiting requests at the moment. Try again later."
	}
	return "The endpoint itself failed: try again later. Is the address right, such as …/v1? --api sets which API is used."
}

// refused says which of the first checks an error belongs to.
func (e *examination) refused(err error) bool {
	kind := llm.KindOf(err)
	passed, failed := []string{"reachable", "key accepted"}, Finding{Mark: Failed, Check: "answers", Detail: err.Error(), Fix: Advice(kind, e.target.Endpoint.Name)}
	switch kind {
	case llm.ErrUnreachable, llm.ErrTimeout:
		passed, failed.Check = nil, "reachable"
	case llm.ErrAuthentication:
		passed, failed.Check = passed[:1], "key accepted"
		if failure := new(llm.Error); errors.As(err, &failure) && failure.Status == 0 {
			passed, failed.Check = nil, "has a key" // and nothing was asked without it
		}
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
	noTools := Finding{Failed, "calls tools", "", Advice(llm.ErrNoTools, e.target.Endpoint.Name)}
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
		noTools.Detail = fmt.Sprintf("asked to call two tools, it made %d calls, none of them correct", len(h.done.Reply.ToolCalls))
		e.yield(noTools)
		return false
	}
	parallel := Finding{Mark: Good, Check: "calls tools in parallel"}
	if !good[tools[0].Name] || !good[tools[1].Name] {
		parallel = Finding{Weak, parallel.Check, "asked to call two at once, it called one",
			"It works, but specialists may run one after another."}
	}
	return e.yield(Finding{Mark: Good, Check: "calls tools"}) && e.yield(parallel)
}

// holdsBack looks at a reply that must not call a tool.
func (e *examination) holdsBack() bool {
	finding := Finding{Mark: Good, Check: "honours tool_choice none"}
	h, err := e.call(toolPrompt, tools, llm.ToolChoiceNone)
	switch {
	case err != nil:
		finding = Finding{Weak, finding.Check, err.Error(), "It works, but wrapping up at a bound may fail; the document is then the answer."}
	case len(h.done.Reply.ToolCalls) > 0:
		finding = Finding{Weak, finding.Check, "it calls tools anyway",
			"It works, but wrapping up at a bound may fail; the document is then the answer."}
	}
	return e.yield(finding)
}
