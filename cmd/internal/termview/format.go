package termview

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
)

// Duration writes a time as a clock does: "0:07", "1:42", "1:00:05".
func Duration(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Age writes how long ago something was: "12s", "5m", "3h", "6d".
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(max(d, 0)/time.Second)) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d"
}

// Count writes a number of tokens: "812", "3.4k", "38k", "1.2M".
func Count(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 9950:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// Money writes a cost: "$0.021", "unknown" for nil.
func Money(usd *float64) string {
	switch {
	case usd == nil:
		return "unknown"
	case *usd == 0:
		return "$0"
	case *usd < 0.0005:
		return "<$0.001"
	case *usd < 10:
		return fmt.Sprintf("$%.3f", *usd)
	}
	return fmt.Sprintf("$%.2f", *usd)
}

// ShortID is enough of a run's id to name it among those of a store. The front of
// an id is its start in milliseconds; runs that start together differ behind it.
func ShortID(id events.RunID) string {
	return string(id[:min(len(id), shortIDLength)])
}

// shortIDLength reaches into the random part of a UUID version 7: "0190f3a2-7c1e-7abc".
const shortIDLength = 18

// Plural counts nouns: "1 row", "2 rows".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func taskList(ids []events.TaskID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = strconv.Itoa(int(id))
	}
	if len(ids) == 1 {
		return "task " + names[0]
	}
	return "tasks " + strings.Join(names, ", ")
}
