package main

import (
	"fmt"
	"strconv"
	"strings"
)

// style is how characters look: a colour of the theme ("" for the usual one) and flags.
type style struct {
	color                           string
	bold, faint, italic, underlined bool
}

// span is a piece of a line in one style.
type span struct {
	text string
	style
}

// ansiColors are the theme's eight colours, in the terminal's order.
var ansiColors = [8]string{"#6e7681", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#e6edf3"}

// parse gives the lines of a captured terminal. A style goes on over line ends, as tmux
// writes it; what is no colour or weight is left out.
func parse(text string) [][]span {
	var lines [][]span
	var s style
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		var spans []span
		for line != "" {
			text, rest, found := strings.Cut(line, "\x1b[")
			if text != "" {
				spans = append(spans, span{text, s})
			}
			line = rest
			if !found {
				break
			}
			end := strings.IndexFunc(line, func(r rune) bool { return r >= '@' && r <= '~' })
			if end < 0 {
				break
			}
			if line[end] == 'm' {
				s = s.with(line[:end])
			}
			line = line[end+1:]
		}
		lines = append(lines, spans)
	}
	return lines
}

// with applies the numbers of a "select graphic rendition".
func (s style) with(numbers string) style {
	for field := range strings.SplitSeq(numbers, ";") {
		n, _ := strconv.Atoi(field)
		switch {
		case n == 0:
			s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.faint = true
		case n == 3:
			s.italic = true
		case n == 4:
			s.underlined = true
		case n == 22:
			s.bold, s.faint = false, false
		case n == 23:
			s.italic = false
		case n == 24:
			s.underlined = false
		case n >= 30 && n < 38:
			s.color = ansiColors[n-30]
		case n == 39:
			s.color = ""
		case n >= 90 && n < 98:
			s.color = ansiColors[n-90]
		}
	}
	return s
}

// attributes give the style as attributes of an SVG element.
func (s style) attributes() string {
	var b strings.Builder
	if s.color != "" {
		fmt.Fprintf(&b, ` fill="%s"`, s.color)
	}
	for _, a := range []struct {
		set  bool
		text string
	}{
		{s.bold, ` font-weight="bold"`}, {s.faint, ` opacity=".65"`},
		{s.italic, ` font-style="italic"`}, {s.underlined, ` text-decoration="underline"`},
	} {
		if a.set {
			b.WriteString(a.text)
		}
	}
	return b.String()
}
