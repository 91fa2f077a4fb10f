package sim

import "strings"

// controlTools change who speaks or what phase a conversation is in. The model does
// not call them just because they are there.
var controlTools = map[string]bool{
	"handoff_conversation": true, "return_control": true, "complete_phase": true,
	"set_workflow_state": true, "ask_specialists": true,
}

// workAlone answers without a team. The first tool offered is called once, with the
// least arguments that its schema allows.
func (p *part) workAlone() {
	for _, tool := range p.req.Tools {
		if controlTools[tool.Name] || strings.HasPrefix(tool.Name, dispatchPrefix) {
			continue
		}
		if p.has(tool.Name) {
			break
		}
		args, _ := p.schema(tool.Name).sample(topic(p.request)).(map[string]any)
		if args == nil {
			args = map[string]any{}
		}
		p.call(tool.Name, args)
		return
	}
	p.answer()
}
