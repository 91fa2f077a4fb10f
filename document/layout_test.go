package document_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/document"
)

// report is a layout with sections of several slots, of one, and of none.
func report(t require.TestingT) document.Layout {
	layout, err := document.Sections([]document.Section{
		{ID: "findings", Title: "What we found", Description: "Facts with sources", Slots: []string{"summary", "detail", "Open_questions"}},
		{ID: "risks", Slots: []string{"all"}},
		{ID: "Next-steps", Description: "Who does what"},
	})
	require.NoError(t, err)
	return layout
}

func layouts(t require.TestingT) map[string]document.Layout {
	return map[string]document.Layout{
		"travel": document.Travel(), "sections": report(t), "free": document.Free(),
	}
}

// Proves R14: where a declared layout is wrong.
func TestSectionsSayWhereTheyAreWrong(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for name, c := range map[string]struct {
		sections []document.Section
		want     string
	}{
		"none":             {nil, `sections: declare at least one section`},
		"too many":         {make([]document.Section, 101), `sections: 101 sections, at most 100 are allowed`},
		"no id":            {[]document.Section{{ID: "a"}, {Title: "B"}}, `sections[1].id: is empty, give it a name`},
		"id with space":    {[]document.Section{{ID: "a b"}}, `sections[0].id: "a b" may hold only letters, digits, "_", "-" and "."`},
		"id not UTF-8":     {[]document.Section{{ID: "a\xff"}}, `sections[0].id: "a\xff" may hold only letters, digits, "_", "-" and "."`},
		"long id":          {[]document.Section{{ID: long}}, `sections[0].id: has 2000 characters, at most 120 are allowed`},
		"id twice":         {[]document.Section{{ID: "a"}, {ID: "b"}, {ID: "A"}}, `sections[2].id: "A" is already the id of sections[0]; ids differ by more than case`},
		"title of lines":   {[]document.Section{{ID: "a", Title: "a\nb"}}, `sections[0].title: holds a control character, keep it to one line of text`},
		"title not UTF-8":  {[]document.Section{{ID: "a", Title: "a\xff"}}, `sections[0].title: is not valid UTF-8`},
		"long title":       {[]document.Section{{ID: "a", Title: long}}, `sections[0].title: has 2000 characters, at most 120 are allowed`},
		"long description": {[]document.Section{{ID: "a", Description: long}}, `sections[0].description: has 2000 characters, at most 1000 are allowed`},
		"too many slots":   {[]document.Section{{ID: "a", Slots: make([]string, 51)}}, `sections[0].slots: 51 slots, at most 50 are allowed`},
		"empty slot":       {[]document.Section{{ID: "a", Slots: []string{"x", ""}}}, `sections[0].slots[1]: is empty, give it a name`},
		"slot twice":       {[]document.Section{{ID: "a", Slots: []string{"x", "y", "X"}}}, `sections[0].slots[2]: "X" is already slots[0] of this section; slots differ by more than case`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := document.Sections(c.sections)
			var at *document.LayoutError
			require.ErrorAs(t, err, &at)
			assert.Equal(t, c.want, err.Error())
		})
	}
}

// A layout comes back from the log's configuration as it was.
func TestLayoutTravelsAsJSON(t *testing.T) {
	for name, layout := range layouts(t) {
		body, err := json.Marshal(layout)
		require.NoError(t, err)
		var back document.Layout
		require.NoError(t, json.Unmarshal(body, &back))
		assert.Equal(t, layout, back, name)
	}
	assert.Equal(t, document.Free().Kind(), document.Layout{}.Kind())
	for body, want := range map[string]string{
		`{"kind":"maze"}`: "unknown kind",
		`{"kind":"travel","sections":[{"id":"a"}]}`:    "declares no sections",
		`{"kind":"sections"}`:                          "sections: declare at least one section",
		`{"kind":"sections","sections":[{"id":"a!"}]}`: "sections[0].id",
		`{"kind":"free","color":"red"}`:                "color",
		`[]`:                                           "decode layout",
	} {
		var back document.Layout
		require.ErrorContains(t, json.Unmarshal([]byte(body), &back), want, body)
	}
}

