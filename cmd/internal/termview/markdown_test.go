package termview_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/cmd/internal/termview"
)

// What is under an item, in a quotation or in a cell stays there when its lines break.
func TestMarkdownBlocks(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"heading and paragraph": {
			"## Day 1\n\nTea in the morning, and a walk\nalong the river\\* &amp; home  \nlate",
			"Day 1\n\nTea in the morning, and a walk along\nthe river* & home\nlate",
		},
		"nested lists": {
			"- Tea, which takes a while to drink up\n  1. green\n  2. black\n- Walk",
			"• Tea, which takes a while to drink\n  up\n  1. green\n  2. black\n• Walk",
		},
		"loose list": {"3. Tea\n\n   hot\n\n4. Walk", "3. Tea\n\n   hot\n\n4. Walk"},
		"tasks":      {"- [x] Tea\n- [ ] Walk", "• [x] Tea\n• [ ] Walk"},
		"quotation": {
			"> Tea, which takes a while to drink up\n>\n> - hot",
			"│ Tea, which takes a while to drink\n│ up\n│\n│ • hot",
		},
		"code":  {"```go\nif x {\n\treturn \"a rather long line that is left as it is\"\n}\n```", "  if x {\n      return \"a rather long line that is left as it is\"\n  }"},
		"links": {"[map](https://a.b/c?d) <https://e.f> ![tea](https://g.h)", "map https://a.b/c?d https://e.f\nImage: tea → https://g.h"},
		"html":  {"<div>Tea</div>\n\na<br>b <b>c</b>", "Tea\n\na\nb c"},
		"table": {
			"| Day | Where it goes | $ |\n|--|:-:|--:|\n| 1 | to the temple with the golden roof | 4 |\n| 2 | *home* |",
			"Day │       Where it goes        │ $\n────┼────────────────────────────┼──\n" +
				"1   │   to the temple with the   │ 4\n    │        golden roof         │\n2   │            home            │",
		},
		"without spaces": {strings.Repeat("茶", 25), strings.Repeat("茶", 18) + "\n" + strings.Repeat("茶", 7)},
		"nothing":        {" \n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			out := termview.RenderMarkdown(test.in, termview.Theme{Color: true}, 40)
			var lines []string
			for line := range strings.Lines(ansi.Strip(out)) {
				lines = append(lines, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "  "))
			}
			require.Equal(t, test.want, strings.Join(lines, "\n"))
		})
	}
}

// A style that goes over the end of a line ends with it, and begins again behind the
// margin.
func TestMarkdownStyles(t *testing.T) {
	out := termview.RenderMarkdown("# Tea\n\n**bold *both*** `code`\n\n*"+strings.Repeat("word ", 9)+"end*", termview.Theme{Color: true}, 40)
	require.Equal(t, "  \x1b[1;36mTea\x1b[m\n\n  \x1b[1mbold \x1b[m\x1b[1;3mboth\x1b[m \x1b[33mcode\x1b[m\n\n"+
		"  \x1b[3mword word word word word word word\x1b[m\n  \x1b[3mword word end\x1b[m\n", out)
}

// However deep blocks stand in each other, there is room for text.
func TestMarkdownDeep(t *testing.T) {
	out := ansi.Strip(termview.RenderMarkdown(strings.Repeat("> ", 200)+"some tea", termview.Theme{Color: true}, 40))
	require.Contains(t, out, "│ some tea\n")
	wide := "|" + strings.Repeat("a|", 300) + "\n|" + strings.Repeat("-|", 300)
	require.Equal(t, 2, strings.Count(termview.RenderMarkdown(wide, termview.Theme{Color: true}, 40), "\n"))
}
