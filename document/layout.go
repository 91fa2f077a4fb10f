package document

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind names a family of layouts.
type Kind string

// The kinds of layouts.
const (
	// KindFree lets every write name its section and slot.
	KindFree Kind = "free"
	// KindTravel has days, 0 for what concerns the whole trip, and times of day.
	KindTravel Kind = "travel"
	// KindSections has the sections and slots that a team declares.
	KindSections Kind = "sections"
)

const (
	// maxDay is the last day of the travel layout: no trip that one document plans
	// is longer, and a model that counts astray is stopped.
	maxDay = 60
	// DefaultSlot is the slot of a section that has no others.
	DefaultSlot = "main"
	// generalSlot is the travel layout's slot for the whole day.
	generalSlot = "general"
)

// travelSlots are the times of a day in order.
var travelSlots = []string{generalSlot, "morning", "afternoon", "evening", "night"}

// Layout says which sections and slots a document has, in which order, and how a
// tool call names them. The zero value is [Free]. It is immutable, so safe for
// concurrent use, and travels as JSON.
type Layout struct {
	kind     Kind
	sections []Section
}

// Travel is the layout of a trip: day 0 (the whole trip) to 60, each with
// the slots general, morning, afternoon, evening and night.
func Travel() Layout { return Layout{kind: KindTravel} }

// Free is the layout of a team that declares none: any section, any slot, in
// order of their first use. Names differ by more than case.
func Free() Layout { return Layout{kind: KindFree} }

// Kind says which family the layout is of.
func (l Layout) Kind() Kind {
	if l.kind == "" {
		return KindFree
	}
	return l.kind
}

// Sections gives the declared sections in order; none unless the layout's kind
// is [KindSections].
func (l Layout) Sections() []Section { return slices.Clone(l.sections) }

// Args writes a place the way a tool call names it, such as
// "day=1 time_slot=morning" or "section=findings slot=detail". A slot that need
// not be named is left out where the layout declares sections.
func (l Layout) Args(p Place) string {
	if l.Kind() == KindTravel {
		return "day=" + p.Section + " time_slot=" + p.Slot
	}
	section := "section=" + quoted(p.Section)
	if declared, ok := l.section(p.Section); ok && len(declared.Slots) == 0 {
		return section
	}
	return section + " slot=" + quoted(p.Slot)
}

// quoted keeps names with spaces in one piece, and all names on one line.
func quoted(name string) string {
	if asGo := strconv.Quote(name); strings.ContainsAny(name, " =") || asGo != `"`+name+`"` {
		return asGo
	}
	return name
}

// Order sorts places as the document shows them. What a layout does not know, as
// the free one its sections, keeps the order of first use; a section's default
// slot comes first in it.
func (l Layout) Order(places []Place) {
	ranked := make([]rankedPlace, len(places))
	var firstUse map[string]int
	if l.Kind() == KindFree {
		firstUse = map[string]int{}
	}
	for i, p := range places {
		if firstUse != nil {
			if _, seen := firstUse[l.key(p).Section]; !seen {
				firstUse[l.key(p).Section] = len(firstUse)
			}
		}
		ranked[i] = l.rank(p, firstUse)
	}
	slices.SortStableFunc(ranked, func(a, b rankedPlace) int {
		return cmp.Or(cmp.Compare(a.section, b.section), cmp.Compare(a.slot, b.slot))
	})
	for i, r := range ranked {
		places[i] = r.Place
	}
}

// rankedPlace is a place with the ranks that it is sorted by.
type rankedPlace struct {
	Place
	section, slot int
}

func (l Layout) rank(p Place, firstUse map[string]int) rankedPlace {
	switch l.Kind() {
	case KindTravel:
		day, _ := strconv.Atoi(p.Section)
		return rankedPlace{p, day, slices.Index(travelSlots, p.Slot)}
	case KindSections:
		i := l.sectionIndex(p.Section)
		return rankedPlace{p, i, slices.Index(l.slots(p.Section), p.Slot)}
	}
	key := l.key(p)
	if key.Slot == DefaultSlot {
		return rankedPlace{p, firstUse[key.Section], 0}
	}
	return rankedPlace{p, firstUse[key.Section], 1}
}

func (l Layout) sectionIndex(id string) int {
	return slices.IndexFunc(l.sections, func(s Section) bool { return s.ID == id })
}

func (l Layout) section(id string) (Section, bool) {
	if i := l.sectionIndex(id); i >= 0 {
		return l.sections[i], true
	}
	return Section{}, false
}

// layoutJSON is a layout on the wire.
type layoutJSON struct {
	Kind     Kind      `json:"kind"`
	Sections []Section `json:"sections,omitempty"`
}

// MarshalJSON writes {"kind": …} and the sections, if the layout declares any.
func (l Layout) MarshalJSON() ([]byte, error) {
	return json.Marshal(layoutJSON{Kind: l.Kind(), Sections: l.sections})
}

// UnmarshalJSON reads what MarshalJSON wrote and checks it like [Sections].
func (l *Layout) UnmarshalJSON(body []byte) error {
	var wire layoutJSON
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&wire); err != nil {
		return fmt.Errorf("decode layout: %w", err)
	}
	if wire.Kind == KindSections {
		layout, err := Sections(wire.Sections)
		*l = layout
		return err
	}
	if wire.Kind != KindFree && wire.Kind != KindTravel {
		return fmt.Errorf("decode layout: unknown kind %q", wire.Kind)
	}
	if len(wire.Sections) > 0 {
		return fmt.Errorf("decode layout: kind %q declares no sections", wire.Kind)
	}
	*l = Layout{kind: wire.Kind}
	return nil
}
