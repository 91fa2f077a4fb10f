package termview

import (
	"fmt"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

const (
	// minWidth is where a picture stops getting narrower.
	minWidth = 24
	// maxWidth keeps lines readable on very wide terminals.
	maxWidth = 120
	// documentHeight is the height from which on the document has a place.
	documentHeight = 12
)

// Render draws a frame, line by line, without line ends. Where the terminal is low
// the document goes first, then lines of the plan, then agents at work.
func Render(f Frame, theme Theme) []string {
	width := min(max(f.Width-1, minWidth), maxWidth)
	if f.Run == nil {
		return []string{cut(theme.quiet("starting …"), width)}
	}
	lines := header(f, theme, width)
	notice := noticeLines(f, theme, width)
	room := f.Height - 1 - len(lines) - len(notice)
	if len(f.Open) > 0 {
		return append(append(openLines(f, width, room), lines...), notice...)
	}
	var document []string
	if f.Height >= documentHeight {
		document = documentLines(f.Run, theme, width)
	}
	now := nowLines(f, theme, width, max(room/2, 2))
	lines = append(lines, planLines(f.Run, theme, width, room-len(document)-len(now))...)
	lines = append(append(lines, document...), now...)
	lines = lines[:min(len(lines), max(f.Height-1-len(notice), 1))]
	return append(lines, notice...)
}

// openLines are the end of what is being written, in at most room lines.
func openLines(f Frame, width, room int) []string {
	var lines []string
	for _, line := range f.Open {
		lines = append(lines, cut(line, width))
	}
	return append(lines[max(0, len(lines)-max(room-1, 0)):], "")
}

// header answers whether it goes well: request, status, time, progress, cost.
func header(f Frame, theme Theme, width int) []string {
	parts := []string{theme.status(f.Run.Status) + " " + theme.strong(Duration(f.Run.DrivenUntil(f.Now)))}
	if f.Run.Tasks > 0 {
		parts = append(parts, fmt.Sprintf("%d/%d tasks", f.Run.FinishedTasks, f.Run.Tasks))
	}
	parts = append(parts, fmt.Sprintf("%9s", tokens(f.Run.Usage)), fmt.Sprintf("%7s", Money(f.Run.CostUSD)))
	if f.Run.Simulated {
		parts = append(parts, theme.notice("SIMULATED"))
	}
	most := 1
	if f.Height >= documentHeight {
		most = requestLines
	}
	var lines []string
	for _, line := range few(Line(f.Run.Request), width, most) {
		lines = append(lines, theme.strong(line))
	}
	return append(lines, flow(parts, "   ", width)...)
}

// requestLines is in how many lines a request is shown where there is little room beside it:
// on a narrow terminal one has little more than how all requests begin.
const requestLines = 2

// few sets a clean line into at most that many, the last of which is cut.
func few(line string, width, most int) []string {
	lines := wrap(line, width)
	if len(lines) > most {
		lines = append(lines[:most-1:most-1], strings.Join(lines[most-1:], " "))
	}
	for i := range lines {
		lines[i] = cut(lines[i], width)
	}
	return lines
}

// Request gives all that is kept of a request, in lines.
func Request(run *thread.Run, width int) []string {
	return wrap(Line(run.Request), min(max(width-1, minWidth), maxWidth))
}

// flow sets parts into lines, as many in each as fit. Lines behind the first are
// indented.
func flow(parts []string, gap string, width int) []string {
	var lines []string
	line := ""
	for _, part := range parts {
		switch joined := line + gap + part; {
		case line == "":
			line = part
		case cells(joined) <= width:
			line = joined
		default:
			lines, line = append(lines, cut(line, width)), "  "+part
		}
	}
	return append(lines, cut(line, width))
}

func tokens(u events.Usage) string {
	about := ""
	if u.Estimated {
		about = "~"
	}
	return about + Count(u.Total()) + " tok"
}

// documentLines tell what is there already: how much each section holds.
func documentLines(run *thread.Run, theme Theme, width int) []string {
	if run.Document.Version() == 0 {
		return nil
	}
	var sections []string
	counts := map[string]int{}
	for _, place := range run.Document.Places() {
		if counts[place.Section] == 0 {
			sections = append(sections, place.Section)
		}
		counts[place.Section] += len(run.Document.Entries(place))
	}
	parts := make([]string, len(sections))
	for i, section := range sections {
		parts[i] = Line(run.Document.Layout().SectionTitle(section)) + theme.quiet(fmt.Sprintf(" (%d)", counts[section]))
	}
	title := theme.quiet(fmt.Sprintf("DOCUMENT v%d", run.Document.Version()))
	return []string{title, cut("  "+strings.Join(parts, theme.quiet(" · ")), width)}
}

// nowLines tell what is done right now, by whom and for how long, in at most room
// lines.
func nowLines(f Frame, theme Theme, width, room int) []string {
	if len(f.Active) == 0 {
		return nil
	}
	names := 0
	for _, a := range f.Active {
		names = max(names, cells(Line(a.Name)))
	}
	names = min(names, width/3)
	lines := []string{theme.quiet("NOW")}
	for i, a := range f.Active {
		if left := len(f.Active) - i; left > 1 && len(lines) == room-1 {
			return append(lines, theme.quiet(fmt.Sprintf("  … and %d more at work", left)))
		}
		lines = append(lines, nowLine(f, a, theme, names, width))
	}
	return lines
}

// doingWidth holds the longest words of [Doing].
const doingWidth = len(DoingTeam)

// besideDoing is what a line has beside a name and what that agent does: spaces, and for how
// long.
const besideDoing = 10

func nowLine(f Frame, a Activity, theme Theme, names, width int) string {
	doing := pad(string(a.Doing), min(doingWidth, width-names-besideDoing))
	switch a.Doing {
	case DoingRetrying:
		doing = theme.notice(retryWords(a.RetryAt.Sub(f.Now), a.Reason))
		return cut("  "+pad(Line(a.Name), names)+"  "+doing, width)
	case DoingAway:
		return cut("  "+pad(Line(a.Name), names)+"  "+theme.notice(awayWords(f.Now, a)), width)
	case DoingWriting, DoingThinking:
		doing = theme.active(doing)
	}
	line := fmt.Sprintf("  %s  %s %s", pad(Line(a.Name), names), doing, theme.quiet(fmt.Sprintf("%5s", Duration(f.Now.Sub(a.Since)))))
	if a.Slow {
		return cut(line+"  "+theme.notice("taking longer than expected"), width)
	}
	if text := writes(a); text != "" && width-cells(line) >= minTail {
		line += "  " + theme.quiet("“"+tail(text, width-cells(line)-4)+"”")
	}
	return cut(line, width)
}

// minTail is the room from which on the text that an agent writes is worth showing.
const minTail = 16

// writes is the text that an agent is writing now, or what its tool says.
func writes(a Activity) string {
	switch {
	case a.Doing == DoingTools:
		return a.Text
	case a.Doing != DoingWriting:
		return ""
	case a.InCall:
		return spoken(a.Text)
	}
	return a.Text
}

func retryWords(wait time.Duration, reason string) string {
	// Rounded up, so that it counts down to 0:01 and not to a long 0:00.
	words := "retry in " + Duration(wait+time.Second-1)
	if reason != "" {
		words += " (" + Clip(reason, narratedCells) + ")"
	}
	return words
}

// awayWords tell how long an endpoint has been away, and what comes next.
func awayWords(now time.Time, a Activity) string {
	words := fmt.Sprintf("%s for %s, %s", a.Doing, Duration(now.Sub(a.Since)), retryWords(max(0, a.RetryAt.Sub(now)), ""))
	if !a.GiveUpAt.IsZero() {
		words += ", gives up in " + Duration(max(0, a.GiveUpAt.Sub(now)))
	}
	return words
}

func noticeLines(f Frame, theme Theme, width int) []string {
	if f.Notice == "" && f.Run != nil && f.Run.Outage != nil {
		return []string{theme.notice(cut("waiting for "+Line(f.Run.Outage.Message), width))}
	}
	if f.Notice == "" {
		return nil
	}
	return []string{theme.notice(cut(f.Notice, width))}
}
