package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/convene-run/convene/internal/sim/world"
)

// entryPlan is one entry that a specialist means to write.
type entryPlan struct {
	task    task
	day     int    // 0 where the task names none
	slot    string // the time of day, "" where that does not matter
	content string
}

// specialize plays the next step of a specialist: read the tasks where the request does not
// tell how they stand, look things up, write and complete, sum up.
func (p *part) specialize() {
	p.search()
	ids := parseAssigned(p.request)
	told := len(parseBriefing(p.request)) == len(ids) && !sentAgain.MatchString(p.request)
	if p.needs(toolReadTasks, 0) && len(ids) > 0 && (p.options.Bench || !told) {
		s := p.schema(toolReadTasks)
		args := p.requiredArguments(toolReadTasks)
		if name := s.property(func(_ string, q *schema) bool { return q.is("array") }); name != "" {
			args[name] = ids
		}
		p.call(toolReadTasks, args)
		return
	}
	if p.lookUp() {
		return
	}
	mine := p.assigned(ids)
	if p.declineLast(mine) {
		mine = mine[:len(mine)-1]
	}
	plans := p.entryPlans(mine)
	for _, plan := range plans {
		p.write(plan)
	}
	if p.options.Bench && len(p.reply.ToolCalls) > 0 {
		return // completed in a turn of their own
	}
	for _, t := range mine {
		p.complete(t)
	}
	if len(p.reply.ToolCalls) == 0 {
		p.answer()
	}
}

// assigned gives the specialist's tasks with their texts as read from the board,
// else from the message that assigned them; a task that neither shows has that
// message for its text. What is done the board may say by ids alone.
func (p *part) assigned(ids []int) []task {
	read := map[int]task{}
	for _, t := range parseBriefing(p.request) {
		read[t.id] = t
	}
	for _, e := range p.exchanges {
		if e.name == toolReadTasks {
			for _, t := range parseTasks(e.result) {
				read[t.id] = t
			}
			markDone(read, e.result)
		}
	}
	var mine []task
	for _, id := range ids {
		t, ok := read[id]
		if !ok {
			t = task{id: id, text: fmt.Sprintf("%s (task %d)", firstSentence(p.request), id)}
		}
		mine = append(mine, t)
	}
	return mine
}

// entryPlans gives the entries for the tasks that are not done: one a task, or one a
// day where the task covers several and the layout has days.
func (p *part) entryPlans(mine []task) []entryPlan {
	behind := ""
	if found := p.lookedUp(); found != "" {
		behind = "\n\n" + found
	}
	hasDays := p.schema(toolWriteSection).Properties["day"] != nil
	var plans []entryPlan
	for _, t := range mine {
		if t.done {
			continue
		}
		days := []int{0}
		if named := parseDays(t.text); hasDays && len(named) > 0 {
			days = named
		}
		angle, _ := world.Task(t.text)
		for _, day := range days {
			plans = append(plans, entryPlan{task: t, day: day, slot: angle.Slot, content: p.entryText(t, day) + behind})
		}
	}
	return plans
}

// write calls write_section for a plan, unless it is written or was refused too often.
func (p *part) write(plan entryPlan) {
	s := p.schema(toolWriteSection)
	content := contentName(s)
	tries, complaint := 0, ""
	for _, e := range p.exchanges {
		if e.name != toolWriteSection || e.args[content] != any(plan.content) {
			continue
		}
		if e.fine() {
			return
		}
		tries++
		complaint += e.result
	}
	if tries >= maxTries {
		return
	}
	sources := p.sources()
	if s.Properties["sources"] == nil {
		sources = nil
	}
	if len(sources) > 0 {
		complaint = "" // about these: the model knows no others, and the place was right
	}
	args := p.place(s, content, plan, complaint)
	args[content] = plan.content
	if len(sources) > 0 {
		args["sources"] = sources
	}
	p.call(toolWriteSection, args)
}

