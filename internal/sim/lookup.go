package sim

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// errand is a call that a specialist's prompt tells it to make.
type errand struct {
	tool string
	args map[string]any
}

// lookUp makes the calls that the specialist's prompt tells it to make, each once: the
// simulated model has no questions of its own. A call is written as the name of a tool
// with its arguments behind it: `calculate {"expression": "6 * 7"}`.
func (p *part) lookUp() bool {
	for _, e := range p.errands() {
		if p.exchangeOf(e) == nil {
			p.call(e.tool, e.args)
		}
	}
	return len(p.reply.ToolCalls) > 0
}

// errands are the calls that the prompt holds.
func (p *part) errands() []errand {
	var found []errand
	for _, tool := range p.req.Tools {
		if tool.Search != nil || strings.HasPrefix(tool.Name, dispatchPrefix) || slices.Contains(ownTools, tool.Name) {
			continue
		}
		for _, behind := range strings.Split(p.system, tool.Name+" {")[1:] {
			var args map[string]any
			if json.NewDecoder(bytes.NewReader([]byte("{"+behind))).Decode(&args) == nil {
				found = append(found, errand{tool.Name, args})
			}
		}
	}
	return found
}

// ownTools are those whose use is the specialist's part.
var ownTools = []string{toolReadTasks, toolCompleteTask, toolDeclineTask, toolReadDocument, toolWriteSection}

// exchangeOf gives the exchange in which an errand was run, nil for none.
func (p *part) exchangeOf(e errand) *exchange {
	for i, x := range p.exchanges {
		if x.name == e.tool && reflect.DeepEqual(x.args, e.args) {
			return &p.exchanges[i]
		}
	}
	return nil
}

// lookedUp is what came of the errands, for what the specialist writes.
func (p *part) lookedUp() string {
	var lines []string
	for _, e := range p.errands() {
		if x := p.exchangeOf(e); x != nil {
			lines = append(lines, e.tool+": "+x.result)
		}
	}
	for _, page := range p.found() {
		lines = append(lines, toolWebSearch+": "+page.Quote)
	}
	return strings.Join(lines, "\n\n")
}
