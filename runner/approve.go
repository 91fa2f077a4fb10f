package runner

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// Approve says who decides on calls of tools that wait for a person's approval. "" is
// ParkForApproval.
type Approve string

// Who decides.
const (
	// ParkForApproval asks a person: the run is parked once nothing else of it is at work.
	ParkForApproval Approve = "park"
	// DenyAll answers that nobody is there to approve, and the agents go on without the calls.
	DenyAll Approve = "deny"
	// ApproveAll runs all calls as the models made them.
	ApproveAll Approve = "all"
)

// Check says what is wrong with a policy that somebody wrote.
func (a Approve) Check() error {
	switch a {
	case "", ParkForApproval, DenyAll, ApproveAll:
		return nil
	}
	return &InputError{fmt.Sprintf("there is no policy %q for approval: write %s, %s or %s", chars.Clip(string(a), 100), DenyAll, ParkForApproval, ApproveAll)}
}

// decision is what the policy says of every call, nil where a person is asked.
func (a Approve) decision() *events.Approval {
	switch a {
	case DenyAll:
		return &events.Approval{Decision: events.DecisionDeny, Policy: true}
	case ApproveAll:
		return &events.Approval{Decision: events.DecisionApprove, Policy: true}
	}
	return nil
}

// asks tells which calls of external tools wait for approval: as the team says, else those of
// foreign tools, as MCP servers have them, that have an effect. A call by use_tool is one of the
// tool that it names.
func (s shelf) asks(t *team.Team) func(tool, arguments string, effect events.Effect) bool {
	foreign, effects := map[string]bool{}, s.effects()
	for _, tool := range s.opened {
		foreign[tool.Name] = !team.BuiltinTool(tool.Name)
	}
	return func(tool, arguments string, effect events.Effect) bool {
		if used := usedTool(effects, tool, arguments); used != tool {
			tool, effect = used, effects[used]
		}
		usual := team.ApproveNever
		if foreign[tool] {
			usual = team.ApproveEffectful
		}
		return t.Asks(tool, effect, usual)
	}
}

// requires tells which permissions calls take, by the team; nil where none does.
func (s shelf) requires(t *team.Team) func(tool, arguments string) []string {
	if len(t.Requires) == 0 {
		return nil
	}
	effects := s.effects()
	return func(tool, arguments string) []string { return t.Required(usedTool(effects, tool, arguments)) }
}

// effects are those of the external tools.
func (s shelf) effects() map[string]events.Effect {
	effects := map[string]events.Effect{}
	for _, tool := range s.all() {
		if external, ok := tool.Handler.(agent.External); ok {
			effects[tool.Name] = external.Effect
		}
	}
	return effects
}

// usedTool is the tool that a call is of: that which one of use_tool names.
func usedTool(effects map[string]events.Effect, tool, arguments string) string {
	var use useArgs
	if _, own := effects[useTool]; tool == useTool && !own && json.Unmarshal([]byte(arguments), &use) == nil {
		return use.Name
	}
	return tool
}

// maxReasonChars bounds why a person decided as they did: the model reads it.
const maxReasonChars = 4000

// checkApproval says what is wrong with a decision, whatever it is about.
func (m *Message) checkApproval() error {
	a := m.Approval
	switch {
	case a == nil:
		return nil
	case a.Policy:
		return &InputError{"a decision that somebody sends is a person's, not a policy's"}
	case a.Decision != events.DecisionApprove && a.Decision != events.DecisionDeny:
		return &InputError{fmt.Sprintf("there is no decision %q: write %s or %s", chars.Clip(string(a.Decision), 100), events.DecisionApprove, events.DecisionDeny)}
	case a.Decision == events.DecisionDeny && len(a.Arguments) > 0:
		return &InputError{"arguments are for a call that is approved: leave them out, or approve"}
	case chars.Over(a.Reason, maxReasonChars):
		return &InputError{fmt.Sprintf("the reason has %d characters; at most %d are taken", chars.Count(a.Reason), maxReasonChars)}
	case len(a.Arguments) > 0 && chars.Over(string(a.Arguments), MaxRequestChars):
		return &InputError{fmt.Sprintf("the arguments have %d characters; at most %d are taken", chars.Count(string(a.Arguments)), MaxRequestChars)}
	}
	var object map[string]json.RawMessage
	if len(a.Arguments) > 0 && (json.Unmarshal(a.Arguments, &object) != nil || object == nil) {
		return &InputError{"the arguments are not a JSON object"}
	}
	return checkText("the reason", a.Reason)
}

// compacted is the decision with its arguments as the log has them.
func compacted(a events.Approval) *events.Approval {
	var b bytes.Buffer
	if json.Compact(&b, a.Arguments) == nil {
		a.Arguments = b.Bytes()
	}
	return &a
}

// suits says why the message cannot be the answer to a request for input.
func (m *Message) suits(input *thread.Input) error {
	switch asks := input.For == events.InputApproval; {
	case asks && m.Approval == nil:
		return &InputError{fmt.Sprintf("input %s asks for approval of a call of %s: answer with a decision, %s or %s",
			input.InputID, input.Action.Tool, events.DecisionApprove, events.DecisionDeny)}
	case !asks && m.Approval != nil:
		return &InputError{fmt.Sprintf("input %s asks no approval: answer with a text", input.InputID)}
	case !asks || len(m.Approval.Arguments) == 0:
		return nil
	}
	return fits(input, string(m.Approval.Arguments))
}

// fits says why a call cannot be run with other arguments: they are held against the schema
// that its agent was offered.
func fits(input *thread.Input, arguments string) error {
	offered, err := OfferedTo(input.Run, input.Agent, input.Actor.Dispatch())
	if err != nil {
		return err
	}
	for _, tool := range offered.Tools {
		if tool.Name != input.Action.Tool {
			continue
		}
		if err := loop.CheckArguments(tool, arguments); err != nil {
			return &InputError{fmt.Sprintf("the arguments do not fit what %s takes: %s", tool.Name, chars.Clip(err.Error(), 1000))}
		}
		return nil
	}
	return &InputError{fmt.Sprintf("%s is not among the tools of %s any more: deny the call", input.Action.Tool, input.Agent)}
}
