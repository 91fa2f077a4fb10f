package extract

import (
	"bytes"
	"errors"
	"io"
	"strings"

	nethtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// hidden are the elements whose text nobody reads, blocks those that begin a line.
var (
	hidden = map[atom.Atom]bool{atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Svg: true}
	blocks = map[atom.Atom]bool{
		atom.P: true, atom.Div: true, atom.Br: true, atom.Li: true, atom.Tr: true, atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true,
		atom.H5: true, atom.H6: true, atom.Table: true, atom.Ul: true, atom.Ol: true, atom.Section: true, atom.Article: true, atom.Pre: true,
		atom.Blockquote: true, atom.Header: true, atom.Footer: true, atom.Title: true, atom.Dt: true, atom.Dd: true,
	}
)

// html reads the text of a page.
func html(data []byte) ([]string, error) {
	var out text
	var within atom.Atom // the hidden element that is open, 0 for none
	tokens := nethtml.NewTokenizer(bytes.NewReader(data))
	for {
		kind := tokens.Next()
		if kind == nethtml.ErrorToken {
			if err := tokens.Err(); !errors.Is(err, io.EOF) {
				return nil, err
			}
			return []string{lines(out.String())}, nil
		}
		token := tokens.Token()
		said := ""
		switch {
		case within != 0:
			if kind == nethtml.EndTagToken && token.DataAtom == within {
				within = 0
			}
		case kind == nethtml.StartTagToken && hidden[token.DataAtom]:
			within = token.DataAtom
		case kind == nethtml.TextToken:
			said = token.Data
		case blocks[token.DataAtom]:
			said = "\n"
		case token.DataAtom == atom.Td || token.DataAtom == atom.Th:
			said = " "
		}
		if err := out.add(said); err != nil {
			return nil, err
		}
	}
}

// lines leaves out blank lines, and what the source has only for its looks.
func lines(said string) string {
	var kept []string
	for line := range strings.Lines(said) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}
