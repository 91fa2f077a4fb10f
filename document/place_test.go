package document_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/document"
)

type args = map[string]any

const wholeDay = " is not a day: use a whole number from 0 to 60, 0 for what concerns the whole trip."

// Proves R9.
func TestPlace(t *testing.T) {
	for _, c := range []struct {
		layout string
		args   args
		want   string
		err    string
	}{
		{"travel", args{"day": 1.0, "time_slot": "morning", "content": "…"}, "1/morning", ""},
		{"travel", args{"day": " 1 ", "time_slot": " Morning\n"}, "1/morning", ""},
		{"travel", args{"day": json.Number("1.0"), "time_slot": "NIGHT"}, "1/night", ""},
		{"travel", args{"day": 0, "time_slot": "general"}, "0/general", ""},
		{"travel", args{"day": "General", "time_slot": "general"}, "0/general", ""},
		{"travel", args{"day": int64(60), "time_slot": "night"}, "60/night", ""},
		{"travel", args{"day": 61, "time_slot": "night"}, "", `day "61"` + wholeDay},
		{"travel", args{"day": -1, "time_slot": "night"}, "", `day "-1"` + wholeDay},
		{"travel", args{"day": 1.5, "time_slot": "night"}, "", `day "1.5"` + wholeDay},
		{"travel", args{"day": "NaN", "time_slot": "night"}, "", `day "NaN"` + wholeDay},
		{"travel", args{"day": "Monday", "time_slot": "night"}, "", `day "Monday"` + wholeDay},
		{"travel", args{"day": true, "time_slot": "night"}, "", `day "true"` + wholeDay},
		{"travel", args{"time_slot": "night"}, "", "day is missing: use a whole number from 0 to 60, 0 for what concerns the whole trip."},
		{"travel", args{"day": 1}, "", "time_slot is missing: use one of general, morning, afternoon, evening, night."},
		{"travel", args{"day": 1, "time_slot": "noon"}, "", `time_slot "noon" does not exist: use one of general, morning, afternoon, evening, night.`},
		{"travel", args{"day": 1, "time_slot": 3}, "", `time_slot "3" does not exist: use one of general, morning, afternoon, evening, night.`},

		{"sections", args{"section": "FINDINGS", "slot": "Detail"}, "findings/detail", ""},
		{"sections", args{"section": "next-steps"}, "Next-steps/main", ""},
		{"sections", args{"section": "next-steps", "slot": "main"}, "Next-steps/main", ""},
		{"sections", args{"section": "next-steps", "slot": ""}, "Next-steps/main", ""},
		{"sections", args{"section": "risks"}, "risks/all", ""},
		{"sections", args{"section": "findings"}, "", "slot is missing: use one of summary, detail, Open_questions."},
		{"sections", args{"section": "findings", "slot": "all"}, "", `Section findings has no slot "all": use one of summary, detail, Open_questions.`},
		{"sections", args{"section": "next-steps", "slot": "detail"}, "", `Section Next-steps has no slot "detail": it has no slots, leave slot out.`},
		{"sections", args{"section": "intro"}, "", `section "intro" does not exist: use one of findings, risks, Next-steps.`},
		{"sections", args{}, "", "section is missing: use one of findings, risks, Next-steps."},

		{"free", args{"section": " Key points "}, "Key points/main", ""},
		{"free", args{"section": 2.0, "slot": "日本"}, "2/日本", ""},
		{"free", args{"section": strings.Repeat("é", 120)}, strings.Repeat("é", 120) + "/main", ""},
		{"free", args{"section": strings.Repeat("é", 121)}, "", "section has 121 characters, 120 is the limit: use a shorter name."},
		{"free", args{"section": "a\nb"}, "", `section "a\nb" holds a control character or invalid UTF-8: use one line of text.`},
		{"free", args{"section": "a", "slot": "\xff"}, "", `slot "\xff" holds a control character or invalid UTF-8: use one line of text.`},
		{"free", args{"section": []any{"a"}}, "", "section must be a string."},
		{"free", args{"section": "  "}, "", "section is missing: name the section, in a few words."},
	} {
		p, err := layouts(t)[c.layout].Place(c.args)
		if c.err != "" {
			assert.EqualError(t, err, c.err, c.args)
			assert.Zero(t, p)
			continue
		}
		require.NoError(t, err, c.args)
		assert.Equal(t, c.want, p.Section+"/"+p.Slot)
	}
}

func TestFilterLeavesOpenWhatIsNotNamed(t *testing.T) {
	for _, c := range []struct {
		layout string
		args   args
		want   document.Place
	}{
		{"travel", args{}, document.Place{}},
		{"travel", args{"day": "2"}, document.Place{Section: "2"}},
		{"travel", args{"time_slot": "Night"}, document.Place{Slot: "night"}},
		{"sections", args{"slot": "Summary"}, document.Place{Slot: "summary"}},
		{"free", args{"section": nil, "slot": "x"}, document.Place{Slot: "x"}},
	} {
		p, err := layouts(t)[c.layout].Filter(c.args)
		require.NoError(t, err)
		assert.Equal(t, c.want, p)
	}
	_, err := report(t).Filter(args{"slot": "nowhere"})
	require.EqualError(t, err, `slot "nowhere" does not exist: use one of summary, detail, Open_questions, all, main.`)
}

// A place that a layout gives out is one that it takes, as it is.
func FuzzPlace(f *testing.F) {
	for _, seed := range []string{
		`{"day":1,"time_slot":"morning"}`, `{"day":"1e1","time_slot":"NIGHT"}`, `{"day":-0.0,"time_slot":"general"}`,
		`{"section":"findings","slot":"detail"}`, `{"section":"ſ","slot":null}`, `{"section":1e300}`, `{"section":{"a":1}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var given args
		if json.Unmarshal([]byte(body), &given) != nil {
			return
		}
		for name, layout := range layouts(t) {
			p, err := layout.Place(given)
			if err != nil {
				require.Less(t, len(err.Error()), 1000, name)
				continue
			}
			section, slot := layout.Params()[0].Name, layout.Params()[1].Name
			again, err := layout.Place(args{section: p.Section, slot: p.Slot})
			require.NoError(t, err, name)
			require.Equal(t, p, again, name)
			_, err = document.New(layout).Append(document.Write{Author: "food", Place: p, Content: "x"}, document.Bounds{})
			require.NoError(t, err, name)
		}
	})
}
