package world

import (
	"fmt"
	"strings"
)

// dayAngles are for a document that has days and times of day.
var dayAngles = []Angle{
	{Title: "Find the way there and around", fits: "transport logistics getting there around tickets timing", Slot: "general", text: ways},
	{Title: "Choose where to stay and what to book", fits: "lodging logistics budget booking tickets documents getting", Slot: "general", text: stay},
	{Title: "Choose lunches", fits: "food lunch restaurants markets local dishes breakfast", Daily: true, Slot: "afternoon", text: daily("Lunch", func(d day) string { return "Lunch: " + d.lunch })},
	{Title: "Choose dinners", fits: "food dinner restaurants dishes snacks reservations", Daily: true, Slot: "evening", text: daily("Dinner", func(d day) string { return "Dinner: " + d.dinner })},
	{Title: "Choose the mornings", fits: "sightseeing sights museums culture history walks", Daily: true, Slot: "morning", text: daily("Morning", func(d day) string { return d.morning })},
	{Title: "Choose the afternoons", fits: "sightseeing sights museums culture events nature", Daily: true, Slot: "afternoon", text: daily("Afternoon", func(d day) string { return d.afternoon })},
	{Title: "Work out what it costs", fits: "budget money prices figures", Slot: "general", text: budget},
	{Title: "Prepare for rain and queues", fits: "risks safety weather critic gaps", Slot: "general", text: caution},
}

// tripAngles are for a document of sections.
var tripAngles = []Angle{
	{Title: "Say how to approach the days", fits: "strategist approach options choice", section: "overview summary brief verdict", text: brief},
	{Title: "Lay out each day", fits: "strategist order of steps plan itinerary", section: "plan analysis calendar", text: itinerary},
	{Title: "Gather the ways there and around", fits: "researcher facts background constraints gathers scout", section: "details findings facts", text: ways},
	{Title: "Gather what things cost", fits: "researcher figures prices numbers scout calculates", section: "details findings figures", text: prices},
	{Title: "Choose where to eat", fits: "writer detailed parts food meals", section: "details content", text: meals},
	{Title: "Choose where to stay and what to book", fits: "writer ready use lodging", section: "details content next_steps", text: stay},
	{Title: "Look for what spoils it", fits: "critic skeptic risks wrong assumptions attacks", section: "risks objections", text: caution},
	{Title: "Check whether the money suffices", fits: "critic analyst gaps cheaper ways compares", section: "risks questions open", text: budget},
}

// unknownPlace says plainly that a place is not known.
const unknownPlace = "The simulated model knows no places there, so this shows only where a choice would stand and how a run goes; a real model would name one."

// known words an angle for a place that is known, or says that it is not.
func known(what string, c *city, text func(*city) string) string {
	if c == nil {
		return "**" + what + ".** " + unknownPlace
	}
	return text(c)
}

// day gives the n-th day of a trip, nil beyond what is known of the place.
func (c *city) day(n, turn int) *day {
	if n < 1 || n > len(c.days) {
		return nil
	}
	return &c.days[(n-1+turn)%len(c.days)]
}

func daily(what string, of func(day) string) func(topic, Days) string {
	return func(t topic, d Days) string {
		if t.city == nil {
			return fmt.Sprintf("**%s, day %d.** A real model would name a place here; the simulated one knows none there and invents none.", what, d.First)
		}
		return known(what, t.city, func(c *city) string {
			at := c.day(d.First, d.Turn)
			if at == nil {
				return fmt.Sprintf("**%s left free.** Day %d is beyond what the simulated model knows of %s: go back to the place that you liked most, or see what rain or rest left undone.", what, d.First, c.name)
			}
			return of(*at)
		})
	}
}

func ways(t topic, _ Days) string {
	return known("Ways there and around", t.city, func(c *city) string { return c.arrive + "\n\n" + c.around })
}

func stay(t topic, _ Days) string {
	return known("Where to stay, what to book", t.city, func(c *city) string { return c.stay + "\n\n" + c.book })
}

func budget(t topic, _ Days) string {
	return known("Budget", t.city, func(c *city) string {
		return c.budget + "\n\nMultiply that by the days; entrances are the part that can be halved."
	})
}

func prices(t topic, _ Days) string {
	return known("Prices", t.city, func(c *city) string {
		return c.prices + "\n\nAll of them are rounded and rise every year: look them up before you book."
	})
}

func caution(t topic, _ Days) string {
	return known("What goes wrong", t.city, func(c *city) string { return c.caution + "\n\n" + c.rain })
}

func brief(t topic, d Days) string {
	return known("In brief", t.city, func(c *city) string {
		return fmt.Sprintf("%s For %s: %s.", c.brief, count(d), highlights(c, d))
	})
}

// highlights names the first place of each day.
func highlights(c *city, d Days) string {
	var list []string
	for n := max(d.First, 1); n <= min(max(d.Last, 1), len(c.days)); n++ {
		list = append(list, fmt.Sprintf("day %d begins at %s", n, place(c.day(n, d.Turn).morning)))
	}
	return strings.Join(list, ", ")
}

// place gives the name that a text begins with in bold.
func place(text string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "**"), ".**")
	return name
}

func itinerary(t topic, d Days) string {
	return known("The days in order", t.city, func(c *city) string {
		var b strings.Builder
		for n := max(d.First, 1); n <= max(d.Last, 1); n++ {
			if n > len(c.days) {
				fmt.Fprintf(&b, "### Day %d\n\nLeft free: the simulated model knows %d days of %s.\n\n", n, len(c.days), c.name)
				break
			}
			at := c.day(n, d.Turn)
			fmt.Fprintf(&b, "### Day %d\n\n- Morning: %s\n- Lunch: %s\n- Afternoon: %s\n- Dinner: %s\n\n", n, at.morning, place(at.lunch), at.afternoon, place(at.dinner))
		}
		return strings.TrimSpace(b.String())
	})
}

func meals(t topic, d Days) string {
	return known("Where to eat", t.city, func(c *city) string {
		var b strings.Builder
		for n := max(d.First, 1); n <= min(max(d.Last, 1), len(c.days)); n++ {
			at := c.day(n, d.Turn)
			fmt.Fprintf(&b, "- Day %d, midday: %s\n- Day %[1]d, evening: %[3]s\n", n, at.lunch, at.dinner)
		}
		return strings.TrimSpace(b.String())
	})
}

func count(d Days) string {
	if n := d.Last - d.First + 1; d.First > 0 && n > 1 {
		return fmt.Sprintf("%d days", n)
	}
	return "one day"
}
