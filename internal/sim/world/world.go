// Package world is what the simulated model knows: some cities with their sights, meals,
// ways and prices, a few things that people compare, and mistakes that show in a line of
// code. It is small, written by hand, and nothing else is looked up.
//
//	if subject := world.Find("Plan three days in Kyoto", true); subject != nil {
//		for _, angle := range subject.Angles {
//			task := angle.Title + subject.Of // what a specialist is asked
//		}
//	}
//	text, ok := world.Write("Choose lunches in Kyoto, days 1 to 3", world.Days{First: 1, Last: 1})
package world

import (
	"slices"
	"strings"

	"github.com/convene-run/convene/internal/lazyregexp"
)

// Subject is what a request is about, as far as it is known here.
type Subject struct {
	// Of names it behind an angle's title: " in Kyoto".
	Of string
	// Note says to a reader of the answer what it rests on, "" for nothing.
	Note string
	// Angles are what there is to say about it, in the order in which a reader wants it.
	Angles []Angle
}

// Angle is one thing to say about a subject: a task for a specialist.
type Angle struct {
	// Title is the task's text, without the subject.
	Title string
	// Daily is set where there is something to say for each day; Slot is the time of day it
	// belongs to, "general" for what concerns the whole trip. Both are of trips.
	Daily bool
	Slot  string
	// Weight is how much more it matters than the others; 0 for most.
	Weight int

	fits, section string
	text          func(t topic, d Days) string
}

// Fits are words that tell which specialist the angle suits.
func (a Angle) Fits() string { return a.fits }

// Section are words that name the part of a document it belongs in.
func (a Angle) Section() string { return a.section }

// Days are the days that a text is about, from the first to the last; zero is no day. Turn
// is the day of the place that the first day of a trip shows, from 0.
type Days struct{ First, Last, Turn int }

// topic is what an angle writes about: of city and category the one that the task names,
// nil where it names none that is known.
type topic struct {
	task     string
	city     *city
	category *category
}

// aJourney is a request for a trip, wherever it goes.
var aJourney = lazyregexp.New(`(?i)\b(?:trip|travel\w*|visit\w*|holiday|vacation|weekend|itinerary|days?|nights?|weeks?|stay|sights?|sightsee\w*|tour\w*|city break|honeymoon|go to|going to|flying|fly|tagen?|reisen?|urlaub|wochenende|jours?|voyage|séjour|viaje|viaggio|giorni|días|dias)(?:\PL|$)`)

// Find gives what there is to say about a request, nil where nothing is known of it. A trip
// by days has something to say of any place: for one that is not known, it says so.
func Find(request string, byDays bool) *Subject {
	here := findCity(request)
	switch {
	case byDays && here != nil:
		return &Subject{Of: " in " + here.name, Note: fromMemory, Angles: dayAngles}
	case byDays:
		return &Subject{Of: somewhere(request), Angles: dayAngles}
	case here != nil && (aJourney.MatchString(request) || here.alone(request)):
		return &Subject{Of: " in " + here.name, Note: fromMemory, Angles: tripAngles}
	}
	if s := review(request); s != nil {
		return s
	}
	if c := findCategory(request); c != nil {
		return &Subject{Of: ": " + c.name, Note: fromMemory, Angles: productAngles}
	}
	return nil
}

// Task gives the angle whose task a text is.
func Task(text string) (Angle, bool) {
	for _, list := range [][]Angle{dayAngles, tripAngles, productAngles, remarks} {
		for _, a := range list {
			if strings.HasPrefix(text, a.Title) {
				return a, true
			}
		}
	}
	for _, r := range rules {
		if strings.HasPrefix(text, r.check) {
			return Angle{Title: r.check, text: r.text}, true
		}
	}
	return Angle{}, false
}

// Write gives what an angle says to a task, for the days.
func (a Angle) Write(task string, d Days) string {
	if d.First == 0 {
		d.First, d.Last = 1, usualDays
	}
	return a.text(topic{task: task, city: findCity(task), category: findCategory(task)}, d)
}

// fromMemory is what most of the world rests on.
const fromMemory = "All this is from the simulated model's own small world: prices are rounded, and nothing was looked up."

// aPlace is a place as a request names it.
var aPlace = lazyregexp.New(`\b(?:in|to|at|around|through|of)\s+((?:the\s+)?\p{Lu}[\pL-]*(?:\s\p{Lu}[\pL-]*)*)`)

// somewhere names the place of a trip that is not known here.
func somewhere(request string) string {
	if m := aPlace.FindStringSubmatch(request); m != nil {
		return " in " + m[1]
	}
	return " of the trip"
}

// usualDays is how long a trip is whose days nobody named.
const usualDays = 2

func findCity(text string) *city {
	padded := " " + spaced(text) + " "
	for i := range cities {
		for _, name := range cities[i].names() {
			if strings.Contains(padded, " "+spaced(name)+" ") {
				return &cities[i]
			}
		}
	}
	return nil
}

func (c *city) names() []string { return append([]string{c.name}, c.also...) }

// alone reports whether a text is nothing but the city's name.
func (c *city) alone(text string) bool {
	return slices.ContainsFunc(c.names(), func(name string) bool { return spaced(name) == spaced(text) })
}

func findCategory(text string) *category {
	padded := " " + spaced(text) + " "
	for i := range categories {
		for word := range strings.FieldsSeq(categories[i].words) {
			if strings.Contains(padded, " "+word+" ") {
				return &categories[i]
			}
		}
	}
	return nil
}

var gap = lazyregexp.New(`[^\pL\pN]+`)

// spaced gives the words of a text in lower case with single spaces between.
func spaced(text string) string {
	return strings.TrimSpace(gap.ReplaceAllString(strings.ToLower(text), " "))
}
