package sim

import "strings"

// controlTools change who speaks or what phase a conversation is in, or read it. The model
// does not call them just because they are there.
var controlTools = map[string]bool{
	"handoff_conversation": true, "return_control": true, "complete_phase": true,
	"set_workflow_state": true, "ask_specialists": true, "ask_user": true, "read_thread": true,
	"note_to_user": true, "hand_over": true, "pause_conversation": true,
}

// workAlone answers without a team. The tools that the request names are called
// once, together, else the first one offered, with the least arguments that its
// schema allows.
func (p *part) workAlone() {
	called := false
	for _, tool := range p.toolsToTry() {
		if p.has(tool) {
			break
		}
		args, _ := p.schema(tool).sample(topic(p.request)).(map[string]any)
		if args == nil {
			args = map[string]any{}
		}
		p.call(tool, args)
		called = true
	}
	if !called {
		p.answer()
	}
}

func (p *part) toolsToTry() []string {
	var offered, named []string
	for _, tool := range p.req.Tools {
		if controlTools[tool.Name] || strings.HasPrefix(tool.Name, dispatchPrefix) {
			continue
		}
		offered = append(offered, tool.Name)
		if strings.Contains(p.request, tool.Name) {
			named = append(named, tool.Name)
		}
	}
	if len(named) > 0 {
		return named
	}
	return offered[:min(len(offered), 1)]
}
