package llmtest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// RequirePrefixes fails the test unless each request continues the one before it
// byte by byte: the same tools, and all messages of the one before first. This is
// what a provider's prompt cache asks for.
func RequirePrefixes(t testing.TB, requests []llm.Request) {
	t.Helper()
	for i := 1; i < len(requests); i++ {
		if difference := brokenPrefix(requests[i-1], requests[i]); difference != "" {
			t.Fatalf("llmtest: request %d does not continue request %d: %s", i+1, i, difference)
		}
	}
}

// brokenPrefix says where later stops to continue earlier, "" if it does not.
func brokenPrefix(earlier, later llm.Request) string {
	if a, b := asJSON(earlier.Tools), asJSON(later.Tools); a != b {
		return "the tools differ: " + firstDifference(a, b)
	}
	if len(later.Messages) < len(earlier.Messages) {
		return fmt.Sprintf("it has %d messages after %d", len(later.Messages), len(earlier.Messages))
	}
	return differentMessages(earlier.Messages, later.Messages[:len(earlier.Messages)])
}

// differentMessages describes the first difference of two histories, "" if there is none.
func differentMessages(a, b []events.Message) string {
	for i := range min(len(a), len(b)) {
		if x, y := asJSON(a[i]), asJSON(b[i]); x != y {
			return fmt.Sprintf("messages[%d] differs: %s", i, firstDifference(x, y))
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d messages against %d", len(a), len(b))
	}
	return ""
}

// firstDifference quotes two texts from shortly before where they part.
func firstDifference(a, b string) string {
	const before, shown = 30, 100
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	window := func(s string) string {
		return fmt.Sprintf("%q", s[max(0, min(at-before, len(s))):min(len(s), at+shown)])
	}
	return fmt.Sprintf("at byte %d: %s against %s", at, window(a), window(b))
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("(%v)", err)
	}
	return string(raw)
}
