package termview

import (
	"strings"

	"github.com/convene-run/convene/internal/lazyregexp"
)

// described is a line of a list: a name, and behind some space what it is.
var described = lazyregexp.New(`^ +\S.*? {2,}(\S)`)

// HelpText sets the help of a command, or what went wrong with it, for a screen of that width:
// paragraphs anew, and lines of lists below their descriptions. What fits is left as it is.
func HelpText(text string, width int) string {
	var lines, paragraph []string
	set := func() {
		lines = append(lines, setParagraph(paragraph, width)...)
		paragraph = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			continue
		}
		set()
		lines = append(lines, setListed(line, width)...)
	}
	set()
	return strings.Join(lines, "\n")
}

func setParagraph(lines []string, width int) []string {
	for _, line := range lines {
		if cells(line) > width {
			return wrap(strings.Join(lines, " "), width)
		}
	}
	return lines
}

func setListed(line string, width int) []string {
	if cells(line) <= width {
		return []string{line}
	}
	indent := cells(line) - cells(strings.TrimLeft(line, " ")) + 2
	at := described.FindStringSubmatchIndex(line)
	if at == nil || at[2] > width-minWidth { // little room beside the name
		parts := wrap(strings.TrimLeft(line, " "), width-indent)
		return hang(strings.Repeat(" ", indent-2), parts, indent)
	}
	return hang(line[:at[2]], wrap(line[at[2]:], width-at[2]), at[2])
}

// hang sets parts below each other, the first behind its beginning.
func hang(begin string, parts []string, indent int) []string {
	lines := []string{begin + parts[0]}
	for _, part := range parts[1:] {
		lines = append(lines, strings.Repeat(" ", indent)+part)
	}
	return lines
}
