package builtin

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// markdown gives the text of an HTML page as Markdown, with its title. Pages that are nested
// without end are refused by the parser.
func markdown(page io.Reader, at *url.URL) (string, error) {
	document, err := html.Parse(page)
	if err != nil {
		return "", fmt.Errorf("the page is not HTML that can be read: %w", err)
	}
	title := tidy(document)
	text, err := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorNone)),
	)).ConvertNode(document, converter.WithDomain(at.Scheme+"://"+at.Host))
	if err != nil {
		return "", fmt.Errorf("the page cannot be turned into text: %w", err)
	}
	if title != "" {
		return "Title: " + title + "\n\n" + string(text), nil
	}
	return string(text), nil
}

// noText are the elements that hold no text of a page.
var noText = []atom.Atom{atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe, atom.Object, atom.Nav}

// tidy takes out what is no text, and what would multiply it: spans of cells, which a page of
// a few bytes can set to millions, and data within addresses. It gives the title.
func tidy(document *html.Node) (title string) {
	var drop []*html.Node
	for node := range document.Descendants() {
		switch {
		case node.Type != html.ElementNode:
			continue
		case node.DataAtom == atom.Title && title == "" && node.FirstChild != nil:
			title = strings.Join(strings.Fields(node.FirstChild.Data), " ")
			drop = append(drop, node)
		case slices.Contains(noText, node.DataAtom):
			drop = append(drop, node)
		}
		node.Attr = slices.DeleteFunc(node.Attr, func(a html.Attribute) bool {
			return a.Key == "colspan" || a.Key == "rowspan" || strings.HasPrefix(strings.TrimSpace(a.Val), "data:")
		})
	}
	for _, node := range drop {
		node.Parent.RemoveChild(node)
	}
	return title
}
