package web

import (
	"html"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/convene-run/convene/internal/lazyregexp"
)

var markdownParser = sync.OnceValue(func() parser.Parser {
	return goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()
})

// maxMarkdownDepth is deeper than anybody nests lists and quotes; what is deeper is left to the
// script.
const maxMarkdownDepth = 24

// markdownHTML draws the beginning of a text of others as web/src/markdown.tsx does, up to the
// end of the block that reaches so many bytes. Elements come from a fixed set, with no attributes
// but those named here; all that is of the text is escaped, and HTML in it is shown as the text
// that it is. Images are what they are called, links lead to the web alone.
func markdownHTML(source string, most int) template.HTML {
	if len(source) > most {
		end := most
		if paragraph := strings.Index(source[most:], "\n\n"); paragraph >= 0 {
			end += min(paragraph, most)
		}
		source = strings.ToValidUTF8(source[:end], "")
	}
	m := &markdownWriter{source: []byte(source)}
	m.children(markdownParser().Parse(text.NewReader(m.source)), 0)
	return template.HTML(m.out.String()) //nolint:gosec // written below, each text of the source escaped
}

type markdownWriter struct {
	source []byte
	out    strings.Builder
}

func (m *markdownWriter) text(s string) { m.out.WriteString(html.EscapeString(s)) }

// element writes one with what is in the node; tag may have attributes.
func (m *markdownWriter) element(tag string, node ast.Node, depth int) {
	name, _, _ := strings.Cut(tag, " ")
	m.out.WriteString("<" + tag + ">")
	m.children(node, depth)
	m.out.WriteString("</" + name + ">")
}

func (m *markdownWriter) children(parent ast.Node, depth int) {
	if depth > maxMarkdownDepth {
		return
	}
	for node := parent.FirstChild(); node != nil; node = node.NextSibling() {
		m.node(node, depth+1)
	}
}

func (m *markdownWriter) node(node ast.Node, depth int) {
	switch node := node.(type) {
	case *ast.Heading:
		m.element("h"+strconv.Itoa(min(6, node.Level+2))+` dir="auto"`, node, depth)
	case *ast.Paragraph:
		m.element(`p dir="auto"`, node, depth)
	case *ast.TextBlock:
		m.element("span", node, depth)
	case *ast.Blockquote:
		m.element(`blockquote dir="auto"`, node, depth)
	case *ast.List:
		m.list(node, depth)
	case *ast.ListItem:
		m.element(`li dir="auto"`, node, depth)
	case *ast.ThematicBreak:
		m.out.WriteString("<hr>")
	case *ast.CodeBlock:
		m.code("", node)
	case *ast.FencedCodeBlock:
		m.code(codeLanguage.FindString(string(node.Language(m.source))), node)
	case *ast.HTMLBlock:
		m.out.WriteString(`<p dir="auto">`)
		m.lines(node)
		m.out.WriteString("</p>")
	case *tables.Table, *tables.TableHeader, *tables.TableRow, *tables.TableCell:
		m.table(node, depth)
	default:
		m.inline(node, depth)
	}
}

// codeLanguage is what a writer of code may call its language.
var codeLanguage = lazyregexp.New(`^[\w+#.-]{1,30}`)

func (m *markdownWriter) code(language string, node ast.Node) {
	m.out.WriteString(`<div class="code" dir="ltr"><div class="code-bar"><span>`)
	m.text(language)
	m.out.WriteString(`</span><button type="button" class="plain copy" disabled>Copy</button></div><pre><code>`)
	m.lines(node)
	m.out.WriteString("</code></pre></div>")
}

func (m *markdownWriter) lines(node ast.Node) {
	m.text(strings.TrimSuffix(string(node.Lines().Value(m.source)), "\n"))
}

func (m *markdownWriter) list(node *ast.List, depth int) {
	switch {
	case !node.IsOrdered():
		m.element("ul", node, depth)
	case node.Start != 0:
		m.element(`ol start="`+strconv.Itoa(node.Start)+`"`, node, depth)
	default:
		m.element("ol", node, depth)
	}
}

func (m *markdownWriter) table(node ast.Node, depth int) {
	switch node := node.(type) {
	case *tables.Table:
		m.out.WriteString(`<div class="table"><table>`)
		m.children(node, depth)
		if node.ChildCount() > 1 {
			m.out.WriteString("</tbody>")
		}
		m.out.WriteString("</table></div>")
	case *tables.TableHeader:
		m.out.WriteString("<thead>")
		m.element("tr", node, depth)
		m.out.WriteString("</thead>")
		if node.NextSibling() != nil {
			m.out.WriteString("<tbody>")
		}
	case *tables.TableRow:
		m.element("tr", node, depth)
	case *tables.TableCell:
		tag := "td"
		if _, head := node.Parent().(*tables.TableHeader); head {
			tag = `th scope="col"`
		}
		if align := node.Alignment.String(); align == "left" || align == "right" || align == "center" {
			tag += ` class="` + align + `"`
		}
		m.element(tag+` dir="auto"`, node, depth)
	}
}

func (m *markdownWriter) inline(node ast.Node, depth int) {
	switch node := node.(type) {
	case *ast.Text:
		m.text(written(string(node.Segment.Value(m.source))))
		switch {
		case node.HardLineBreak():
			m.out.WriteString("<br>")
		case node.SoftLineBreak():
			m.out.WriteString("\n")
		}
	case *ast.String:
		m.text(string(node.Value))
	case *ast.Emphasis:
		m.element(map[bool]string{true: "strong", false: "em"}[node.Level == 2], node, depth)
	case *tables.Strikethrough:
		m.element("del", node, depth)
	case *ast.CodeSpan:
		m.out.WriteString("<code>")
		for part := node.FirstChild(); part != nil; part = part.NextSibling() {
			if stretch, is := part.(*ast.Text); is {
				m.text(string(stretch.Segment.Value(m.source)))
			}
		}
		m.out.WriteString("</code>")
	case *ast.Link:
		m.link(string(util.URLEscape(node.Destination, true)), func() { m.children(node, depth) })
	case *ast.AutoLink:
		m.link(string(node.URL(m.source)), func() { m.text(string(node.Label(m.source))) })
	case *ast.Image:
		m.out.WriteString(`<span class="image">[image: `)
		m.children(node, depth)
		m.out.WriteString("]</span>")
	case *ast.RawHTML:
		m.text(string(node.Segments.Value(m.source)))
	case *tables.TaskCheckBox:
		m.out.WriteString(`<span class="box">` + map[bool]string{true: "☑ ", false: "☐ "}[node.IsChecked] + "</span>")
	default:
		m.children(node, depth)
	}
}

// link writes one to a page of the web or to somebody's mail; of any other only what it is called.
func (m *markdownWriter) link(href string, inner func()) {
	to, err := url.Parse(href)
	if err != nil || to.Scheme != "http" && to.Scheme != "https" && to.Scheme != "mailto" {
		m.out.WriteString("<span>")
		inner()
		m.out.WriteString("</span>")
		return
	}
	m.out.WriteString(`<a href="` + html.EscapeString(to.String()) + `" target="_blank" rel="noopener noreferrer nofollow">`)
	inner()
	m.out.WriteString("</a>")
}

// entities are those that models write; all others are shown as they stand.
var entities = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#39;", "'", "&nbsp;", "\u00a0")

// written is a text without the marks of Markdown that stand for characters.
func written(s string) string {
	return entities.Replace(string(util.UnescapePunctuations([]byte(s))))
}