// place chooses the layout's arguments for an entry.
func (p *part) place(s *schema, content string, plan entryPlan, complaint string) map[string]any {
	dice := p.dice("place", plan.task.text, strconv.Itoa(plan.day), complaint)
	args := map[string]any{}
	for _, name := range s.names() {
		q, required := s.Properties[name], slices.Contains(s.Required, name)
		if isTask := strings.Contains(name, "task") && q.is("integer"); isTask {
			args[name] = plan.task.id
			continue
		}
		if name == content || complaint != "" && !required {
			continue // what need not be said cannot be refused again
		}
		switch {
		case len(q.Enum) > 0:
			values := q.valuesFor(args["section"])
			if len(values) > 0 || required {
				args[name] = chooseEnum(dice, values, q.Enum, plan, complaint)
			}
		case q.is("integer"):
			args[name] = q.clamp(plan.day)
		case q.is("string"):
			args[name] = q.sampleText(freeNames[name])
		case required:
			args[name] = q.sample("")
		}
	}
	return args
}

// valuesFor gives the enum's values that belong to a section where the description
// lists them by section, none if it lists the section not at all.
func (s *schema) valuesFor(section any) []any {
	lists := ownSlots.FindAllStringSubmatch(s.Description, -1)
	if section == nil || len(lists) == 0 {
		return s.Enum
	}
	for _, m := range lists {
		if m[1] != section {
			continue
		}
		var own []any
		for name := range strings.SplitSeq(m[2], ",") {
			if value := any(strings.TrimSpace(name)); slices.Contains(s.Enum, value) {
				own = append(own, value)
			}
		}
		return own
	}
	return nil
}

// freeNames are the places where the layout leaves the name to the author.
var freeNames = map[string]string{"section": "findings", "slot": "general", "time_slot": "general"}

// chooseEnum prefers what the last refusal named, then what the task names, then any
// of the values that is not the general one.
func chooseEnum(dice *rand.Rand, values, all []any, plan entryPlan, complaint string) any {
	if named := mentioned(all, complaint); len(named) > 0 {
		return named[dice.IntN(len(named))]
	}
	if slot := any(plan.slot); plan.slot != "" && slices.Contains(all, slot) {
		return slot
	}
	if len(values) == 0 {
		values = all
	}
	if named := mentioned(values, plan.task.text); len(named) > 0 {
		return named[dice.IntN(len(named))]
	}
	if day := any(float64(plan.day)); plan.day > 0 && slices.Contains(values, day) {
		return day
	}
	var list []any
	for _, value := range values {
		if value != nil && (value != "general" || plan.day == 0 && len(values) < 3) {
			list = append(list, value)
		}
	}
	if len(list) == 0 {
		return values[0]
	}
	return list[dice.IntN(len(list))]
}

// mentioned gives the enum's texts that occur in a text as whole words.
func mentioned(enum []any, text string) []any {
	padded := " " + words(text) + " "
	var list []any
	for _, value := range enum {
		if name, ok := value.(string); ok && name != "" && strings.Contains(padded, " "+words(name)+" ") {
			list = append(list, value)
		}
	}
	return list
}

func (s *schema) clamp(n int) int {
	if s.Minimum != nil {
		n = max(n, int(*s.Minimum))
	}
	if s.Maximum != nil {
		n = min(n, int(*s.Maximum))
	}
	return n
}

// complete calls complete_task for a task, unless that is done or was refused too often.
func (p *part) complete(t task) {
	if t.done {
		return
	}
	s := p.schema(toolCompleteTask)
	name := s.property(func(_ string, q *schema) bool { return q.is("integer") || q.is("number") })
	if name == "" {
		name = "task_id"
	}
	tries := 0
	for _, e := range p.exchanges {
		if e.name != toolCompleteTask || e.args[name] != any(float64(t.id)) {
			continue
		}
		if e.fine() {
			return
		}
		if !p.wroteInVain(e.turn) {
			tries++
		}
	}
	if tries < maxTries && p.offered(toolCompleteTask) {
		args := p.requiredArguments(toolCompleteTask)
		args[name] = t.id
		p.call(toolCompleteTask, args)
	}
}

// wroteInVain reports whether an entry was refused in a turn: what was completed in it may
// have been refused for that alone.
func (p *part) wroteInVain(turn int) bool {
	return slices.ContainsFunc(p.exchanges, func(e exchange) bool {
		return e.turn == turn && e.name == toolWriteSection && !e.fine()
	})
}