// Proves R9: each layout gives tools their argument names.
func TestParams(t *testing.T) {
	first, last := 0, 60
	assert.Equal(t, []document.Param{
		{Name: "day", Type: "integer", Description: "Day of the trip, from 1; 0 for the whole trip.", Min: &first, Max: &last, Required: true},
		{Name: "time_slot", Type: "string", Description: "general is for the whole day.",
			Enum: []string{"general", "morning", "afternoon", "evening", "night"}, Required: true},
	}, document.Travel().Params())
	assert.Equal(t, []document.Param{
		{Name: "section", Type: "string", Required: true, Enum: []string{"findings", "risks", "Next-steps"},
			Description: "Section of the document.\nfindings: What we found. Facts with sources\nrisks: Risks\nNext-steps: Next steps. Who does what"},
		{Name: "slot", Type: "string", Enum: []string{"summary", "detail", "Open_questions", "all", "main"},
			Description: "Part of the section. Leave it out for a section that is not listed.\nfindings: summary, detail, Open_questions\nrisks: all"},
	}, report(t).Params())
	assert.Equal(t, []document.Param{
		{Name: "section", Type: "string", Required: true, Description: "A short name that says what it is about."},
		{Name: "slot", Type: "string", Description: `Part of the section. Defaults to "main".`},
	}, document.Free().Params())

	plain, err := document.Sections([]document.Section{{ID: "a"}, {ID: "b"}})
	require.NoError(t, err)
	require.Len(t, plain.Params(), 1, "no slots, no argument for them")
	slotted, err := document.Sections([]document.Section{{ID: "a", Slots: []string{"x", "y"}}})
	require.NoError(t, err)
	assert.True(t, slotted.Params()[1].Required)
}

func TestTitlesAndArgs(t *testing.T) {
	travel, sections, free := document.Travel(), report(t), document.Free()
	assert.Equal(t, "General", travel.SectionTitle("0"))
	assert.Equal(t, "Day 12", travel.SectionTitle("12"))
	assert.Equal(t, "Morning", travel.SlotTitle("morning"))
	assert.Equal(t, "What we found", sections.SectionTitle("findings"))
	assert.Equal(t, "Next steps", sections.SectionTitle("Next-steps"))
	assert.Equal(t, "Open questions", sections.SlotTitle("Open_questions"))
	assert.Equal(t, "Über uns", free.SectionTitle("über uns"))

	assert.Equal(t, "day=1 time_slot=morning", travel.Args(document.Place{Section: "1", Slot: "morning"}))
	assert.Equal(t, "section=findings slot=detail", sections.Args(document.Place{Section: "findings", Slot: "detail"}))
	assert.Equal(t, "section=Next-steps", sections.Args(document.Place{Section: "Next-steps", Slot: "main"}))
	assert.Equal(t, `section="key points" slot=main`, free.Args(document.Place{Section: "key points", Slot: "main"}))
}

func TestOrder(t *testing.T) {
	for _, c := range []struct {
		layout      document.Layout
		given, want string
	}{
		{document.Travel(), "10/night 2/night 2/general 0/evening 2/morning", "0/evening 2/general 2/morning 2/night 10/night"},
		{report(t), "Next-steps/main risks/all findings/detail findings/summary", "findings/summary findings/detail risks/all Next-steps/main"},
		{document.Free(), "b/x a/z b/main A/y b/a", "b/main b/x b/a a/z A/y"},
	} {
		var places []document.Place
		for _, pair := range strings.Fields(c.given) {
			section, slot, _ := strings.Cut(pair, "/")
			places = append(places, document.Place{Section: section, Slot: slot})
		}
		c.layout.Order(places)
		var got []string
		for _, p := range places {
			got = append(got, p.Section+"/"+p.Slot)
		}
		assert.Equal(t, c.want, strings.Join(got, " "))
	}
}
