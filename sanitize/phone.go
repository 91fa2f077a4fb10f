package sanitize

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/convene-run/convene/internal/lazyregexp"
)

const (
	// maxPhone bounds the digits of a number with its country (ITU-T E.164), minPhone those of
	// one that only the words before it make one.
	maxPhone, minPhone = 15, 6
	// maxPhoneGroups bounds the groups in which people write one.
	maxPhoneGroups = 8
)

// findPhones finds the telephone numbers of a run.
func findPhones(text string, run []group, found func(start, end int, kind Kind)) {
	for i := 0; i < len(run); i++ {
		if !begins(text, run, i) {
			continue
		}
		about := sync.OnceValue(func() topic { return topicBefore(text, run[i].start) })
		for j := min(i+maxPhoneGroups, len(run)) - 1; j >= i; j-- {
			start, ok := dialled(text, run, i, j, about)
			if !ok {
				continue
			}
			found(start, run[j].end, Phone)
			i = j
			break
		}
	}
}

// begins says whether a number may begin with the group: the first of its run, one in brackets,
// with 00 before it, or one behind a space that is joined to the next ones by more than that.
func begins(text string, run []group, i int) bool {
	return i == 0 || byteAt(text, run[i].start-1) == '(' || run[i].spaced && (strings.HasPrefix(run[i].digits, "00") || mixed(run[i:min(i+maxPhoneGroups, len(run))]))
}

// dialled says whether the groups from i to j are a telephone number, and where it begins:
// with its + or bracket. about tells what the words before it are about.
func dialled(text string, run []group, i, j int, about func() topic) (start int, ok bool) {
	groups := run[i : j+1]
	n := count(groups)
	if n < minPhone || n > maxPhone+2 || j < len(run)-1 && !run[j+1].spaced || follows(text, groups[j-i].end) {
		return 0, false
	}
	start = groups[0].start
	bracket := byteAt(text, start-1) == '(' && len(groups) > 1 && strings.HasPrefix(groups[1].before, ")")
	if bracket {
		start--
	}
	if plus := plusBefore(text, start); plus < start {
		return plus, abroad(groups)
	}
	if strings.HasPrefix(groups[0].digits, "00") && abroad(groups) && free(text, run, i, j) {
		return start, true
	}
	switch {
	case i > 0 && !bracket && !(groups[0].spaced && mixed(groups)), j < len(run)-1 && !mixed(groups):
		return 0, false // part of a longer row
	case i == 0 && !bracket && !free(text, run, i, j), isDate(groups), isIP(groups):
		return 0, false
	case about() == calls:
		return start, n <= maxPhone
	}
	return start, about() != counts && !strings.ContainsRune("$€£¥#=", before(text, start)) && national(groups, bracket)
}

// follows says whether what stands behind a number makes it part of a word, or a quantity.
func follows(text string, end int) bool {
	return wordAfter(text, end) || strings.IndexByte("%@$", byteAt(text, end)) >= 0 && end < len(text) || touches(text, end, 1)
}

// plusBefore gives where the + before start stands that begins a number, start where none does.
func plusBefore(text string, start int) int {
	for _, plus := range []string{"+", "＋"} {
		if at := start - len(plus); at >= 0 && text[at:start] == plus && !wordBefore(text, at) && !touches(text, at-1, -1) {
			return at
		}
	}
	return start
}

func before(text string, start int) rune {
	if start == 0 {
		return utf8.RuneError
	}
	r, _ := utf8.DecodeLastRuneInString(text[:start])
	return r
}

// mixed says whether groups are held together by more than spaces.
func mixed(groups []group) bool {
	for _, g := range groups[1:] {
		if !g.spaced {
			return true
		}
	}
	return false
}

// isDate says whether the first groups are a day, in one of the orders that there are.
func isDate(groups []group) bool {
	if len(groups) < 3 || groups[1].before != groups[2].before {
		return false
	}
	a, b, c := groups[0].digits, groups[1].digits, groups[2].digits
	year := func(s string) bool { return len(s) == 4 && (s[:2] == "19" || s[:2] == "20") }
	small := func(s string) bool { return len(s) <= 2 && s <= "31" }
	return year(a) && small(b) && small(c) || small(a) && small(b) && (year(c) || len(c) == 2 && len(groups) == 3)
}

// isIP says whether the groups are an address of the Internet.
func isIP(groups []group) bool {
	if len(groups) != 4 {
		return false
	}
	for i, g := range groups {
		if len(g.digits) > 3 || i > 0 && g.before != "." {
			return false
		}
	}
	return true
}

// national says whether the groups are written as numbers within a country are.
func national(groups []group, bracket bool) bool {
	n, first, digits := count(groups), groups[0].digits, joined(groups)
	shape := lengths(groups)
	if len(groups) > 1 && strings.Trim(groups[1].before, ". ") == "" && strings.Contains(groups[1].before, ".") && shape != "3-3-4" && shape != "2-2-2-2-2" {
		return false // a decimal number, a version
	}
	america := strings.TrimPrefix(digits, "1")
	switch {
	case len(america) == 10 && (shape == "3-3-4" || shape == "1-3-3-4"):
		return america[0] >= '2' && america[3] >= '2'
	case bracket:
		return len(first) >= 2 && len(first) <= 5 && first[:2] != "19" && first[:2] != "20" &&
			n >= 8 && n <= 12 && n-len(first) >= 6
	case len(groups) == 1:
		return mobile.MatchString(digits)
	case shape == "5-5":
		return first[0] >= '6' && groups[1].spaced
	case shape == "3-4-4":
		return first[0] == '1' && first[1] >= '3' || first[0] == '0' && first[1] > '0'
	}
	return trunk(groups, n)
}

// trunk says whether the groups are a number with the 0 that many countries dial before an
// area: at least two groups, none of a single digit.
func trunk(groups []group, n int) bool {
	first := groups[0].digits
	if len(groups) < 2 || len(first) < 2 || len(first) > 5 || first[0] != '0' || first[1] == '0' || n < 9 || n > 12 {
		return false
	}
	for i, g := range groups[1:] {
		if len(g.digits) < 2 || strings.Contains(g.before, "/") && i > 0 {
			return false
		}
	}
	return true
}

// mobile are numbers of mobile telephones that people write in one piece: of the United Kingdom
// and France, of Germany, Japan and China.
var mobile = lazyregexp.New(`^(?:07[3-9]\d{8}|0[67]\d{8}|01[567]\d{8,9}|0[789]0\d{8}|1[3-9]\d{9})$`)
