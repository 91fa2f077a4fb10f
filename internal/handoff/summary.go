package handoff

import (
	"strings"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/thread"
)

const (
	// maxEarlier is how many earlier messages of the user a summary has that no model wrote:
	// enough for what the newest refers to.
	maxEarlier = 3
	// maxEarlierChars bounds each of them, so that together they leave half of the summary to
	// the newest.
	maxEarlierChars = 300
)

// Summary writes the summary of a handoff that no model wrote: the message that the run
// answers, and the user's last messages before it, sanitized.
func (d *Desk) Summary(tx *thread.Tx) string {
	var before strings.Builder
	for i, said := range tx.Run.SaidBefore(maxEarlier) {
		if i == 0 {
			before.WriteString("\nBefore that, the oldest first:")
		}
		before.WriteString("\n- " + chars.Clip(strings.Join(strings.Fields(d.CleanSaid(tx, said, 0)), " "), maxEarlierChars))
	}
	const head = "The user writes: "
	room := conversation.MaxSummaryChars - chars.Count(head) - chars.Count(before.String()) - 1
	return head + d.CleanSaid(tx, tx.Run.Started.Message, room) + before.String()
}
