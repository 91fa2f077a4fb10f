package loop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
)

// A reply that was cut while it said the same over and over is told from one that was
// only cut.
func TestRanAway(t *testing.T) {
	lines := strings.Builder{}
	for i := range 200 {
		fmt.Fprintf(&lines, "| row %d | the same in each row |\n", i)
	}
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"a sentence":   {"First: " + strings.Repeat("I say it again, and again. ", 100), true},
		"blanks":       {strings.Repeat(" ", 3000), true},
		"runs inside":  {strings.Repeat("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", 100), true},
		"a long part":  {strings.Repeat(lines.String()[:500], 5), true},
		"a longer one": {strings.Repeat(lines.String()[:600], 5), false},
		"a table":      {lines.String(), false},
		"it got on":    {strings.Repeat("-", 3000) + "\nDone", false},
		"little":       {strings.Repeat("-", repeatedBytes-1), false},
	} {
		require.Equal(t, c.want, ranAway(&events.Reply{Text: c.text, FinishReason: events.FinishLength}), name)
		require.Equal(t, c.want, ranAway(&events.Reply{Text: "x", ToolCalls: []events.ToolCall{{Arguments: c.text}}, FinishReason: events.FinishLength}), name)
		require.False(t, ranAway(&events.Reply{Text: c.text, FinishReason: events.FinishStop}), name)
	}
}

func TestSmallerReply(t *testing.T) {
	require.Equal(t, smallerOutputTokens, (&Spec{}).smaller(0))
	require.Equal(t, 500, (&Spec{}).smaller(1000))
	require.Equal(t, smallerOutputTokens, (&Spec{MaxReplyChars: 1_000_000}).smaller(100_000))
	require.Equal(t, 256, (&Spec{MaxReplyChars: 1024}).smaller(0))
}
