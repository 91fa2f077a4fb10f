package world_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/sim/world"
)

// The README's request, in any wording, finds its city.
func TestFindsATripInAnyWording(t *testing.T) {
	for request, of := range map[string]string{
		"Plan three days in Kyoto for two":                       " in Kyoto",
		"We fly to LISBON for a weekend: what should we see?":    " in Lisbon",
		"my parents' first visit to New York City":               " in New York",
		"Drei Jahre Arbeit – now a holiday, perhaps around Roma": " in Rome",
		"3 Tage Kyoto zu zweit":                                  " in Kyoto",
		"Plan two weeks in Vienna":                               " in Vienna",
		"paris?":                                                 " in Paris",
	} {
		require.Equal(t, of, world.Find(request, false).Of, request)
	}
	require.Nil(t, world.Find("Compare rents of flats in Vienna and Rome", false), "no trip")
	require.Nil(t, world.Find("Explain tides", false))
	require.Equal(t, " in Graz", world.Find("Plan two days in Graz", true).Of)
}

// What is written for a time of day fits it, and every day of a place differs.
func TestDaysFitTheirSlots(t *testing.T) {
	kyoto := world.Find("Kyoto", true)
	seen := map[string]bool{}
	for _, angle := range kyoto.Angles {
		task := angle.Title + kyoto.Of + ", days 1 to 3"
		found, ok := world.Task(task)
		require.True(t, ok, task)
		require.Equal(t, angle.Slot, found.Slot)
		if !angle.Daily {
			require.Equal(t, "general", angle.Slot)
			continue
		}
		for day := 1; day <= 4; day++ {
			text := found.Write(task, world.Days{First: day, Last: day})
			require.False(t, seen[text], text)
			seen[text] = true
			require.Contains(t, text, "**")
		}
		require.Contains(t, found.Write(task, world.Days{First: 9, Last: 9}), "beyond what the simulated model knows")
	}
	dinners, _ := world.Task("Choose dinners in Kyoto")
	require.Equal(t, "evening", dinners.Slot)
}

// A place that is not known is said to be not known, in every angle.
func TestSaysWhatItDoesNotKnow(t *testing.T) {
	graz := world.Find("Plan two days in Graz", true)
	for _, angle := range graz.Angles {
		found, _ := world.Task(angle.Title + graz.Of)
		require.Contains(t, found.Write(angle.Title+graz.Of, world.Days{First: 1, Last: 1}), "simulated")
	}
}

// Each thing to compare has something to say from every angle.
func TestComparesProducts(t *testing.T) {
	for request, name := range map[string]string{
		"Compare three ways to heat an old house":           "Pellet boiler",
		"Which database suits a small service?":             "PostgreSQL",
		"Should I buy an espresso machine?":                 "Moka pot",
		"What mattress is best for a bad back?":             "Pocket springs",
		"I need a laptop for programming, which one?":       "Refurbished business laptop",
		"Which phone should I buy under 500 euros?":         "Cheap phone",
		"React or Svelte for our shop? Keep it to one page": "htmx",
	} {
		subject := world.Find(request, false)
		all := ""
		for _, angle := range subject.Angles {
			found, ok := world.Task(angle.Title + subject.Of + " (risks)")
			require.True(t, ok)
			all += found.Write(angle.Title+subject.Of, world.Days{}) + "\n"
		}
		require.Contains(t, all, name, request)
		require.Contains(t, all, "| --- |", request)
		require.NotContains(t, all, "does not know", request)
	}
}

// What a rule finds names the line and quotes it; the task alone is enough to write it.
func TestReviewsCode(t *testing.T) {
	const file = "Review this\n\n## File: a.py\n\n> import db\n> def find(name):\n>     return db.run(\"SELECT * FROM t WHERE n = '\" + name + \"'\")\n> # TODO: index\n"
	subject := world.Find(file, false)
	first, second := subject.Angles[0], subject.Angles[1]
	require.Contains(t, first.Title, "blocker, line 3: `return db.run(")
	require.Contains(t, second.Title, "minor, line 4: `# TODO: index`")
	found, ok := world.Task(first.Title + " (findings)")
	require.True(t, ok)
	text := found.Write(first.Title+" (findings)", world.Days{})
	require.True(t, strings.HasPrefix(text, "**SQL that is put together from text** (blocker), line 3, `return db.run("), text)
	require.NotContains(t, text, "(findings)")
	require.Nil(t, world.Find("Review this letter, please.", false))
}
