package termview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
)

// RunTable lists runs in columns, in the order in which they come. Where there is
// little room the columns of least use go first.
func RunTable(runs []events.RunSummary, now time.Time, theme Theme, width int) []string {
	rows := [][]string{{"RUN", "STATUS", "TEAM", "AGE", "TIME", "TASKS", "TOKENS", "COST", "REQUEST"}}
	for _, run := range runs {
		cost := Money(run.CostUSD)
		if run.Simulated {
			cost = "simulated"
		}
		rows = append(rows, []string{
			ShortID(run.Run), string(run.Status), Clip(run.Team, teamCells), Age(now.Sub(run.Start)),
			Duration(run.Elapsed()), fmt.Sprintf("%d/%d", run.FinishedTasks, run.Tasks),
			Count(run.Usage.Total()), cost, Line(run.Request),
		})
	}
	for _, column := range []string{"TIME", "TOKENS", "TEAM", "TASKS"} {
		if fixedWidth(rows)+minRequest <= width {
			break
		}
		rows = without(rows, column)
	}
	lines := Columns(rows, width)
	lines[0] = theme.quiet(lines[0])
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
