// Package compare says in words where requests to models differ.
package compare

import (
	"encoding/json"
	"fmt"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// Prefix says where later stops to continue earlier, "" if it does not.
func Prefix(earlier, later llm.Request) string {
	if a, b := JSON(earlier.Tools), JSON(later.Tools); a != b {
		return "the tools differ: " + FirstDifference(a, b)
	}
	if len(later.Messages) < len(earlier.Messages) {
		return fmt.Sprintf("it has %d messages after %d", len(later.Messages), len(earlier.Messages))
	}
	return Messages(earlier.Messages, later.Messages[:len(earlier.Messages)])
}

// Messages describes the first difference of two histories, "" if there is none.
func Messages(a, b []events.Message) string {
	for i := range min(len(a), len(b)) {
		if x, y := JSON(a[i]), JSON(b[i]); x != y {
			return fmt.Sprintf("messages[%d] differs: %s", i, FirstDifference(x, y))
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d messages against %d", len(a), len(b))
	}
	return ""
}

// FirstDifference quotes two texts from shortly before where they part.
func FirstDifference(a, b string) string {
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

// JSON gives a value as JSON, or what keeps it from being written so.
func JSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("(%v)", err)
	}
	return string(raw)
}
