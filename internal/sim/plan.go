package sim

import (
	"strings"

	"github.com/convene-run/convene/events"
)

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
			for _, t := range parseCreated(m.Content) {
				highest = max(highest, t.id)
			}
		}
	}
	return highest
}

// planTexts gives each specialist's task texts: of what the model knows about the request,
// each angle to whom it suits, else of the specialist's own field.
func (p *part) planTexts(team []colleague, tries int) [][]string {
	each := tasksPerSpecialist
	if tries > 0 || len(team)*each > maxTasks {
		each = 1
	}
	known := p.matter()
	sections := p.sectionNames()
	texts := make([][]string, len(team))
	for i, c := range team {
		if i >= maxTasks {
			break
		}
		for k := range each {
			turn := i*each + k
			if angle := known.take(c); angle != nil {
				texts[i] = append(texts[i], p.angleText(known, angle, sections, turn))
				continue
			}
			section := ""
			if len(sections) > 0 {
				section = sectionFor(c, sections, turn)
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
