package document

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/convene-run/convene/internal/chars"
)

// Place is one slot of one section. In the travel layout Section is the day as a
// decimal number.
type Place struct {
	Section string `json:"section"`
	Slot    string `json:"slot"`
}

// Place reads the place that a tool call names in its arguments; others among
// them are of no concern. It is generous with what cannot be misread: "1" and
// 1.0 for 1, case, spaces around a name. The error, for the model, names what is
// allowed.
func (l Layout) Place(args map[string]any) (Place, error) {
	return l.place(args[l.sectionParam()], args[l.slotParam()])
}

func (l Layout) place(section, slot any) (Place, error) {
	p, err := l.filter(section, slot)
	if err != nil {
		return Place{}, err
	}
	if p.Section == "" {
		return Place{}, refuse("%s is missing: %s.", l.sectionParam(), l.allowedSections())
	}
	if p.Slot != "" {
		return p, nil
	}
	if p.Slot = l.impliedSlot(p.Section); p.Slot == "" {
		return Place{}, refuse("%s is missing: %s.", l.slotParam(), l.allowedSlots(p.Section))
	}
	return p, nil
}

// Filter reads the arguments of a reading tool, where section and slot may each
// be left out: a field that is empty then stands for all. It is [Layout.Place]
// otherwise.
func (l Layout) Filter(args map[string]any) (Place, error) {
	return l.filter(args[l.sectionParam()], args[l.slotParam()])
}

func (l Layout) filter(sectionArg, slotArg any) (Place, error) {
	section, err := l.readSection(sectionArg)
	if err != nil {
		return Place{}, err
	}
	slot, err := l.readSlot(section, slotArg)
	if err != nil {
		return Place{}, err
	}
	return Place{Section: section, Slot: slot}, nil
}

// key is the place as it is compared: the free layout has no spelling of its
// own, so there case and inner spaces do not tell places apart.
func (l Layout) key(p Place) Place {
	if l.Kind() != KindFree {
		return p
	}
	return Place{Section: folded(p.Section), Slot: folded(p.Slot)}
}

func folded(name string) string { return strings.ToLower(strings.Join(strings.Fields(name), " ")) }

// check reports whether the layout has this place.
func (l Layout) check(p Place) error {
	read, err := l.place(p.Section, p.Slot)
	if err != nil {
		return err
	}
	if read != p {
		return refuse("%s is written %s here.", l.Args(p), l.Args(read))
	}
	return nil
}

func (l Layout) readSection(arg any) (string, error) {
	if l.Kind() == KindTravel {
		return readDay(arg)
	}
	name, err := readName("section", arg)
	if err != nil || name == "" || l.Kind() == KindFree {
		return name, err
	}
	if id, ok := match(l.sectionIDs(), name); ok {
		return id, nil
	}
	return "", refuse("section %q does not exist: %s.", name, l.allowedSections())
}

func (l Layout) readSlot(section string, arg any) (string, error) {
	param := l.slotParam()
	name, err := readName(param, arg)
	if err != nil || name == "" || l.Kind() == KindFree {
		return name, err
	}
	if slot, ok := match(l.slots(section), name); ok {
		return slot, nil
	}
	if section == "" {
		return "", refuse("%s %q does not exist: use one of %s.", param, name, join(l.slots("")))
	}
	if l.Kind() == KindTravel {
		return "", refuse("time_slot %q does not exist: %s.", name, l.allowedSlots(section))
	}
	return "", refuse("Section %s has no slot %q: %s.", section, name, l.allowedSlots(section))
}

// match finds the name that is meant: as written, else without regard to case.
func match(names []string, name string) (string, bool) {
	if slices.Contains(names, name) {
		return name, true
	}
	for _, candidate := range names {
		if strings.EqualFold(candidate, name) {
			return candidate, true
		}
	}
	return "", false
}

func (l Layout) sectionIDs() []string {
	ids := make([]string, len(l.sections))
	for i, section := range l.sections {
		ids[i] = section.ID
	}
	return ids
}

// slots are the slots of a section in order, or those of all sections together
// if section is empty. The free layout knows none.
func (l Layout) slots(section string) []string {
	switch l.Kind() {
	case KindTravel:
		return travelSlots
	case KindFree:
		return nil
	}
	var all []string
	for _, s := range l.sections {
		if section != "" && s.ID != section {
			continue
		}
		own := s.Slots
		if len(own) == 0 {
			own = []string{DefaultSlot}
		}
		for _, slot := range own {
			if !slices.Contains(all, slot) {
				all = append(all, slot)
			}
		}
	}
	return all
}

// impliedSlot is the slot of a write that names none, or "" if it must name one.
func (l Layout) impliedSlot(section string) string {
	if l.Kind() == KindFree {
		return DefaultSlot
	}
	if slots := l.slots(section); len(slots) == 1 {
		return slots[0]
	}
	return ""
}

func (l Layout) allowedSections() string {
	switch l.Kind() {
	case KindTravel:
		return fmt.Sprintf("use a whole number from 0 to %d, 0 for what concerns the whole trip", maxDay)
	case KindSections:
		return "use one of " + join(l.sectionIDs())
	}
	return "name the section, in a few words"
}

func (l Layout) allowedSlots(section string) string {
	if declared, ok := l.section(section); ok && len(declared.Slots) == 0 {
		return "it has no slots, leave slot out"
	}
	return "use one of " + join(l.slots(section))
}

// readDay reads the day of a trip; nothing gives "".
func readDay(arg any) (string, error) {
	var day float64
	ok := true
	switch value := arg.(type) {
	case nil:
		return "", nil
	case float64:
		day = value
	case int:
		day = float64(value)
	case int64:
		day = float64(value)
	case json.Number:
		day, ok = number(value.String())
	case string:
		text := strings.TrimSpace(value)
		if text == "" {
			return "", nil
		}
		day, ok = number(text)
		if strings.EqualFold(text, generalSlot) {
			day, ok = 0, true
		}
	default:
		ok = false
	}
	// The comparison is also false for what is not a number.
	if !ok || !(day >= 0 && day <= maxDay) || day != math.Trunc(day) {
		return "", refuse("day %.40q is not a day: %s.", fmt.Sprint(arg), Travel().allowedSections())
	}
	return strconv.Itoa(int(day)), nil
}

func number(text string) (float64, bool) {
	value, err := strconv.ParseFloat(text, 64)
	return value, err == nil
}

// readName reads the name of a section or slot; nothing gives "".
func readName(param string, arg any) (string, error) {
	var name string
	switch value := arg.(type) {
	case nil:
		return "", nil
	case string:
		name = strings.TrimSpace(value)
	case json.Number:
		name = value.String()
	case float64, int, int64:
		name = fmt.Sprint(value)
	default:
		return "", refuse("%s must be a string.", param)
	}
	switch {
	case chars.Over(name, maxNameChars):
		return "", refuse("%s has %d characters, %d is the limit: use a shorter name.", param, chars.Count(name), maxNameChars)
	case !utf8.ValidString(name), strings.ContainsFunc(name, unicode.IsControl):
		return "", refuse("%s %q holds a control character or invalid UTF-8: use one line of text.", param, name)
	}
	return name, nil
}
