package document

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/convene-run/convene/internal/chars"
)

const (
	// MaxSections bounds a declared layout: every name stands in the schema of a tool
	// and so in the prompt of every model call.
	MaxSections = 100
	// MaxSlots bounds the slots of a section, for the same reason.
	MaxSlots = 50
	// maxNameChars bounds the name of a section or slot, and its title.
	maxNameChars = 120
	// maxDescriptionChars bounds the description of a section.
	maxDescriptionChars = 1000
)

// Section is one part of a document as a team declares it.
type Section struct {
	// ID names the section in tool calls: letters, digits, "_", "-" and ".".
	ID string `json:"id"`
	// Title is its heading in the clean document. Defaults to the id in words.
	Title string `json:"title,omitempty"`
	// Description tells the agents what belongs into it.
	Description string `json:"description,omitempty"`
	// Slots are the ids of its parts in order, named like ID. None means the one
	// slot [DefaultSlot], which tool calls need not name.
	Slots []string `json:"slots,omitempty"`
}

// LayoutError says what is wrong with a declared layout and where.
type LayoutError struct {
	// Path leads to the faulty value, such as "sections[1].slots[0]".
	Path string
	// Message says what is wrong and what is right.
	Message string
}

func (e *LayoutError) Error() string { return e.Path + ": " + e.Message }

// Sections is a layout of declared sections. The error is a [*LayoutError].
func Sections(sections []Section) (Layout, error) {
	if len(sections) == 0 {
		return Layout{}, &LayoutError{"sections", "declare at least one section"}
	}
	if len(sections) > MaxSections {
		return Layout{}, &LayoutError{"sections", fmt.Sprintf("%d sections, at most %d are allowed", len(sections), MaxSections)}
	}
	own := make([]Section, len(sections))
	seen := map[string]int{}
	for i, section := range sections {
		path := fmt.Sprintf("sections[%d]", i)
		if err := section.check(path); err != nil {
			return Layout{}, err
		}
		folded := strings.ToLower(section.ID)
		if first, twice := seen[folded]; twice {
			return Layout{}, &LayoutError{path + ".id", fmt.Sprintf("%q is already the id of sections[%d]; ids differ by more than case", section.ID, first)}
		}
		seen[folded] = i
		section.Slots = slices.Clone(section.Slots)
		own[i] = section
	}
	return Layout{kind: KindSections, sections: own}, nil
}

func (s Section) check(path string) error {
	if err := checkID(path+".id", s.ID); err != nil {
		return err
	}
	if err := checkText(path+".title", s.Title, maxNameChars); err != nil {
		return err
	}
	if err := checkText(path+".description", s.Description, maxDescriptionChars); err != nil {
		return err
	}
	if len(s.Slots) > MaxSlots {
		return &LayoutError{path + ".slots", fmt.Sprintf("%d slots, at most %d are allowed", len(s.Slots), MaxSlots)}
	}
	seen := map[string]int{}
	for i, slot := range s.Slots {
		at := fmt.Sprintf("%s.slots[%d]", path, i)
		if err := checkID(at, slot); err != nil {
			return err
		}
		folded := strings.ToLower(slot)
		if first, twice := seen[folded]; twice {
			return &LayoutError{at, fmt.Sprintf("%q is already slots[%d] of this section; slots differ by more than case", slot, first)}
		}
		seen[folded] = i
	}
	return nil
}

func checkID(path, id string) error {
	wrong := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r)
	}
	switch {
	case id == "":
		return &LayoutError{path, "is empty, give it a name"}
	case chars.Over(id, maxNameChars):
		return &LayoutError{path, fmt.Sprintf("has %d characters, at most %d are allowed", chars.Count(id), maxNameChars)}
	case strings.ContainsFunc(id, wrong):
		return &LayoutError{path, fmt.Sprintf("%q may hold only letters, digits, \"_\", \"-\" and \".\"", id)}
	}
	return nil
}

func checkText(path, text string, most int) error {
	switch {
	case chars.Over(text, most):
		return &LayoutError{path, fmt.Sprintf("has %d characters, at most %d are allowed", chars.Count(text), most)}
	case !utf8.ValidString(text):
		return &LayoutError{path, "is not valid UTF-8"}
	case strings.ContainsFunc(text, unicode.IsControl):
		return &LayoutError{path, "holds a control character, keep it to one line of text"}
	}
	return nil
}
