package termview

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
)

// RunTable lists runs in columns, in the order in which they come. Where there is
// little room the columns of least use go first.
func RunTable(runs []events.RunSummary, now time.Time, theme Theme, width int) []string {
	rows := [][]string{{"RUN", "ROW", "STATUS", "TEAM", "AGE", "TIME", "TASKS", "TOKENS", "COST", "REQUEST"}}
	ofBatch := false
	for _, run := range runs {
		cost, row := Money(run.CostUSD), ""
		if run.Simulated {
			cost = "simulated"
		}
		if run.Batch != nil {
			row, ofBatch = cut(rowName(run.Batch.Row, run.Batch.Line), teamCells), true
		}
		rows = append(rows, []string{
			ShortID(run.Run), row, StatusWord(run.Status), Clip(run.Team, teamCells), Age(now.Sub(run.Start)),
			Duration(run.Elapsed()), fmt.Sprintf("%d/%d", run.FinishedTasks, run.Tasks),
			Count(run.Usage.Total()), cost, Line(run.Request),
		})
	}
	if !ofBatch {
		rows = without(rows, "ROW")
	}
	return table(rows, []string{"TIME", "TOKENS", "TEAM", "TASKS", "COST", "AGE"}, minRequest, theme, width)
}

// BatchTable lists batches as [RunTable] does runs.
func BatchTable(batches []events.BatchSummary, now time.Time, theme Theme, width int) []string {
	rows := [][]string{{"BATCH", "STATUS", "TEAM", "AGE", "ROWS", "FAILED", "DEGRADED", "COST", "FILES"}}
	for i := range batches {
		b := &batches[i]
		cost, done := Money(b.CostUSD), strconv.Itoa(b.Done)
		if b.Simulated {
			cost = "simulated"
		}
		if b.Rows > 0 {
			done += "/" + strconv.Itoa(b.Rows)
		}
		rows = append(rows, []string{
			ShortID(events.RunID(b.Batch)), StatusWord(b.Status), Clip(b.Team, teamCells), Age(now.Sub(b.Start)),
			done, strconv.Itoa(b.Failed), strconv.Itoa(b.Degraded), cost, files(b.Input, b.Output),
		})
	}
	return table(rows, []string{"TEAM", "DEGRADED", "COST", "FAILED", "AGE"}, minRequest, theme, width)
}

// files tells where rows come from and go to.
func files(input, output string) string {
	if output == "" {
		return Line(input)
	}
	return Line(input) + " → " + Line(output)
}

// table sets rows under their headings. While the last column has less room than least, the
// columns that can be spared go, one after the other.
func table(rows [][]string, spared []string, least int, theme Theme, width int) []string {
	for _, column := range spared {
		if fixedWidth(rows)+least <= width {
			break
		}
		rows = without(rows, column)
	}
	if fixedWidth(rows)+least > width {
		return stacked(rows, theme, width)
	}
	lines := Columns(rows, width)
	lines[0] = theme.quiet(lines[0])
	return lines
}

// stacked gives each row's last column lines of its own, below the others.
func stacked(rows [][]string, theme Theme, width int) []string {
	last := len(rows[0]) - 1
	firsts := make([][]string, len(rows))
	for i, row := range rows {
		firsts[i] = row[:last]
	}
	var lines []string
	for i, line := range Columns(firsts, width) {
		if i == 0 {
			lines = append(lines, theme.quiet(line))
			continue
		}
		lines = append(lines, line)
		for _, part := range few(rows[i][last], width-2, requestLines) {
			lines = append(lines, "  "+part)
		}
	}
	return lines
}

const (
	// teamCells bounds the name of a team in a list.
	teamCells = 16
	// minRequest is the room in which a request is still recognised.
	minRequest = 30
	columnGap  = "  "
)

// fixedWidth is what all columns but the last take.
func fixedWidth(rows [][]string) int {
	sum := 0
	for i := range rows[0][:len(rows[0])-1] {
		sum += columnWidth(rows, i) + len(columnGap)
	}
	return sum
}

func columnWidth(rows [][]string, column int) int {
	widest := 0
	for _, row := range rows {
		widest = max(widest, cells(row[column]))
	}
	return widest
}

// without drops the column with that heading.
func without(rows [][]string, heading string) [][]string {
	at := slices.Index(rows[0], heading)
	fewer := make([][]string, len(rows))
	for i, row := range rows {
		fewer[i] = slices.Delete(slices.Clone(row), at, at+1)
	}
	return fewer
}

// Columns sets rows into columns as wide as their widest cell; the last one takes
// what is left of width.
func Columns(rows [][]string, width int) []string {
	last := len(rows[0]) - 1
	widths := make([]int, last)
	for i := range widths {
		widths[i] = columnWidth(rows, i)
	}
	lines := make([]string, len(rows))
	for r, row := range rows {
		var line strings.Builder
		for i, w := range widths {
			line.WriteString(pad(row[i], w) + columnGap)
		}
		line.WriteString(row[last])
		lines[r] = strings.TrimRight(cut(line.String(), width), " ")
	}
	return lines
}
