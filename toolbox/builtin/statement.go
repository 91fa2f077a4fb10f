package builtin

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxStatementBytes bounds a query: models write some hundred.
const maxStatementBytes = 20_000

// reading are the words that a query begins with which only reads.
var reading = []string{"SELECT", "WITH", "VALUES", "TABLE", "EXPLAIN", "SHOW"}

// checkStatement refuses what is no single query. That a query does not write is up to the
// database, which is opened so that it cannot: this keeps away what is no query at all, as
// ATTACH, PRAGMA, SET and COPY, and what follows one behind a semicolon.
func checkStatement(text string) error {
	switch {
	case len(text) > maxStatementBytes:
		return fmt.Errorf("the query has %d characters, %d is the most", len(text), maxStatementBytes)
	case strings.ContainsRune(text, 0):
		return errors.New("the query holds a NUL character")
	}
	code := strings.TrimSpace(withoutQuoted(text))
	code = strings.TrimSpace(strings.TrimRight(code, "; \t\r\n"))
	if strings.Contains(code, ";") {
		return errors.New("one query at a time: take out what follows the semicolon")
	}
	word := strings.ToUpper(code)
	if end := strings.IndexFunc(word, func(r rune) bool { return r < 'A' || r > 'Z' }); end >= 0 {
		word = word[:end]
	}
	if !slices.Contains(reading, word) {
		return fmt.Errorf("only queries are run, which begin with %s", strings.Join(reading, ", "))
	}
	return nil
}

// withoutQuoted gives a statement with a blank in place of each comment and quoted text. What
// is not closed ends with the statement.
func withoutQuoted(text string) string {
	var b strings.Builder
	for text != "" {
		open, closing := quoteAt(text)
		if open == 0 {
			b.WriteByte(text[0])
			text = text[1:]
			continue
		}
		b.WriteByte(' ')
		end := strings.Index(text[open:], closing)
		if end < 0 {
			break
		}
		text = text[open+end+len(closing):]
	}
	return b.String()
}

// quoteAt tells what a comment or quoted text that begins here ends with, and how long its
// beginning is: 0 is that none begins.
func quoteAt(text string) (open int, closing string) {
	switch {
	case strings.HasPrefix(text, "--"):
		return 2, "\n"
	case strings.HasPrefix(text, "/*"):
		return 2, "*/"
	case text[0] == '[':
		return 1, "]"
	case text[0] == '\'', text[0] == '"', text[0] == '`':
		return 1, text[:1]
	}
	return 0, ""
}
