package web

import (
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
)

// Numbers, times and statuses in the words of the page's web/src/format.ts.

// statusWord is how a status is shown.
type statusWord struct{ Sign, Word, Tone string }

var statusWords = map[events.Status]statusWord{
	events.StatusQueued:        {"○", "queued", "quiet"},
	events.StatusRunning:       {"◐", "running", "active"},
	events.StatusSuspended:     {"‖", "suspended", "person"},
	events.StatusAwaitingInput: {"?", "awaiting input", "person"},
	events.StatusCompleted:     {"✓", "completed", "quiet"},
	events.StatusDegraded:      {"!", "degraded", "person"},
	events.StatusFailed:        {"✗", "failed", "failure"},
	events.StatusCancelled:     {"–", "cancelled", "quiet"},
}

// roleWords say what a role is for, as web/src/who.tsx does.
var roleWords = map[string]string{
	access.RoleAdmin:    "administers the tenant",
	access.RoleOperator: "looks after everybody's threads",
	access.RoleUser:     "works in threads of one's own",
	access.RoleViewer:   "sees all threads",
	access.RoleAuditor:  "sees all threads, and who did what",
	access.RoleMonitor:  "reads the figures of the server",
}

// wordOf is that of a run or a batch; lost says that nobody drives it any more.
func wordOf(status events.Status, lost bool, damaged *events.Damage) statusWord {
	if damaged != nil {
		return statusWord{"✗", "damaged", "failure"}
	}
	if status == events.StatusRunning && lost {
		return statusWord{"‖", "interrupted", "person"}
	}
	if word, known := statusWords[status]; known {
		return word
	}
	return statusWord{"·", string(status), "quiet"}
}

// lostRequest stands for the request of a run of which the first event cannot be read.
const lostRequest = "Its request cannot be read"

// damageWords say what cannot be read of a run or a batch, and what to do about it.
func damageWords(d *events.Damage) string {
	first := strconv.FormatInt(int64(d.Seq), 10)
	switch {
	case d.Seq == 0:
		return "It cannot be read: " + d.Problem + "; convene store check tells more."
	case d.Through > d.Seq:
		return "Events " + first + " to " + strconv.FormatInt(int64(d.Through), 10) + " of its log are damaged: " + d.Problem +
			". What is shown is as of the one before them; convene store check tells more."
	}
	return "Event " + first + " of its log is damaged: " + d.Problem +
		". What is shown is as of the one before; convene store check tells more."
}

// clockWords is a stretch of time as a clock shows it.
func clockWords(d time.Duration) string {
	seconds := max(0, int64(d/time.Second))
	two := func(n int64) string { return strconv.FormatInt(n/10, 10) + strconv.FormatInt(n%10, 10) }
	switch hours := seconds / 3600; {
	case hours == 0:
		return strconv.FormatInt(seconds/60, 10) + ":" + two(seconds%60)
	case hours < 48:
		return strconv.FormatInt(hours, 10) + ":" + two(seconds/60%60) + ":" + two(seconds%60)
	default:
		return strconv.FormatInt(hours/24, 10) + " days"
	}
}

// fixed rounds as JavaScript's toFixed does: what lies in the middle is rounded up.
func fixed(x float64, digits int) string {
	exact := strings.TrimRight(strconv.FormatFloat(x, 'f', 60, 64), "0")
	if point := strings.IndexByte(exact, '.'); len(exact)-point-1 == digits+1 && exact[len(exact)-1] == '5' {
		x = math.Nextafter(x, math.Inf(1))
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}

func tokenWords(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10) + " tok"
	case n < 9950:
		return fixed(float64(n)/1000, 1) + "k tok"
	case n < 999_500:
		return fixed(float64(n)/1000, 0) + "k tok"
	default:
		return fixed(float64(n)/1_000_000, 1) + "M tok"
	}
}

func moneyWords(usd *float64) string {
	switch {
	case usd == nil:
		return "cost unknown"
	case *usd == 0:
		return "$0"
	case *usd < 0.0001:
		return "< $0.0001"
	case *usd < 0.01:
		return "$" + fixed(*usd, 4)
	case *usd < 1:
		return "$" + fixed(*usd, 3)
	default:
		return "$" + fixed(*usd, 2)
	}
}

// agoWords is how long ago something was, in the largest unit that fits.
func agoWords(d time.Duration) string {
	round := func(unit time.Duration) int { return int(math.Floor(float64(d)/float64(unit) + 0.5)) }
	minutes := round(time.Minute)
	hours := int(math.Floor(float64(minutes)/60 + 0.5))
	days := int(math.Floor(float64(hours)/24 + 0.5))
	switch {
	case minutes < 1:
		return "just now"
	case minutes == 1:
		return "a minute ago"
	case minutes < 60:
		return strconv.Itoa(minutes) + " minutes ago"
	case hours == 1:
		return "an hour ago"
	case hours < 24:
		return strconv.Itoa(hours) + " hours ago"
	case days == 1:
		return "yesterday"
	default:
		return strconv.Itoa(days) + " days ago"
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// countWords is a whole number, its thousands parted.
func countWords(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// oneLine is a text on one line, cut behind that many characters.
func oneLine(text string, most int) string {
	if end := most * 2 * utf8.UTFMax; len(text) > end {
		text = strings.ToValidUTF8(text[:end], "")
	}
	characters := []rune(text)
	flat := []rune(strings.Join(strings.Fields(string(characters[:min(len(characters), most*2)])), " "))
	if len(flat) > most {
		return string(flat[:most-1]) + "…"
	}
	return string(flat)
}

// pageLink is the address of the page that shows one of them: a run, a thread, a batch.
func pageLink(list, id string) string {
	return "/" + list + "/" + url.PathEscape(id)
}
