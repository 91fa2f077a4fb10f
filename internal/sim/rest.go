package sim

import (
	"slices"
	"strings"
)

// restAnswer is what the model says when its cut turn was to call nothing else.
const restAnswer = "complete"

// resume plays the rest of a turn that was cut off: the dispatches of it that did not
// arrive.
func (p *part) resume() {
	p.nudges-- // the message that asks for the rest is none
	if p.offered(toolCreateTasks) {
		board := p.board()
		p.dispatch(board, slices.DeleteFunc(p.worthDispatching(board), p.calledInLastTurn))
	}
	if len(p.reply.ToolCalls) == 0 {
		p.reply.Text = restAnswer
	}
}

// calledInLastTurn reports whether the model's last turn dispatched a specialist for
// the task.
func (p *part) calledInLastTurn(t task) bool {
	return slices.ContainsFunc(p.exchanges, func(e exchange) bool {
		return e.turn == p.turns && strings.HasPrefix(e.name, dispatchPrefix) && e.names(t.id)
	})
}
