package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/thread"
)

// Tool is something an agent may call: how the model sees it, and what it does.
type Tool struct {
	llm.Tool
	Handler Handler
}

// DispatchPrefix begins the names of dispatch tools. Calls of such a name, of a
// specialist that there is or of one that there is not, emit no tool_call.
const DispatchPrefix = "call_"

// Handler is what a tool does: a [Pure], a [Dispatch], a [Consult] or an [External].
type Handler interface{ handler() }

// Pure is a tool that is a decision on the run's state. Its facts and its result
// are committed together with the turn that called it.
type Pure func(tx *thread.Tx, in Invocation) Result

// Dispatch is a tool that starts another agent and waits for it. The decision
// emits agent_started and returns its id, or says why not; the loop's
// [Dispatcher] then drives the agent.
type Dispatch func(tx *thread.Tx, in Invocation) (id events.DispatchID, refusal string)

// External is a tool that reaches outside the log.
type External struct {
	// Effect says what repeating a call would do; the zero value is effectful.
	Effect events.Effect
	// Call runs it. An error is a result that the model reads.
	Call func(ctx context.Context, in Invocation) (string, error)
}

// Consult is a tool that starts agents itself, as many as it needs, and waits for
// them. What it started is in the log, so it is called again on resume, and finds
// there what it has.
type Consult func(ctx context.Context, journal Journal, dispatcher Dispatcher, in Invocation) (string, error)

func (Pure) handler()     {}
func (Consult) handler()  {}
func (Dispatch) handler() {}
func (External) handler() {}

// Invocation is one call of a tool with arguments that match its schema.
type Invocation struct {
	Agent    events.AgentID
	Dispatch events.DispatchID
	Tool     string
	Ref      events.CallRef
}

// Decode reads the arguments into v.
func (in Invocation) Decode(v any) error {
	return json.Unmarshal(argumentsOf(in.Ref.Arguments), v)
}

// Result is what a tool answers to the model.
type Result struct {
	Text string
	// Failed marks an answer that tells the model what it did wrong.
	Failed bool
	// Shown are the document entries that Text shows.
	Shown []events.EntryID
}

// Refuse is a result that tells the model what was wrong and what to do.
func Refuse(err error) Result { return Result{Text: "Error: " + err.Error(), Failed: true} }

// Toolset is the fixed list of tools of one kind of agent. It is safe for
// concurrent use.
type Toolset struct {
	specs []llm.Tool
	names []string
	tools map[string]compiled
}

type compiled struct {
	Tool
	schema *jsonschema.Resolved
}

// NewToolset compiles the tools' schemas. The order of the tools is kept.
func NewToolset(tools []Tool) (*Toolset, error) {
	set := &Toolset{tools: make(map[string]compiled, len(tools))}
	for _, tool := range tools {
		var schema jsonschema.Schema
		if err := json.Unmarshal(tool.Parameters, &schema); err != nil {
			return nil, fmt.Errorf("tool %s: parameters: %w", tool.Name, err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			return nil, fmt.Errorf("tool %s: parameters: %w", tool.Name, err)
		}
		if _, twice := set.tools[tool.Name]; twice {
			return nil, fmt.Errorf("tool %s: defined twice", tool.Name)
		}
		set.tools[tool.Name] = compiled{tool, resolved}
		set.specs = append(set.specs, tool.Tool)
		set.names = append(set.names, tool.Name)
	}
	return set, nil
}

// Specs are the tools as the model is offered them.
func (s *Toolset) Specs() []llm.Tool { return s.specs }

// argumentsOf gives the arguments as JSON: a call without any has an empty object.
func argumentsOf(text string) []byte {
	if strings.TrimSpace(text) == "" {
		return []byte("{}")
	}
	return []byte(text)
}

// clipArguments bounds how much of wrong arguments is said back to the model.
const clipArguments = 300

// check finds the tool and validates the arguments. The error is for the model.
func (s *Toolset) check(call events.ToolCall) (compiled, error) {
	tool, known := s.tools[call.Name]
	if !known {
		return tool, fmt.Errorf("there is no tool %q. The tools are: %s", call.Name, strings.Join(s.names, ", "))
	}
	var args any
	if err := json.Unmarshal(argumentsOf(call.Arguments), &args); err != nil {
		return tool, fmt.Errorf("the arguments of %s are not valid JSON (%w): %s. Call it again with a JSON object",
			call.Name, err, clip(call.Arguments, clipArguments))
	}
	if err := tool.schema.Validate(args); err != nil {
		return tool, fmt.Errorf("the arguments of %s do not fit its schema: %w. Call it again, corrected", call.Name, err)
	}
	return tool, nil
}

// slow reports whether the call is one that may run while its turn still streams: it
// reaches outside the decision, and its arguments are right.
func (s *Toolset) slow(call events.ToolCall) bool {
	tool, err := s.check(call)
	_, pure := tool.Handler.(Pure)
	return err == nil && !pure
}

func clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max], "") + "…"
}
