package sanitize

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func isUpper(b byte) bool { return b >= 'A' && b <= 'Z' }

func isLower(b byte) bool { return b >= 'a' && b <= 'z' }

func isLetter(b byte) bool { return isUpper(b) || isLower(b) }

func isAlnum(b byte) bool { return isLetter(b) || isDigit(b) }

// alphabetic says whether the letter is of a script that writes words with spaces between
// them: in others a value may stand beside a word without being part of it.
func alphabetic(r rune) bool {
	if r < utf8.RuneSelf {
		return isLetter(byte(r))
	}
	return unicode.In(r, unicode.Latin, unicode.Cyrillic, unicode.Greek)
}

// wordBefore says whether the text before i ends within a word or number.
func wordBefore(text string, i int) bool {
	r, size := utf8.DecodeLastRuneInString(text[:i])
	return size > 0 && inWord(r)
}

// wordAfter says whether the text from i on goes on within a word or number.
func wordAfter(text string, i int) bool {
	r, size := utf8.DecodeRuneInString(text[i:])
	return size > 0 && inWord(r)
}

func inWord(r rune) bool { return r == '_' || unicode.IsDigit(r) || alphabetic(r) }

// vocabulary are phrases by the first byte of each, of which several have one kind.
type vocabulary [256][]phrase

// phrase is in lower case. A space in it stands for -, _ and nothing too.
type phrase struct {
	words string
	kind  Kind
}

// add takes in phrases that are separated by |, longer ones first where one begins another.
func (v *vocabulary) add(kind Kind, phrases string) {
	for _, words := range strings.Split(phrases, "|") {
		first := map[byte]bool{words[0]: true, strings.ToUpper(words)[0]: true}
		for b := range first {
			v[b] = append(v[b], phrase{words, kind})
			slices.SortStableFunc(v[b], func(x, y phrase) int { return len(y.words) - len(x.words) })
		}
	}
}

// each gives every phrase of the text, in whatever case, and goes on where use says.
func (v *vocabulary) each(text string, use func(p phrase, start, end int) (next int)) {
	for i := 0; i < len(text); i++ {
		for _, p := range v[text[i]] {
			if size := foldPrefix(text[i:], p.words); size > 0 {
				i = max(use(p, i, i+size), i+size) - 1
				break
			}
		}
	}
}

// foldPrefix gives how much of the text the words are that it begins with; 0 where it begins
// with others.
func foldPrefix(text, words string) int {
	at := 0
	for _, want := range words {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case want == ' ' && (r == ' ' || r == '-' || r == '_'), size > 0 && want != ' ' && (r == want || unicode.ToLower(r) == want):
			at += size
		case want != ' ':
			return 0
		}
	}
	return at
}

// byteAt gives the byte at i, 0 outside of the text.
func byteAt(text string, i int) byte {
	if i < 0 || i >= len(text) {
		return 0
	}
	return text[i]
}
