package events

import (
	"strings"

	"github.com/convene-run/convene/internal/lazyregexp"
)

// traceparent is what W3C Trace Context has of version 00, the ids of zeros aside.
var traceparent = lazyregexp.New(`^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$`)

// Traceparent gives the text if it is a valid traceparent of
// https://www.w3.org/TR/trace-context/ (version 00), otherwise "": one that is not is as good
// as none.
func Traceparent(text string) string {
	ids := traceparent.FindStringSubmatch(text)
	if ids == nil || strings.Trim(ids[1], "0") == "" || strings.Trim(ids[2], "0") == "" {
		return ""
	}
	return text
}
