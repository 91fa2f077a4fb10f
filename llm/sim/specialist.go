package sim

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// entryPlan is one entry that a specialist means to write.
type entryPlan struct {
	task    task
	day     int // 0 where the task names none
	content string
}

// specialize plays the next step of a specialist: read the tasks, write, complete,
// sum up.
func (p *part) specialize() {
	ids := parseAssigned(p.request)
	if p.needs(toolReadTasks, 0) && len(ids) > 0 {
		s := p.schema(toolReadTasks)
		args := p.requiredArguments(toolReadTasks)
		if name := s.property(func(_ string, q *schema) bool { return q.is("array") }); name != "" {
			args[name] = ids
		}
		p.call(toolReadTasks, args)
		return
	}
	mine := p.assigned(ids)
	plans := p.entryPlans(mine)
	for _, plan := range plans {
		p.write(plan)
	}
	if len(p.reply.ToolCalls) > 0 {
		return
	}
	for _, t := range mine {
		p.complete(t)
	}
	if len(p.reply.ToolCalls) == 0 {
		p.answer()
	}
}

// assigned gives the specialist's tasks with their texts as read from the board; a
// task that the board did not show has the facilitator's message for its text.
func (p *part) assigned(ids []int) []task {
	read := map[int]task{}
	for _, e := range p.exchanges {
		if e.name == toolReadTasks {
			for _, t := range parseTasks(e.result) {
				read[t.id] = t
			}
		}
	}
	var mine []task
	for _, id := range ids {
		t, ok := read[id]
		if !ok {
			t = task{id: id, text: firstSentence(p.request)}
		}
		mine = append(mine, t)
	}
	return mine
}

// entryPlans gives the entries for the tasks that are not done: one a task, or one a
// day where the task covers several and the layout has days.
func (p *part) entryPlans(mine []task) []entryPlan {
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
		for _, day := range days {
			plans = append(plans, entryPlan{task: t, day: day, content: p.entryText(t, day)})
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
	args := p.place(s, content, plan, complaint)
	args[content] = plan.content
	p.call(toolWriteSection, args)
}

// place chooses the layout's arguments for an entry.
func (p *part) place(s *schema, content string, plan entryPlan, complaint string) map[string]any {
	dice := p.dice("place", plan.task.text, strconv.Itoa(plan.day), complaint)
	args := map[string]any{}
	for _, name := range s.names() {
		q := s.Properties[name]
		if name == content {
			continue
		}
		switch {
		case name == "day" && plan.day > 0 && len(q.Enum) == 0:
			args[name] = q.clamp(plan.day)
		case len(q.Enum) > 0:
			args[name] = chooseEnum(dice, q.Enum, plan, complaint)
		case q.is("integer"):
			args[name] = q.clamp(plan.day)
		case q.is("string"):
			args[name] = q.sampleText(freeNames[name])
		case slices.Contains(s.Required, name):
			args[name] = q.sample("")
		}
	}
	return args
}

// freeNames are the places where the layout leaves the name to the author.
var freeNames = map[string]string{"section": "findings", "slot": "general", "time_slot": "general"}

// chooseEnum prefers what the last refusal named, then what the task names, then any
// value that is not the general one.
func chooseEnum(dice *rand.Rand, enum []any, plan entryPlan, complaint string) any {
	if complaint != "" {
		if named := mentioned(enum, complaint); len(named) > 0 {
			return named[dice.IntN(len(named))]
		}
	}
	if named := mentioned(enum, plan.task.text); len(named) > 0 {
		return named[dice.IntN(len(named))]
	}
	var list []any
	for _, value := range enum {
		if value != nil && (jsonText(value) != "general" || plan.day == 0 && len(enum) < 3) {
			list = append(list, value)
		}
	}
	if plan.day > 0 && slices.Contains(enum, any(float64(plan.day))) {
		return float64(plan.day)
	}
	if len(list) == 0 {
		return enum[0]
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
		tries++
	}
	if tries < maxTries && p.offered(toolCompleteTask) {
		args := p.requiredArguments(toolCompleteTask)
		args[name] = t.id
		p.call(toolCompleteTask, args)
	}
}
