package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/lazyregexp"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/thread"
)

// DispatchPrefix begins the names of dispatch tools, and of no others. Calls of such a
// name, of a specialist that there is or of one that there is not, emit no tool_call.
const DispatchPrefix = "call_"

// maxToolName is the longest name of a tool that every endpoint takes.
const maxToolName = 64

// DispatchTool names the tool that dispatches a specialist. An id that is too long for a
// tool's name is cut, and told apart by a hash of it.
func DispatchTool(id events.AgentID) string {
	name := DispatchPrefix + string(id)
	if len(name) <= maxToolName {
		return name
	}
	hash := sha256.Sum256([]byte(id))
	end := "_" + hex.EncodeToString(hash[:4])
	return name[:maxToolName-len(end)] + end
}

// toolName is what every endpoint takes as the name of a tool.
var toolName = lazyregexp.New(`^[a-zA-Z0-9_-]{1,64}$`)

// Pure is a tool that is a decision on the run's state. Its facts and its result
// are committed together with the turn that called it.
type Pure func(tx *thread.Tx, in *agent.Invocation) agent.Result

// Last is a [Pure] that is decided when every other call of its turn has its result, since
// the turn is the agent's last for now. Nothing behind it starts before the turn has
// streamed in whole.
type Last func(tx *thread.Tx, in *agent.Invocation) agent.Result

// Dispatch is a tool that starts another agent and waits for it. The decision
// emits agent_started and returns its id, or says why not; the loop's
// [Dispatcher] then drives the agent.
type Dispatch func(tx *thread.Tx, in *agent.Invocation) (id events.DispatchID, refusal string)

// Consult is a tool that starts agents itself, as many as it needs, and waits for
// them. What it started is in the log, so it is called again on resume, and finds
// there what it has.
type Consult func(ctx context.Context, journal Journal, dispatcher Dispatcher, in *agent.Invocation) (string, error)

// Await is a tool whose result is the answer of a person, however long that takes. The
// decision emits an input_requested for the call, or says what is wrong with it.
type Await func(tx *thread.Tx, in *agent.Invocation) error

// ToolHandler marks a handler.
func (Await) ToolHandler() {}

// ToolHandler marks a handler.
func (Pure) ToolHandler() {}

// ToolHandler marks a handler.
func (Last) ToolHandler() {}

// ToolHandler marks a handler.
func (Consult) ToolHandler() {}

// ToolHandler marks a handler.
func (Dispatch) ToolHandler() {}

// Toolset is the fixed list of tools of one kind of agent. It is safe for
// concurrent use.
type Toolset struct {
	specs []llm.Tool
	names []string
	tools map[string]compiled
}

type compiled struct {
	agent.Tool
	// shape is the schema where it is a simple one, else nil.
	shape *shape
	// schema is compiled for the first arguments that do not fit the shape: few runs have any.
	schema func() (*jsonschema.Resolved, error)
}

// compile makes a tool ready, or says what is wrong with its schema.
func compile(tool agent.Tool) (compiled, error) {
	c := compiled{tool, shapeOf(tool.Parameters), sync.OnceValues(func() (*jsonschema.Resolved, error) { return resolve(tool.Tool) })}
	if c.shape != nil {
		return c, nil
	}
	_, err := c.schema()
	return c, err
}

// NewToolset compiles the tools' schemas. The order of the tools is kept. The error says
// which tool cannot be offered, and why.
func NewToolset(tools []agent.Tool) (*Toolset, error) {
	set := &Toolset{tools: make(map[string]compiled, len(tools))}
	for _, tool := range tools {
		if err := offerable(tool); err != nil {
			return nil, err
		}
		ready, err := compile(tool)
		if err != nil {
			return nil, err
		}
		if _, twice := set.tools[tool.Name]; twice {
			return nil, fmt.Errorf("tool %s: a second tool of this name; rename one of them", tool.Name)
		}
		set.tools[tool.Name] = ready
		set.specs = append(set.specs, tool.Tool)
		set.names = append(set.names, tool.Name)
	}
	return set, nil
}

// offerable says what is wrong with a tool that no model can be offered.
func offerable(t agent.Tool) error {
	_, dispatch := t.Handler.(Dispatch)
	switch {
	case !toolName.MatchString(t.Name):
		return fmt.Errorf("tool %q: no model can be offered this name; write at most 64 letters, digits, _ or -", chars.Clip(t.Name, clipArguments))
	case t.Handler == nil:
		return fmt.Errorf("tool %s: it does nothing; give it a handler", t.Name)
	case !runs(t.Handler):
		return fmt.Errorf("tool %s: a handler of type %T cannot be run; give it an agent.External", t.Name, t.Handler)
	case strings.HasPrefix(t.Name, DispatchPrefix) && !dispatch:
		return fmt.Errorf("tool %s: names that begin with %s are reserved for calling specialists; rename it, for example to %s",
			t.Name, DispatchPrefix, "do_"+strings.TrimPrefix(t.Name, DispatchPrefix))
	}
	return nil
}

