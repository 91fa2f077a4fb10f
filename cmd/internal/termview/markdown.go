package termview

import (
	"fmt"
	"regexp"
	"strings"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"
	"charm.land/glamour/v2/styles"
)

// measure is the width of a line that reads well, in cells.
const measure = 76

// RenderMarkdown sets Markdown of others for a terminal of that width. With a
// plain theme the text stays as it is, made safe.
func RenderMarkdown(text string, theme Theme, width int) (string, error) {
	text = markdownText(text)
	if !theme.Color {
		return text, nil
	}
	renderer, err := glamour.NewTermRenderer(
		glamour.WithStyles(markdownStyle()), glamour.WithWordWrap(min(measure, max(width-2, minWidth))))
	if err != nil {
		return "", fmt.Errorf("prepare Markdown: %w", err)
	}
	out, err := renderer.Render(text)
	if err != nil {
		return "", fmt.Errorf("render Markdown: %w", err)
	}
	return onlyStyles(out), nil
}

// markdownStyle is calm and suits light and dark: weights, and the terminal's own
// colours for what is no prose.
func markdownStyle() ansi.StyleConfig {
	style := styles.NoTTYStyleConfig
	yes, accent, code := true, "6", "3"
	none, two := "", uint(2)
	style.Document.Margin = &two
	style.Document.BlockPrefix, style.Document.BlockSuffix = "", ""
	style.Heading.Bold = &yes
	style.H1.Prefix, style.H2.Prefix, style.H3.Prefix = none, none, none
	style.H1.Color, style.H2.Color = &accent, &accent
	style.Strong = ansi.StylePrimitive{Bold: &yes}
	style.Emph = ansi.StylePrimitive{Italic: &yes}
	style.Strikethrough = ansi.StylePrimitive{CrossedOut: &yes}
	style.Code = ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Color: &code}}
	style.Link = ansi.StylePrimitive{Underline: &yes}
	return style
}

var styleSequence = regexp.MustCompile("^\x1b\\[[0-9;:]*m$")

// onlyStyles drops every escape sequence that is not a matter of style: what the
// renderer has no reason to write was smuggled in.
func onlyStyles(s string) string {
	s = sequence.ReplaceAllStringFunc(s, func(seq string) string {
		if styleSequence.MatchString(seq) {
			return seq
		}
		return ""
	})
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}
