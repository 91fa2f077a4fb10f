package sim

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/convene-run/convene/events"
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
	if p.needs(toolReadDocument, dispatched) {
		p.call(toolReadDocument, p.requiredArguments(toolReadDocument))
		return
	}
	if p.consolidate(dispatched) {
		if p.options.Bench {
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

// checkAll asks for the state of the plan; in the bench profile for all that it
// wants to know at once, to make do with four turns.
func (p *part) checkAll(dispatched int) {
	p.call(toolPlanStatus, p.requiredArguments(toolPlanStatus))
	if !p.options.Bench {
		return
	}
	p.call(toolReadDocument, p.requiredArguments(toolReadDocument))
	if dispatched > 1 {
		p.call(toolReadClean, p.requiredArguments(toolReadClean))
	}
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
		if e.name == toolCreateTasks || e.name == toolPlanStatus {
			for _, t := range parseTasks(e.result) {
				known[t.id] = t
			}
		}
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

// assignees gives the ids that create_tasks accepts.
func (p *part) assignees() []string {
	_, item := p.taskShape()
	for _, name := range item.names() {
		if values := item.Properties[name].enumStrings(); len(values) > 0 {
			return values
		}
	}
	return nil
}

// taskShape gives the name of create_tasks' list and the schema of one task.
func (p *part) taskShape() (list string, item *schema) {
	s := p.schema(toolCreateTasks)
	list = s.property(func(_ string, q *schema) bool { return q.is("array") })
	if list == "" || s.Properties[list].Items == nil {
		return "tasks", &schema{}
	}
	item = s.Properties[list].Items
	if target := s.Defs[strings.TrimPrefix(item.Ref, "#/$defs/")]; item.Ref != "" && target != nil {
		item = target
	}
	return list, item
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

// createTasks makes the plan, a smaller one after a refusal.
func (p *part) createTasks(tries int) {
	team := p.colleagues()
	texts := p.planTexts(team, tries)
	list, item := p.taskShape()
	agentName := item.property(func(_ string, q *schema) bool { return len(q.Enum) > 0 })
	if agentName == "" {
		agentName = "assigned_to"
	}
	textName := item.property(func(name string, q *schema) bool { return name != agentName && q.is("string") })
	if textName == "" {
		textName = "text"
	}
	var tasks []any
	for i, c := range team {
		for _, text := range texts[i] {
			tasks = append(tasks, map[string]any{textName: text, agentName: c.id})
		}
	}
	if p.options.Behaviour == BehaveFlood && tries == 0 && len(tasks) > 0 {
		for len(tasks) < floodTasks {
			tasks = append(tasks, tasks[len(tasks)%len(team)])
		}
	}
	p.call(toolCreateTasks, map[string]any{list: tasks})
	if p.options.EarlyDispatch {
		expected, next := make([]task, 0, len(tasks)), p.highestTask()+1
		for i, c := range team {
			for _, text := range texts[i] {
				expected = append(expected, task{id: next + len(expected), agent: c.id, text: text})
			}
		}
		p.dispatch(expected, expected)
	}
}

// highestTask gives the highest task id that a tool result of the history names.
func (p *part) highestTask() int {
	highest := 0
	for _, m := range p.req.Messages {
		if m.Role == events.RoleTool {
			for _, t := range parseTasks(m.Content) {
				highest = max(highest, t.id)
			}
		}
	}
	return highest
}

// planTexts gives each specialist's task texts.
func (p *part) planTexts(team []colleague, tries int) [][]string {
	each := tasksPerSpecialist
	if tries > 0 || len(team)*each > maxTasks {
		each = 1
	}
	sections := p.sectionNames()
	texts := make([][]string, len(team))
	for i, c := range team {
		if i >= maxTasks {
			break
		}
		for k := range each {
			section := ""
			if len(sections) > 0 {
				section = sectionFor(c, sections, i*each+k)
			}
			texts[i] = append(texts[i], p.taskText(c, k, each, section))
		}
	}
	return texts
}

// sectionFor gives the section that a colleague's description names, else the next
// in turn.
func sectionFor(c colleague, sections []string, turn int) string {
	about := " " + words(fieldOf(c.description)) + " "
	for _, section := range sections {
		if strings.Contains(about, " "+words(section)+" ") {
			return section
		}
	}
	return sections[turn%len(sections)]
}

// sectionNames gives the document's sections where its layout lists them.
func (p *part) sectionNames() []string {
	s := p.schema(toolConsolidate)
	if section := s.Properties["section"]; section != nil {
		return section.enumStrings()
	}
	return nil
}

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
		if !t.done && at >= 0 && p.dispatches(team[at].tool, t.id) < maxTries+p.nudges {
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
		if e.name != tool || !e.valid {
			continue
		}
		for _, value := range e.args {
			ids, _ := value.([]any)
			if slices.Contains(ids, any(float64(id))) {
				count++
			}
		}
	}
	return count
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

// consolidate merges the slots with several entries that are not merged yet. It
// reports whether there was any.
func (p *part) consolidate(dispatched int) bool {
	text, read := p.result(toolReadDocument, dispatched)
	if text == "" || !p.offered(toolConsolidate) || p.options.Bench && dispatched > 1 {
		return false // in the bench profile there is no turn left for it
	}
	s := p.schema(toolConsolidate)
	calls := 0
	for _, sl := range parseDocument(text) {
		if len(sl.entries) < 2 || calls == maxConsolidations {
			continue
		}
		args := addressArguments(s, sl.address)
		if p.consolidated(args, read) {
			continue
		}
		args[contentName(s)] = mergedText(sl)
		p.call(toolConsolidate, args)
		calls++
	}
	return calls > 0
}

// consolidated reports whether a slot is done with since the document was read.
func (p *part) consolidated(address map[string]any, read int) bool {
	tries := 0
	for _, e := range p.exchanges {
		if e.name != toolConsolidate || e.turn <= read || !e.valid || !covers(e.args, address) {
			continue
		}
		if e.fine() {
			return true
		}
		tries++
	}
	return tries >= maxTries
}

func covers(args, address map[string]any) bool {
	for name, value := range address {
		if jsonText(args[name]) != jsonText(value) {
			return false
		}
	}
	return true
}

// contentName gives the parameter that takes text and says nothing of the place.
func contentName(s *schema) string {
	if s.Properties["content"] != nil {
		return "content"
	}
	name := s.property(func(name string, q *schema) bool {
		return q.is("string") && len(q.Enum) == 0 && (strings.Contains(name, "text") || strings.Contains(name, "content"))
	})
	if name == "" {
		return "content"
	}
	return name
}

// addressArguments turns an address read from the document into typed arguments.
func addressArguments(s *schema, address map[string]string) map[string]any {
	args := map[string]any{}
	for name, value := range address {
		q := s.Properties[name]
		if q == nil {
			continue
		}
		args[name] = value
		if n, err := strconv.Atoi(value); err == nil && !q.is("string") {
			args[name] = n
		}
	}
	return args
}

// mergedText joins a slot's entries by reference, ordered by who wrote what, so
// that it does not matter who came first.
func mergedText(sl slot) string {
	entries := slices.Clone(sl.entries)
	sort.SliceStable(entries, func(i, j int) bool {
		if entries[i].agent != entries[j].agent {
			return entries[i].agent < entries[j].agent
		}
		return entries[i].text < entries[j].text
	})
	var b strings.Builder
	b.WriteString(bridge(entries))
	for _, e := range entries {
		fmt.Fprintf(&b, "\n\n{{entry:%d}}", e.id)
	}
	return b.String()
}
