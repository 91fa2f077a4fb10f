package sim

import (
	"encoding/json"
	"strings"

	"github.com/convene-run/convene/events"
)

const (
	// unknownTool is a plausible tool that no team of ours offers.
	unknownTool = "search_the_web"
	// wrongTask is added to task ids: far above any plan.
	wrongTask = 9000
)

// spoil puts a fault of the content into a reply. It reports whether it applied.
func spoil(reply *events.Reply, kind FaultKind) bool {
	switch kind {
	case FaultEmpty:
		*reply = events.Reply{FinishReason: events.FinishStop}
		return true
	case FaultBrokenArgs:
		if len(reply.ToolCalls) == 0 {
			return false
		}
		call := &reply.ToolCalls[0]
		call.Arguments = clip(call.Arguments, max(len(call.Arguments)/2, 1))
		return true
	case FaultUnknownTool:
		if len(reply.ToolCalls) == 0 {
			return false
		}
		reply.ToolCalls[0].Name = unknownTool
		return true
	case FaultWrongTask:
		return mistakeTask(reply.ToolCalls)
	}
	return false
}

// mistakeTask changes the task ids of the first call that has any.
func mistakeTask(calls []events.ToolCall) bool {
	for i := range calls {
		if calls[i].Name != toolCompleteTask && !strings.HasPrefix(calls[i].Name, dispatchPrefix) {
			continue
		}
		var args map[string]any
		if json.Unmarshal([]byte(calls[i].Arguments), &args) != nil {
			continue
		}
		for name, value := range args {
			switch v := value.(type) {
			case float64:
				args[name] = v + wrongTask
			case []any:
				for k, id := range v {
					if n, ok := id.(float64); ok {
						v[k] = n + wrongTask
					}
				}
			}
		}
		raw, err := json.Marshal(args)
		if err != nil {
			continue
		}
		calls[i].Arguments = string(raw)
		return true
	}
	return false
}
