package termview_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/cmd/internal/termview"
)

const help = `Have a team work on one request. The answer and the document go to
stdout.

Flags:
      --file PATH   attach a file, which may be given more than once
  -h, --help        help for run
  convene run --model sim "Plan three days in Kyoto for two"
`

// Proves R70: help keeps words whole, in a terminal of any width.
func TestHelpText(t *testing.T) {
	require.Equal(t, help, termview.HelpText(help, 80), "what fits is left as it is")
	require.Equal(t, `Have a team work on one request. The
answer and the document go to stdout.

Flags:
      --file PATH   attach a file,
        which may be given more than
        once
  -h, --help        help for run
  convene run --model sim "Plan three
    days in Kyoto for two"
`, termview.HelpText(help, 40))
	for width := range 100 {
		require.Equal(t, strings.Join(strings.Fields(help), ""), strings.Join(strings.Fields(termview.HelpText(help, width)), ""), "nothing is lost at %d", width)
	}
}
