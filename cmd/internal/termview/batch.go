package termview

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// BatchLines tells where a batch stands, for a log.
func BatchLines(p batch.Progress) []string {
	lines := []string{"batch: " + batchCounts(p) + " · " + batchPace(p)}
	for _, words := range limiterLines(p.Limiters) {
		lines[0] += " · " + words
	}
	lines = append(lines, outageLines(p)...)
	for _, row := range p.Slowest {
		lines = append(lines, "  "+rowWords(row))
	}
	return lines
}

// outageLines tell which endpoints are waited for.
func outageLines(p batch.Progress) []string {
	var lines []string
	for _, o := range p.Outages {
		lines = append(lines, fmt.Sprintf("%s away for %s: %s; waiting: %s", signNotice, Duration(milliseconds(o.AwayMS)), Line(o.Message), Plural(o.Rows, "row")))
	}
	if p.Held > 0 {
		lines = append(lines, fmt.Sprintf("%s held until their endpoint is back: %s", signNotice, Plural(p.Held, "row")))
	}
	return lines
}

// BatchPicture draws where a batch stands, in lines below width.
func BatchPicture(p batch.Progress, notice string, theme Theme, width int) []string {
	lines := []string{batchBar(p, theme, width), batchCounts(p), batchPace(p)}
	for _, words := range limiterLines(p.Limiters) {
		lines = append(lines, theme.quiet(words))
	}
	for _, line := range outageLines(p) {
		lines = append(lines, theme.notice(line))
	}
	for _, row := range p.Slowest {
		lines = append(lines, theme.quiet("  "+rowWords(row)))
	}
	if notice == "" && p.Stop != nil {
		notice = "no more rows are started: " + Line(p.Stop.Message)
	}
	if notice != "" {
		lines = append(lines, theme.notice(signNotice+" "+notice))
	}
	for i := range lines {
		lines[i] = Clip(lines[i], width-1)
	}
	return lines
}

func batchBar(p batch.Progress, theme Theme, width int) string {
	const beside, most = 12, 60 // cells for the percentage; a bar longer than that says no more
	share := 0.0
	if p.Total > 0 {
		share = float64(p.Done) / float64(p.Total)
	}
	length := max(min(width-beside, most), 1)
	full := min(int(share*float64(length)), length)
	return theme.good(strings.Repeat("█", full)) + theme.quiet(strings.Repeat("░", length-full)) + fmt.Sprintf(" %5.1f%%", 100*share)
}

func batchCounts(p batch.Progress) string {
	text := fmt.Sprintf("%d of %d done · %d failed", p.Done, p.Total, p.Failed)
	if p.Degraded > 0 {
		text += fmt.Sprintf(" · %d degraded", p.Degraded)
	}
	return text + fmt.Sprintf(" · %d running", p.Running)
}

func batchPace(p batch.Progress) string {
	text := rate(p.RowsPerSecond)
	if p.LeftMS > 0 {
		text += " · " + Duration(milliseconds(p.LeftMS)) + " left"
	}
	text += " · " + Count(p.Tokens) + " tokens"
	if p.CostUSD != nil && *p.CostUSD > 0 {
		text += " · " + Money(p.CostUSD)
	}
	if p.ProjectedUSD > 0 {
		text += " of " + Money(&p.ProjectedUSD) + " projected"
	}
	return text
}

// rate writes rows by the second, or by the minute where they are few.
func rate(perSecond float64) string {
	if perSecond > 0 && perSecond < 1 {
		return fmt.Sprintf("%.1f rows/min", perSecond*60)
	}
	return fmt.Sprintf("%.1f rows/s", perSecond)
}

// limiterLines tells what goes on at each endpoint, by name where there are several.
func limiterLines(limiters []events.BatchLimiter) (lines []string) {
	for _, l := range limiters {
		words := limiterWords(l)
		if len(limiters) > 1 {
			words = Line(l.Endpoint) + ": " + words
		}
		lines = append(lines, words)
	}
	return lines
}

