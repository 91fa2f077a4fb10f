package sim

import (
	"slices"
	"strings"
)

// lastDispatch gives the turn of the last dispatch, 0 if there was none.
func (p *part) lastDispatch() int {
	last := 0
	for _, e := range p.exchanges {
		if strings.HasPrefix(e.name, dispatchPrefix) && e.valid && p.offered(e.name) {
			last = e.turn
		}
	}
	return last
}

// worthDispatching gives the open tasks whose specialist may still manage them: he
// was not sent for them too often. Each nudge allows one more time.
func (p *part) worthDispatching(board []task) []task {
	var list []task
	team := p.colleagues()
	for _, t := range board {
		at := slices.IndexFunc(team, func(c colleague) bool { return identifier(c.id) == identifier(t.agent) })
		if !t.done && !t.declined && at >= 0 && p.dispatches(team[at].tool, t.id) < maxTries+p.nudges {
			list = append(list, t)
		}
	}
	return list
}

// neverDispatched gives the tasks that no specialist was sent for yet: all of them
// at first, those left over when a dispatching turn was cut short.
func (p *part) neverDispatched(open []task) []task {
	var list []task
	for _, t := range open {
		if !slices.ContainsFunc(p.colleagues(), func(c colleague) bool { return p.dispatches(c.tool, t.id) > 0 }) {
			list = append(list, t)
		}
	}
	return list
}

// dispatches counts how often a specialist was sent for a task.
func (p *part) dispatches(tool string, id int) int {
	count := 0
	for _, e := range p.exchanges {
		if e.name == tool && e.names(id) {
			count++
		}
	}
	return count
}

// names reports whether a dispatch is for the task.
func (e exchange) names(id int) bool {
	for _, value := range e.args {
		if ids, _ := value.([]any); e.valid && slices.Contains(ids, any(float64(id))) {
			return true
		}
	}
	return false
}

// dispatch calls each specialist who has open tasks, all at once.
func (p *part) dispatch(board, open []task) {
	for _, c := range p.colleagues() {
		var mine []task
		for _, t := range open {
			if identifier(t.agent) == identifier(c.id) {
				mine = append(mine, t)
			}
		}
		if len(mine) > 0 {
			p.dispatchOne(c, mine, len(board))
		}
	}
}

func (p *part) dispatchOne(c colleague, mine []task, total int) {
	s := p.schema(c.tool)
	idsName := s.property(func(_ string, q *schema) bool { return q.is("array") })
	messageName := s.property(func(_ string, q *schema) bool { return q.is("string") })
	if idsName == "" {
		idsName = "task_ids"
	}
	if messageName == "" {
		messageName = "message"
	}
	ids, again := make([]int, len(mine)), 0
	for i, t := range mine {
		ids[i] = t.id
		again = max(again, p.dispatches(c.tool, t.id))
	}
	p.call(c.tool, map[string]any{idsName: ids, messageName: p.dispatchMessage(c, ids, total, again)})
}
