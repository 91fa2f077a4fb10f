package evidence

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// text is a text in the form in which quotes are compared with it.
type text struct {
	// source is the text itself, composed (NFC).
	source string
	// folded is source with one space for each run of whitespace, without case and
	// characters that nobody sees.
	folded string
	// at has for each byte of folded its place in source, and the end of source.
	at []int
}

// read brings a text into the form that quotes are compared in. With unmarked, it is read
// without the marks of quoted lines.
func read(s string, unmarked bool) text {
	t := text{source: norm.NFC.String(strings.ToValidUTF8(s, "\uFFFD"))}
	var b strings.Builder
	lineStart, space := unmarked, true
	for at, r := range t.source {
		switch {
		case invisible(r), lineStart && r == '>':
			continue
		case unicode.IsSpace(r):
			lineStart = lineStart || unmarked && (r == '\n' || r == '\r')
			if space {
				continue
			}
			r = ' '
		default:
			lineStart = false
		}
		space = r == ' '
		n, _ := b.WriteString(fold(r))
		for range n {
			t.at = append(t.at, at)
		}
	}
	t.folded, t.at = b.String(), append(t.at, len(t.source))
	return t
}

// invisible are the characters that a reader does not see, and a model leaves out.
func invisible(r rune) bool {
	switch r {
	case '\u00ad', '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff':
		return true
	}
	return false
}

// marked reports whether a text has lines that are quoted.
func marked(s string) bool { return strings.HasPrefix(s, ">") || strings.Contains(s, "\n>") }

// fold gives what a character is compared as.
func fold(r rune) string {
	if r < utf8.RuneSelf {
		return string(unicode.ToUpper(r)) // the least of its forms
	}
	switch r {
	case '‘', '’', '‚', '‛', 'ʼ':
		return "'"
	case '“', '”', '„', '‟':
		return `"`
	case '‐', '‑', '‒', '–', '—', '−':
		return "-"
	case '…':
		return "..."
	}
	r = unicode.ToLower(unicode.ToUpper(r))
	for least := unicode.SimpleFold(r); least != r; least = unicode.SimpleFold(least) {
		if least < r {
			r = least
		}
	}
	return string(r)
}

// has reports whether a folded quote stands in the text, as words and numbers of its own.
func (t *text) has(quote string) bool {
	for start := 0; quote != ""; {
		i := strings.Index(t.folded[start:], quote)
		if i < 0 {
			break
		}
		i += start
		end := i + len(quote)
		if !t.joined(i) && !t.joined(end) {
			return true
		}
		_, size := utf8.DecodeRuneInString(t.folded[i:])
		start = i + size
	}
	return false
}

// cutMark follows a result that was cut, perhaps in the middle of a number.
const cutMark = "…\n[cut: "

// joined reports whether a word or a number goes on over this place of folded.
func (t *text) joined(at int) bool {
	before, after := t.folded[:at], t.folded[at:]
	left, size := utf8.DecodeLastRuneInString(before)
	right, rightSize := utf8.DecodeRuneInString(after)
	if before == "" || after == "" {
		return false
	}
	leftmost, _ := utf8.DecodeLastRuneInString(before[:len(before)-size])
	next, _ := utf8.DecodeRuneInString(after[rightSize:])
	switch {
	case unicode.IsMark(right):
		return true
	case word(left) && strings.HasPrefix(t.source[t.at[at]:], cutMark):
		return true
	case word(left) && word(right):
		return numeral(left) && numeral(right) || !unspaced(left) && !unspaced(right)
	case numeral(left) && strings.ContainsRune("%‰°", right), numeral(right) && signs(left) && !word(leftmost):
		return true
	case numeral(left) && numeral(next):
		return inNumber(right) || right == ' ' && hard(t.source[t.at[at]:])
	case numeral(leftmost) && numeral(right):
		return inNumber(left) || left == ' ' && hard(t.source[t.at[at-1]:])
	}
	return false
}

func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// numeral reports whether a character may be part of a number, Chinese numerals included.
func numeral(r rune) bool {
	return unicode.IsNumber(r) || strings.ContainsRune("一二三四五六七八九十百千万億萬亿兆", r)
}

// signs are what changes a number that follows directly.
func signs(r rune) bool { return strings.ContainsRune("-+±<>≤≥~≈", r) }

// inNumber reports whether a character between two digits belongs to their number.
func inNumber(r rune) bool { return strings.ContainsRune(".,':/", r) }

// hard reports whether a text begins with a space that keeps what is on its sides together.
func hard(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r == '\u00a0' || r == '\u2007' || r == '\u2009' || r == '\u202f'
}

// unspaced reports whether a character is of a script that sets no spaces between words.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Hangul)
}
