package main

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Sizes in the picture's units: of a character, of a line, and of the margin around all.
const (
	charWidth, lineHeight, margin = 8.4, 19.0, 16.0
	width                         = columns*charWidth + 2*margin
	height                        = rows*lineHeight + 2*margin
)

// film gives an SVG that shows the frames one after the other, for ever. They stand side by
// side on a strip that moves by steps; lines that are equal are there once. Whoever wants no
// motion sees the last frame.
func film(frames []frame) string {
	var lines, strip, steps strings.Builder
	known := map[string]int{}
	total := length(frames)
	at := time.Duration(0)
	for i, f := range frames {
		fmt.Fprintf(&steps, "%.3f%%{transform:translateX(-%.0fpx)}", 100*at.Seconds()/total.Seconds(), float64(i)*width)
		at += f.time
		fmt.Fprintf(&strip, `<g transform="translate(%.0f)">`, float64(i)*width)
		for row, spans := range parse(f.text) {
			line := drawn(spans)
			if line == "" {
				continue
			}
			id, ok := known[line]
			if !ok {
				id = len(known)
				known[line] = id
				fmt.Fprintf(&lines, "<g id=\"l%d\">%s</g>\n", id, line)
			}
			fmt.Fprintf(&strip, `<use href="#l%d" y="%.0f"/>`, id, margin+float64(row+1)*lineHeight-5)
		}
		strip.WriteString("</g>\n")
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img">
<title>%s</title>
<style>#film{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6edf3;animation:film %.1fs step-end infinite}
@keyframes film{%s}
@media (prefers-reduced-motion:reduce){#film{animation:none;transform:translateX(-%.0fpx)}}</style>
<defs>
%s</defs>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
<g id="film">
%s</g>
</svg>
`, width, height, html.EscapeString(typed), total.Seconds(), steps.String(), float64(len(frames)-1)*width, lines.String(), strip.String())
}

func length(frames []frame) (total time.Duration) {
	for _, f := range frames {
		total += f.time
	}
	return total
}

// pieces are the parts of a text between wide gaps, since SVG folds spaces.
var pieces = regexp.MustCompile(`[^ ]+(?: [^ ]+)*`)

// drawn gives the elements of a line. Each piece has its place and length, so that columns
// stand where they do on a terminal whatever the font.
func drawn(spans []span) string {
	var b strings.Builder
	column := 0
	for _, s := range spans {
		for _, at := range pieces.FindAllStringIndex(s.text, -1) {
			start, text := column+ansi.StringWidth(s.text[:at[0]]), s.text[at[0]:at[1]]
			fmt.Fprintf(&b, `<text x="%.1f" textLength="%.1f"%s>%s</text>`,
				margin+float64(start)*charWidth, float64(ansi.StringWidth(text))*charWidth, s.attributes(), html.EscapeString(text))
		}
		column += ansi.StringWidth(s.text)
	}
	return b.String()
}