// runs reports whether the loop runs handlers of this kind.
func runs(handler agent.Handler) bool {
	switch handler.(type) {
	case Pure, Last, Await, Dispatch, Consult, agent.External:
		return true
	}
	return false
}

// Specs are the tools as the model is offered them.
func (s *Toolset) Specs() []llm.Tool { return s.specs }

// clipArguments bounds how much of wrong arguments is said back to the model.
const clipArguments = 300

// check finds the tool and validates the arguments. The error is for the model.
func (s *Toolset) check(call events.ToolCall) (compiled, error) {
	tool, known := s.tools[call.Name]
	if !known {
		return tool, fmt.Errorf("there is no tool %q. The tools are: %s", call.Name, strings.Join(s.names, ", "))
	}
	given := argumentsOf(call.Arguments)
	if tool.shape.takes(given) {
		return tool, nil
	}
	var args any
	if err := json.Unmarshal([]byte(given), &args); err != nil {
		return tool, fmt.Errorf("the arguments of %s are not valid JSON (%w): %s. Call it again with a JSON object",
			call.Name, err, chars.Clip(call.Arguments, clipArguments))
	}
	if err := tool.validate(args); err != nil {
		return tool, fmt.Errorf("the arguments of %s do not fit its schema: %s. Call it again, corrected", call.Name, chars.Clip(err.Error(), clipArguments))
	}
	return tool, nil
}

// External gives a tool that reaches outside, for a call of it by another tool. The error is
// for the model: there is no such tool, or the arguments do not fit its schema.
func (s *Toolset) External(name, arguments string) (agent.External, error) {
	tool, err := s.check(events.ToolCall{Name: name, Arguments: arguments})
	if err != nil {
		return agent.External{}, err
	}
	external, ok := tool.Handler.(agent.External)
	if !ok {
		return agent.External{}, fmt.Errorf("%s cannot be called from another tool", name)
	}
	return external, nil
}

// WorstEffect says what repeating a call would do at worst: of any tool here, or of the given
// effect.
func (s *Toolset) WorstEffect(worst events.Effect) events.Effect {
	for _, tool := range s.tools {
		external, _ := tool.Handler.(agent.External)
		switch {
		case !repeatable(external.Effect):
			return events.EffectEffectful
		case external.Effect == events.EffectIdempotent && worst == events.EffectPure:
			worst = events.EffectIdempotent
		}
	}
	return worst
}

// resolve compiles the schema of a tool.
func resolve(tool llm.Tool) (*jsonschema.Resolved, error) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(tool.Parameters, &schema); err != nil {
		return nil, fmt.Errorf("tool %s: parameters: %w", tool.Name, err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("tool %s: parameters: %w", tool.Name, err)
	}
	return resolved, nil
}

// CheckArguments says what is wrong with arguments of a tool.
func CheckArguments(tool llm.Tool, arguments string) error {
	ready, err := compile(agent.Tool{Tool: tool})
	if err != nil {
		return err
	}
	return ready.takes(arguments)
}

// takes says what is wrong with arguments of the tool.
func (c compiled) takes(arguments string) error {
	given := argumentsOf(arguments)
	if c.shape.takes(given) {
		return nil
	}
	var args any
	if err := json.Unmarshal([]byte(given), &args); err != nil {
		return err
	}
	return c.validate(args)
}

// validate says what is wrong with arguments by the schema itself.
func (c compiled) validate(args any) error {
	schema, err := c.schema()
	if err != nil {
		return err
	}
	return schema.Validate(args)
}

// slow reports whether the call is one that may run while its turn still streams: it
// reaches outside the decision, and its arguments are right.
func (s *Toolset) slow(call events.ToolCall) bool {
	tool, known := s.tools[call.Name]
	switch tool.Handler.(type) {
	case Pure, Last, Await:
		return false
	}
	return known && tool.takes(call.Arguments) == nil
}

// last reports whether the call is of a tool that is decided at the end of its turn.
func (s *Toolset) last(call events.ToolCall) bool {
	_, last := s.tools[call.Name].Handler.(Last)
	return last
}

// argumentsOf gives the arguments as JSON: a call without any has an empty object.
func argumentsOf(text string) string {
	if strings.TrimSpace(text) == "" {
		return "{}"
	}
	return text
}

// has reports whether there is a tool of that name.
func (s *Toolset) has(name string) bool {
	_, there := s.tools[name]
	return there
}
