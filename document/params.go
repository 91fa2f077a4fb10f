package document

import (
	"fmt"
	"strings"
)

// Param describes one argument of the tools that address a place, in no
// schema language: the agents make theirs of it.
type Param struct {
	Name string
	// Type is "integer" or "string".
	Type        string
	Description string
	// Enum are the allowed values of a string, none: any.
	Enum []string
	// Min and Max bound an integer, nil: unbounded.
	Min, Max *int
	// Required says that a write must name it. A reading tool requires none: see
	// [Layout.Filter].
	Required bool
}

// Params are the arguments that name a place, the section first. They are the
// same for equal layouts, byte for byte, so that prompts can be cached.
func (l Layout) Params() []Param {
	switch l.Kind() {
	case KindTravel:
		first, last := 0, maxDay
		return []Param{
			{
				Name: "day", Type: "integer", Min: &first, Max: &last, Required: true,
				Description: "Day of the trip, from 1; 0 for the whole trip.",
			},
			{
				Name: "time_slot", Type: "string", Enum: l.slots(""), Required: true,
				Description: "general is for the whole day.",
			},
		}
	case KindSections:
		return l.sectionParams()
	}
	return []Param{
		{Name: "section", Type: "string", Required: true, Description: "A short name that says what it is about."},
		{Name: "slot", Type: "string", Description: fmt.Sprintf("Part of the section. Defaults to %q.", DefaultSlot)},
	}
}

func (l Layout) sectionParams() []Param {
	section := Param{Name: "section", Type: "string", Required: true, Description: "Section of the document."}
	slot := Param{Name: "slot", Type: "string", Required: true, Description: "Part of the section."}
	var slotted []string
	for _, s := range l.sections {
		section.Enum = append(section.Enum, s.ID)
		line := fmt.Sprintf("\n%s: %s", s.ID, l.SectionTitle(s.ID))
		if s.Description != "" {
			line += ". " + s.Description
		}
		section.Description += line
		if len(s.Slots) < 2 {
			slot.Required = false
		}
		if len(s.Slots) > 0 {
			slotted = append(slotted, fmt.Sprintf("\n%s: %s", s.ID, join(s.Slots)))
		}
	}
	if len(slotted) == 0 {
		return []Param{section}
	}
	slot.Enum = l.slots("")
	slot.Description += " Leave it out for a section that is not listed." + strings.Join(slotted, "")
	return []Param{section, slot}
}

func (l Layout) sectionParam() string {
	if l.Kind() == KindTravel {
		return "day"
	}
	return "section"
}

func (l Layout) slotParam() string {
	if l.Kind() == KindTravel {
		return "time_slot"
	}
	return "slot"
}
