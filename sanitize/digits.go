package sanitize

import (
	"strings"
	"unicode/utf8"
)

// group is a row of digits that stand beside each other.
type group struct {
	start, end int
	digits     string // in ASCII
	before     string // what separates it from the group before, "" for the first
	spaced     bool   // whether that is spaces alone
}

// maxSeparator bounds what separates two groups of one number, in bytes: " (0) " has digits of
// its own, so ") - " is the longest.
const maxSeparator = 4

// eachRun gives the numbers of a text: rows of groups, between which stand only the signs that
// people put into numbers. Digits of other scripts count as those that they are.
func eachRun(text string, use func(run []group)) {
	var run []group
	for i := 0; i < len(text); {
		if _, size := digitAt(text, i); size == 0 {
			i++
			continue
		}
		before := ""
		if len(run) > 0 {
			before = text[run[len(run)-1].end:i]
			if !separates(before) {
				use(run)
				run, before = run[:0], ""
			}
		}
		g := group{start: i, before: before, spaced: spaces(before)}
		for i < len(text) && isDigit(text[i]) {
			i++
		}
		g.digits = text[g.start:i]
		var digits []byte
		for i < len(text) {
			digit, size := digitAt(text, i)
			if size == 0 {
				break
			}
			if digits == nil {
				digits = []byte(g.digits)
			}
			digits = append(digits, digit)
			i += size
		}
		if g.end = i; digits != nil {
			g.digits = string(digits)
		}
		run = append(run, g)
	}
	if len(run) > 0 {
		use(run)
	}
}

// digitAt gives the digit at i in ASCII and the bytes that it takes, 0 where there is none.
func digitAt(text string, i int) (byte, int) {
	if b := text[i]; b < utf8.RuneSelf {
		if isDigit(b) {
			return b, 1
		}
		return 0, 0
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	for _, zero := range zeros {
		if r >= zero && r < zero+10 {
			return '0' + byte(r-zero), size
		}
	}
	return 0, 0
}

// zeros begin the digits of other scripts in which people write numbers: full-width ones,
// Arabic, Persian, Devanagari and Bengali.
var zeros = []rune{'０', '٠', '۰', '०', '০'}

// separates says whether a text may stand between two groups of one number.
func separates(text string) bool {
	if len(text) == 1 {
		return strings.IndexByte(" -.()/", text[0]) >= 0
	}
	if text == "" || len(text) > maxSeparator+2 {
		return false
	}
	n := 0
	for _, r := range text {
		if n++; n > maxSeparator || !strings.ContainsRune(" -.()/\u00a0\u2009\u202f\u2010\u2011\u2013", r) {
			return false
		}
	}
	return true
}

// spaces says whether a separator is made of spaces alone.
func spaces(sep string) bool {
	return sep == " " || len(sep) > 1 && strings.Trim(sep, " \u00a0\u2009\u202f") == ""
}

// joined gives the digits of groups.
func joined(groups []group) string {
	if len(groups) == 1 {
		return groups[0].digits
	}
	var b strings.Builder
	for _, g := range groups {
		b.WriteString(g.digits)
	}
	return b.String()
}

// count counts the digits of groups.
func count(groups []group) (n int) {
	for _, g := range groups {
		n += len(g.digits)
	}
	return n
}

// lengths gives the lengths of groups, as "4-6-5".
func lengths(groups []group) string {
	b := make([]byte, 0, 2*len(groups))
	for i, g := range groups {
		if i > 0 {
			b = append(b, '-')
		}
		if len(g.digits) > 9 {
			return ""
		}
		b = append(b, '0'+byte(len(g.digits)))
	}
	return string(b)
}

// findNumbers finds cards and phone numbers.
func findNumbers(text string, found func(start, end int, kind Kind)) {
	eachRun(text, func(run []group) {
		findCards(text, run, found)
		findPhones(text, run, found)
	})
}
