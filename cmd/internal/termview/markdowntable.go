package termview

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	tables "github.com/yuin/goldmark/extension/ast"
)

// narrowestColumn is how narrow columns of a table get; a table of more of them than the
// terminal has room for goes over its edge.
const narrowestColumn = 5

// table sets a table, whose columns get narrower, the widest first, until it fits.
func (m markdown) table(t *tables.Table, width int) (lines []string) {
	var rows [][]string
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		style := ansi.NewStyle()
		if _, head := row.(*tables.TableHeader); head {
			style = style.Bold()
		}
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, m.inline(cell, style))
		}
		rows = append(rows, cells)
	}
	widths := columnWidths(rows, len(t.Alignments), width)
	for i, row := range rows {
		lines = append(lines, tableRow(row, widths, t.Alignments)...)
		if i == 0 {
			lines = append(lines, rule(widths))
		}
	}
	return lines
}

func columnWidths(rows [][]string, columns, width int) []int {
	natural := make([]int, columns)
	for _, row := range rows {
		for i, cell := range row[:min(len(row), columns)] {
			natural[i] = max(natural[i], ansi.StringWidth(cell))
		}
	}
	room := width - 3*(columns-1)
	most := max(room, narrowestColumn)
	for ; most > narrowestColumn && sumUpTo(natural, most) > room; most-- {
	}
	for i := range natural {
		natural[i] = min(natural[i], most)
	}
	return natural
}

// sumUpTo adds widths of which none counts for more than most.
func sumUpTo(widths []int, most int) (sum int) {
	for _, w := range widths {
		sum += min(w, most)
	}
	return sum
}

func tableRow(row []string, widths []int, alignments []tables.Alignment) []string {
	cells, height := make([][]string, len(widths)), 1
	for i := range min(len(row), len(widths)) {
		cells[i] = wrapped(row[i], max(widths[i], 1))
		height = max(height, len(cells[i]))
	}
	lines := make([]string, height)
	for at := range lines {
		parts := make([]string, len(widths))
		for i, cell := range cells {
			part := ""
			if at < len(cell) {
				part = cell[at]
			}
			parts[i] = aligned(part, widths[i], alignments[i])
		}
		lines[at] = strings.Join(parts, " │ ")
	}
	return lines
}

func aligned(s string, width int, how tables.Alignment) string {
	room := max(width-ansi.StringWidth(s), 0)
	before := 0
	switch how {
	case tables.AlignRight:
		before = room
	case tables.AlignCenter:
		before = room / 2
	}
	return strings.Repeat(" ", before) + s + strings.Repeat(" ", room-before)
}

func rule(widths []int) string {
	parts := make([]string, len(widths))
	for i, w := range widths {
		parts[i] = strings.Repeat("─", w)
	}
	return strings.Join(parts, "─┼─")
}
