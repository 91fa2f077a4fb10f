package termview_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/cmd/internal/termview"
)

const streamed = "## Day 1\n\nTea in *Gion*, then a walk\nalong the river.\n\n- Nishiki market\n- Temple\n\n  open till six\n\n" +
	"```go\nif x {\n\n}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\n\nThe end."

// Wherever the pieces end, what was printed is what the whole text looks like.
func TestStreamSettlesOnce(t *testing.T) {
	t.Parallel()
	for _, theme := range []termview.Theme{{}, {Color: true}} {
		set := func(source string) string {
			out := strings.TrimRight(termview.RenderMarkdown(strings.TrimRight(source, "\n"), termview.Theme{Color: true}, 60), "\n")
			if !theme.Color {
				out = ansi.Strip(out)
			}
			return out
		}
		rapid.Check(t, func(t *rapid.T) {
			s := termview.NewStream(theme, 60)
			var printed []string
			for rest := streamed; rest != ""; {
				n := rapid.IntRange(1, min(30, len(rest))).Draw(t, "piece")
				s.Write(rest[:n])
				rest = rest[n:]
				printed = append(printed, s.Settled()...)
				shown := strings.Join(append(printed[:len(printed):len(printed)], s.Open()...), "\n")
				require.Equal(t, set(s.Text()), strings.TrimRight(shown, "\n"))
			}
			printed = append(printed, s.End()...)
			require.Equal(t, set(streamed), strings.Join(printed, "\n"))
			require.Empty(t, s.End())
			require.Empty(t, s.Open())
		})
	}
}
