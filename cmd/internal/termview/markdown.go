package termview

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/convene-run/convene/internal/lazyregexp"
)

// measure is the width of a line that reads well, in cells.
const measure = 76

// margin stands before every line of rendered Markdown.
const margin = "  "

// RenderMarkdown sets Markdown of others for a terminal of that width. With a theme that is
// neither for colours nor for a screen the text stays as it is, made safe.
func RenderMarkdown(source string, theme Theme, width int) string {
	source = Text(source)
	if !theme.Color && !theme.Screen {
		return source
	}
	m := markdown{[]byte(source)}
	parser := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()
	lines := m.children(parser.Parse(text.NewReader(m.source)), min(measure, max(width-2, minWidth))-len(margin))
	var out strings.Builder
	for _, line := range lines {
		out.WriteString(strings.TrimRight(margin+line, " "))
		out.WriteByte('\n')
	}
	if !theme.Color {
		return ansi.Strip(out.String())
	}
	return out.String()
}

// markdown sets a parsed document. It is calm and suits light and dark: weights, and
// the terminal's own colours for what is no prose. What it takes from the source goes
// through [Text], because references such as "&#27;" spell control characters.
type markdown struct{ source []byte }

// narrowest is how little room nested blocks leave for text.
const narrowest = 10

// children gives the lines of the blocks in a block, an empty one between them unless
// they are items of a tight list.
func (m markdown) children(parent ast.Node, width int) (lines []string) {
	width = max(width, narrowest)
	for child := parent.FirstChild(); child != nil; child = child.NextSibling() {
		block := m.block(child, width)
		if len(lines) > 0 && len(block) > 0 && !isTight(parent) {
			lines = append(lines, "")
		}
		lines = append(lines, block...)
	}
	return lines
}

// isTight reports whether a list, or the list of an item, is written without empty lines.
func isTight(n ast.Node) bool {
	if item, ok := n.(*ast.ListItem); ok {
		n = item.Parent()
	}
	list, ok := n.(*ast.List)
	return ok && list.IsTight
}

func (m markdown) block(n ast.Node, width int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		style := ansi.NewStyle().Bold()
		if n.Level <= 2 {
			style = style.ForegroundColor(ansi.Cyan)
		}
		return wrapped(m.inline(n, style), width)
	case *ast.Paragraph, *ast.TextBlock:
		return wrapped(m.inline(n, nil), width)
	case *ast.List:
		return m.list(n, width)
	case *ast.Blockquote:
		return indented(m.children(n, width-2), "│ ", "│ ")
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		return indented(m.raw(n), margin, margin)
	case *ast.HTMLBlock:
		return wrapped(tag.ReplaceAllString(strings.Join(m.raw(n), "\n"), ""), width)
	case *ast.ThematicBreak:
		return []string{strings.Repeat("─", 8)}
	case *tables.Table:
		return m.table(n, width)
	}
	return m.children(n, width)
}

// tag is an HTML tag or comment.
var tag = lazyregexp.New(`<[/!?a-zA-Z][^>]*>`)

// raw gives the lines of a block as they stand in the source.
func (m markdown) raw(n ast.Node) []string {
	content := Text(string(n.Lines().Value(m.source)))
	return strings.Split(strings.TrimRight(strings.ReplaceAll(content, "\t", "    "), "\n"), "\n")
}

func (m markdown) list(list *ast.List, width int) (lines []string) {
	number := list.Start
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		marker := "• "
		if list.IsOrdered() {
			marker = fmt.Sprintf("%d%c ", number, list.Marker)
			number++
		}
		if len(lines) > 0 && !list.IsTight {
			lines = append(lines, "")
		}
		room := strings.Repeat(" ", ansi.StringWidth(marker))
		lines = append(lines, indented(m.children(item, width-len(room)), marker, room)...)
	}
	return lines
}

// indented puts one text before the first line and another before those that follow.
func indented(lines []string, first, others string) []string {
	if len(lines) == 0 {
		return []string{first}
	}
	for i, line := range lines {
		lines[i] = others + line
		if i == 0 {
			lines[i] = first + line
		}
	}
	return lines
}

// wrapped breaks styled text into lines; a style ends with its line.
func wrapped(s string, width int) []string {
	if s == "" {
		return nil
	}
	return strings.Split(lipgloss.Wrap(s, width, ""), "\n")
}

// inline gives the styled text in a block.
func (m markdown) inline(parent ast.Node, style ansi.Style) string {
	var out strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		out.WriteString(m.span(n, slices.Clip(style)))
	}
	return out.String()
}

func (m markdown) span(n ast.Node, style ansi.Style) string {
	switch n := n.(type) {
	case *ast.Text:
		return style.Styled(resolved(n.Value(m.source))) + lineBreak(n)
	case *ast.String:
		return style.Styled(resolved(n.Value))
	case *ast.CodeSpan:
		return style.ForegroundColor(ansi.Yellow).Styled(m.code(n))
	case *ast.Emphasis:
		if n.Level > 1 {
			return m.inline(n, style.Bold())
		}
		return m.inline(n, style.Italic(true))
	case *tables.Strikethrough:
		return m.inline(n, style.Strikethrough(true))
	case *ast.Link:
		return m.inline(n, style) + " " + style.Underline(true).Styled(Text(string(n.Destination)))
	case *ast.AutoLink:
		return style.Underline(true).Styled(Text(string(n.Label(m.source))))
	case *ast.Image:
		return style.Styled("Image: ") + m.inline(n, style) + style.Styled(" → "+Text(string(n.Destination)))
	case *tables.TaskCheckBox:
		if n.IsChecked {
			return style.Styled("[x] ")
		}
		return style.Styled("[ ] ")
	case *ast.RawHTML:
		if strings.HasPrefix(string(n.Segments.Value(m.source)), "<br") {
			return "\n"
		}
		return ""
	}
	return m.inline(n, style)
}

// resolved gives text as its author means it: references and escapes are resolved.
func resolved(source []byte) string {
	return Text(string(util.UnescapePunctuations(util.ResolveEntityNames(util.ResolveNumericReferences(source)))))
}

func lineBreak(n *ast.Text) string {
	switch {
	case n.HardLineBreak():
		return "\n"
	case n.SoftLineBreak():
		return " "
	}
	return ""
}

// code gives the text of a code span, which has neither references nor escapes.
func (m markdown) code(span *ast.CodeSpan) string {
	var out strings.Builder
	for n := span.FirstChild(); n != nil; n = n.NextSibling() {
		if part, ok := n.(*ast.Text); ok {
			out.Write(part.Value(m.source))
		}
	}
	return strings.ReplaceAll(Text(out.String()), "\n", " ")
}
