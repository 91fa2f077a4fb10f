package sim

import (
	"slices"
	"sort"
	"strings"
)

const (
	tasksPerSpecialist = 2
	// maxTasks is the usual guardrail of a run.
	maxTasks = 20
	// maxConsolidations bounds the calls of one turn; the next turn goes on.
	maxConsolidations = 16
	// benchSpecialists is the team of the bench profile.
	benchSpecialists = 3
)

// colleague is a specialist whom the facilitator may dispatch.
type colleague struct {
	id          string // as tasks are assigned
	tool        string
	description string
}

// facilitate plays the next step of the facilitator: plan, dispatch, check, review,
// consolidate, answer.
func (p *part) facilitate() {
	board := p.board()
	if len(board) == 0 {
		if tries, _ := p.tried(toolCreateTasks, 0); tries < maxTries {
			p.createTasks(tries)
			return
		}
	}
	open := p.worthDispatching(board)
	dispatched := p.lastDispatch()
	if p.options.Behaviour == BehaveOnce && dispatched > 0 {
		p.answer()
		return
	}
	if p.options.Behaviour == BehaveCircles && dispatched > 0 {
		p.dispatch(board, board)
		return
	}
	if fresh := p.neverDispatched(open); len(fresh) > 0 {
		p.dispatch(board, fresh)
		return
	}
	if p.needs(toolPlanStatus, dispatched) {
		p.checkAll(dispatched)
		return
	}
	if len(open) > 0 {
		p.dispatch(board, open)
		return
	}
	if p.replaceDeclined(board) {
		return
	}
	if p.needs(toolReadDocument, dispatched) {
		p.call(toolReadDocument, p.requiredArguments(toolReadDocument))
		return
	}
	if p.consolidate(dispatched) {
		if p.offered(toolReadClean) {
			p.call(toolReadClean, p.requiredArguments(toolReadClean))
		}
		return
	}
	if p.needs(toolReadClean, dispatched) {
		p.call(toolReadClean, p.requiredArguments(toolReadClean))
		return
	}
	p.answer()
}

// checkAll asks for the state of the plan, and for the document where the dispatches went
// well; in the bench profile for all that it wants to know at once, to make do with four
// turns.
func (p *part) checkAll(dispatched int) {
	p.call(toolPlanStatus, p.requiredArguments(toolPlanStatus))
	if p.offered(toolReadDocument) && (p.options.Bench || p.wentWell(dispatched)) {
		p.call(toolReadDocument, p.requiredArguments(toolReadDocument))
	}
	if p.options.Bench && dispatched > 1 {
		p.call(toolReadClean, p.requiredArguments(toolReadClean))
	}
}

// wentWell reports whether all dispatches of a turn ended well, with nothing left open.
func (p *part) wentWell(turn int) bool {
	return !slices.ContainsFunc(p.exchanges, func(e exchange) bool {
		return e.turn == turn && strings.HasPrefix(e.name, dispatchPrefix) &&
			(!e.fine() || failed.MatchString(e.result) || leftOpen.MatchString(e.result))
	})
}

// needs reports whether a tool is still to be called after a turn: it is offered,
// gave no result yet and was not refused too often.
func (p *part) needs(name string, after int) bool {
	tries, fine := p.tried(name, after)
	return p.offered(name) && !fine && tries < maxTries
}

func (p *part) requiredArguments(name string) map[string]any {
	args, _ := p.schema(name).sample("").(map[string]any)
	if args == nil {
		args = map[string]any{}
	}
	return args
}

// board gives the tasks as the last results show them, by id.
func (p *part) board() []task {
	known := map[int]task{}
	for _, e := range p.exchanges {
		if e.name != toolCreateTasks && e.name != toolPlanStatus {
			continue
		}
		for _, t := range parseCreated(e.result) {
			known[t.id] = t
		}
		markDone(known, e.result)
	}
	list := make([]task, 0, len(known))
	for _, t := range known {
		list = append(list, t)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].id < list[j].id })
	return list
}

// colleagues gives the specialists in the order of their tools.
func (p *part) colleagues() []colleague {
	ids := p.assignees()
	var team []colleague
	for _, tool := range p.req.Tools {
		name, ok := strings.CutPrefix(tool.Name, dispatchPrefix)
		if !ok {
			continue
		}
		c := colleague{id: name, tool: tool.Name, description: tool.Description}
		for _, id := range ids {
			if identifier(id) == identifier(name) {
				c.id = id
			}
		}
		team = append(team, c)
	}
	if p.options.Bench && len(team) > benchSpecialists {
		team = team[:benchSpecialists]
	}
	return team
}

// identifier makes ids and tool names comparable.
func identifier(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return '_'
	}, s)
}
