package document

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// SectionTitle is the heading of a section: "Day 1", "General", the declared
// title, or the section's id in words.
func (l Layout) SectionTitle(section string) string {
	if l.Kind() == KindTravel {
		if section == "0" {
			return "General"
		}
		return "Day " + section
	}
	if declared, ok := l.section(section); ok {
		if declared.Title != "" {
			return declared.Title
		}
		return inWords(section)
	}
	return capitalized(section)
}

// SlotTitle is the name of a slot as a heading: "Morning", "Next steps".
func (l Layout) SlotTitle(slot string) string {
	if l.Kind() == KindFree {
		return capitalized(slot)
	}
	return inWords(slot)
}

// SlotHeading is the title of the place's slot, or "" where a heading would say
// nothing: in a section of one slot, and above what concerns a section as a
// whole.
func (l Layout) SlotHeading(p Place) string {
	switch l.Kind() {
	case KindTravel:
		if p.Slot == generalSlot {
			return ""
		}
	case KindSections:
		if declared, ok := l.section(p.Section); ok && len(declared.Slots) < 2 {
			return ""
		}
	default:
		if l.key(p).Slot == DefaultSlot {
			return ""
		}
	}
	return l.SlotTitle(p.Slot)
}

// inWords makes a title of an id: "next_steps" becomes "Next steps".
func inWords(id string) string {
	if id != "" && !strings.ContainsAny(id, "_-") {
		return capitalized(id)
	}
	words := strings.Join(strings.FieldsFunc(id, func(r rune) bool { return r == '_' || r == '-' }), " ")
	if words == "" {
		return id
	}
	return capitalized(words)
}

func capitalized(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}