func limiterWords(l events.BatchLimiter) string {
	atMost := ""
	if l.Limit < llm.DefaultMaxInFlight {
		atMost = fmt.Sprintf(" (at most %d)", l.Limit)
	}
	text := fmt.Sprintf("%s in flight%s, %d waiting", Plural(l.InFlight, "call"), atMost, l.Waiting)
	if l.RequestsPerMinute > 0 {
		text += fmt.Sprintf(", %d requests/min", l.RequestsPerMinute)
	}
	if l.TokensPerMinute > 0 {
		text += fmt.Sprintf(", %s tokens/min", Count(int64(l.TokensPerMinute)))
	}
	if l.HeldBackMS > 0 {
		text += ", held back for " + Duration(milliseconds(l.HeldBackMS))
	}
	return text
}

func rowWords(row events.BatchRowUnderWay) string {
	return fmt.Sprintf("%s %s: %s", rowName(row.Row, row.Line), Duration(milliseconds(row.ElapsedMS)), Line(row.Doing))
}

// rowName is what people call a row: its id, or the line where one without begins.
func rowName(id string, line int) string {
	if line > 0 {
		return "line " + strconv.Itoa(line)
	}
	return Line(id)
}

func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// BatchReport tells what a batch came to, on a screen in lines of that width.
func BatchReport(r batch.Report, theme Theme, width int) []string {
	lines := reportLines(r, theme)
	if !theme.Screen {
		return lines
	}
	var set []string
	for _, line := range lines {
		set = append(set, wrapIndented(line, width)...)
	}
	return set
}

func reportLines(r batch.Report, theme Theme) []string {
	head := fmt.Sprintf("%s: %d completed, %d degraded, %d failed", Plural(r.Rows, "row"), r.Completed, r.Degraded, r.Failed)
	switch {
	case r.Left > 0:
		head = theme.notice(signNotice + " " + head + fmt.Sprintf(", %d left (%d under way)", r.Left, r.Suspended))
	case r.Failed > 0:
		head = theme.failed(signFailed + " " + head)
	case r.Degraded > 0:
		head = theme.notice(signNotice + " " + head)
	default:
		head = theme.good(signDone + " " + head)
	}
	if r.Simulated {
		head += " · SIMULATED"
	}
	lines := []string{head}
	if r.Stop != nil && r.Left != 0 {
		lines = append(lines, "  stopped: "+Line(r.Stop.Message))
	}
	lines = append(lines, fmt.Sprintf("  %s calls · %s tokens in (%s uncached), %s out · cost %s · %s",
		Count(int64(r.ModelCalls)), Count(r.Usage.InputTokens), percent(r.Usage.UncachedShare()), Count(r.Usage.OutputTokens),
		Money(r.CostUSD), Duration(r.Elapsed)))
	for _, cause := range r.Causes {
		lines = append(lines, causeLine(cause))
	}
	if r.Rows > 1 {
		lines = append(lines, figures("slowest", r.Slowest, func(f batch.RowFigure) string { return fmt.Sprintf("%.1fs", float64(f.DurationMS)/1000) })...)
		lines = append(lines, figures("most expensive", r.MostExpensive, func(f batch.RowFigure) string { return Money(&f.CostUSD) })...)
	}
	return lines
}

// causeLine tells of one kind of failure, by the first row that it happened to.
func causeLine(cause batch.Cause) string {
	example := "such as "
	switch {
	case cause.Count > 1:
	case cause.Line > 0:
		example = ""
	default:
		example = "row "
	}
	name := rowName(cause.ID, cause.Line)
	return fmt.Sprintf("  %d %s: %s, %s%s: %s", cause.Count, cause.Status, Line(events.Flag(events.Limit(cause.Kind))), example, name,
		Clip(strings.TrimPrefix(Line(cause.Message), name+": "), causeWidth)) // of a row that cannot be read the message has the line, too
}

// causeWidth is how much of a failure's message the report shows; the output has it
// whole.
const causeWidth = 160

func figures(title string, rows []batch.RowFigure, value func(batch.RowFigure) string) []string {
	if len(rows) == 0 {
		return nil
	}
	words := make([]string, len(rows))
	for i, f := range rows {
		words[i] = rowName(f.ID, f.Line) + " " + value(f)
	}
	return []string{"  " + title + ": " + strings.Join(words, ", ")}
}
