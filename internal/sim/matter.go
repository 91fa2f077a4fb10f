package sim

import (
	"slices"
	"strings"

	"github.com/convene-run/convene/internal/sim/world"
)

// matter is what the model knows of a request, with the angles that no task has yet. A nil
// matter has none.
type matter struct {
	*world.Subject
	left []world.Angle
}

// matter finds what the model knows of the request.
func (p *part) matter() *matter {
	found := world.Find(p.request, p.schema(toolConsolidate).Properties["day"] != nil)
	if found == nil {
		return nil
	}
	return &matter{found, slices.Clone(found.Angles)}
}

// take gives the angle that suits a specialist best, of those left the first, and takes it
// off the list. It gives nil where none suits.
func (s *matter) take(c colleague) *world.Angle {
	if s == nil || len(s.left) == 0 {
		return nil
	}
	field := stems(strings.ReplaceAll(identifier(c.id), "_", " ") + " " + fieldOf(c.description))
	best, most := 0, 0
	for i, angle := range s.left {
		if shared := sharedWords(field, angle.Fits()) + angle.Weight; shared > most {
			best, most = i, shared
		}
	}
	angle := s.left[best]
	s.left = slices.Delete(s.left, best, best+1)
	return &angle
}

func sharedWords(have map[string]bool, text string) (count int) {
	for word := range stems(text) {
		if have[word] {
			count++
		}
	}
	return count
}

// angleText words a task for an angle: what it is of, the days, and the section.
func (p *part) angleText(s *matter, angle *world.Angle, sections []string, turn int) string {
	text := angle.Title + s.Of
	if days := p.daysPlanned(); angle.Daily || angle.Slot == "" && s.Of != "" && days > 0 {
		text += dayShare(days, 0, 1)
	}
	if len(sections) == 0 {
		return text
	}
	section, most := sections[turn%len(sections)], 0
	for _, name := range sections {
		if shared := sharedWords(stems(name), angle.Section()); shared > most {
			section, most = name, shared
		}
	}
	return text + " (" + section + ")"
}

// daysPlanned is how many days the plan has, 0 where the request is about none and the
// document has none.
func (p *part) daysPlanned() int {
	days := parseDaysAsked(p.request)
	if days == 0 && p.schema(toolConsolidate).Properties["day"] != nil {
		return usualDays
	}
	return min(days, maxDaysPlanned)
}

// known gives what the model knows to say to a task on a day; days beyond it are given by
// the task's text.
func (p *part) known(t task, day int) (text string, ok bool) {
	angle, ok := world.Task(t.text)
	if !ok {
		return "", false
	}
	days := world.Days{First: day, Last: day}
	if named := parseDays(t.text); day == 0 && len(named) > 0 {
		days = world.Days{First: named[0], Last: named[len(named)-1]}
	}
	days.Turn = int(p.options.Seed % 4)
	return angle.Write(t.text, days), true
}
