package artifact

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/quote"
)

const (
	// maxTextChars bounds a text file that a request quotes in full: what a request may have.
	maxTextChars = 1 << 20
	// maxQuotedChars is how much of the text of one document a request quotes: some eighty
	// pages. The rest is read from the artifact.
	maxQuotedChars = 200_000
)

// Section is what a request says of a file that comes with it, behind the request: the text of
// it, quoted, so that it cannot pass for the request or for another file. A text stands there
// byte for byte. The error is of a file that cannot be quoted.
func Section(file *agent.File) (string, error) {
	quoted, err := quoted(file)
	return fmt.Sprintf("\n\n## File: %s\n\n%s", quote.OneLine(file.Name), quoted), err
}

func quoted(file *agent.File) (string, error) {
	text := string(file.Data)
	switch {
	case len(file.Pages) > 0:
		return Describe(file) + "\n\n" + quotedPages(file.Pages), nil
	case file.Note != "" || strings.HasPrefix(file.MediaType, "image/"):
		return Describe(file), nil
	case chars.Over(text, maxTextChars):
		return "", fmt.Errorf("%s has more than %d characters, the maximum for a request", file.Name, maxTextChars)
	case !utf8.ValidString(text):
		return "", fmt.Errorf("%s is not valid UTF-8 text", file.Name)
	case strings.ContainsRune(text, 0):
		return "", fmt.Errorf("%s contains a NUL character, so it is not text", file.Name)
	}
	return quote.Lines(text), nil
}

// quotedPages quotes pages, as many as there is room for.
func quotedPages(pages []string) string {
	if len(pages) == 1 {
		head, more := chars.Cut(pages[0], maxQuotedChars)
		return quote.Lines(head) + cutOff(more)
	}
	var out strings.Builder
	for i, page := range pages {
		if out.Len()+len(page) > maxQuotedChars {
			fmt.Fprintf(&out, "[cut: %d of %d pages are quoted; read_artifact reads the others]", i, len(pages))
			break
		}
		fmt.Fprintf(&out, "Page %d:\n%s\n\n", i+1, quote.Lines(page))
	}
	return strings.TrimRight(out.String(), "\n")
}

// cutOff says how much of a text is not quoted.
func cutOff(more int) string {
	if more == 0 {
		return ""
	}
	return fmt.Sprintf("\n[cut: %d more characters; read_artifact reads them]", more)
}
