package termview

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Stream sets Markdown of others for a terminal while it is being written. Blocks that
// are complete are settled and can be printed for good; the one that is being written may
// still change its looks. It is not safe for concurrent use.
//
//	stream.Write(piece)
//	fmt.Println(stream.Settled()) // each line once
//	picture := stream.Open()      // drawn over and over
type Stream struct {
	theme  Theme
	width  int
	source strings.Builder
	// lines are the source as it is set now; the first of them are settled, and given of
	// those were given out.
	lines          []string
	settled, given int
	stale          bool
}

// NewStream sets text for a terminal of that width.
func NewStream(theme Theme, width int) *Stream { return &Stream{theme: theme, width: width} }

// Write adds what was written since.
func (s *Stream) Write(piece string) {
	s.source.WriteString(piece)
	s.stale = s.stale || piece != ""
}

// Text is all that was written.
func (s *Stream) Text() string { return s.source.String() }

// Settled gives the lines that are complete since the last call.
func (s *Stream) Settled() []string {
	s.set()
	return s.give(s.settled)
}

// Open gives the lines that are not complete.
func (s *Stream) Open() []string {
	s.set()
	return s.lines[min(s.given, len(s.lines)):]
}

// End gives all lines that were not given out: nothing more is written.
func (s *Stream) End() []string {
	s.set()
	return s.give(len(s.lines))
}

func (s *Stream) give(to int) []string {
	from := min(s.given, to)
	s.given = max(s.given, to)
	return s.lines[from:to:to]
}

func (s *Stream) set() {
	if !s.stale {
		return
	}
	s.stale = false
	s.lines, s.settled = renderBlocks(strings.TrimRight(Text(s.source.String()), "\n"), s.width)
	if s.theme.Color {
		return
	}
	for i, line := range s.lines {
		s.lines[i] = ansi.Strip(line)
	}
}

// renderBlocks sets Markdown, and tells how many of the lines are of blocks that what is
// appended leaves alone: of all but the last.
func renderBlocks(source string, width int) (lines []string, settled int) {
	m := markdown{[]byte(source)}
	parser := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()
	document := parser.Parse(text.NewReader(m.source))
	for child := document.FirstChild(); child != nil; child = child.NextSibling() {
		settled = len(lines)
		block := m.block(child, max(min(measure, max(width-2, minWidth))-len(margin), narrowest))
		if len(lines) > 0 && len(block) > 0 {
			lines = append(lines, "")
		}
		for _, line := range block {
			lines = append(lines, strings.TrimRight(margin+line, " "))
		}
	}
	return lines, settled
}
