package fill

import (
	"fmt"
	"math"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// string gives a text that fits the goals, as far as that can be seen from here.
func (b *build) string() (any, bool) {
	least, most := 0, maxRunes
	format := ""
	var patterns []string
	for _, s := range b.goals {
		least, most = atLeast(least, s.MinLength), atMost(most, s.MaxLength)
		if s.Pattern != "" {
			patterns = append(patterns, s.Pattern)
		}
		if s.Format != "" {
			format = s.Format
		}
	}
	if least > most {
		return nil, false
	}
	if len(patterns) > 0 {
		return b.patterned(patterns, least)
	}
	text := b.text
	if made, known := formatted(format, b.variant+b.try); known {
		text = made
	} else if n := b.variant + b.try; n > 0 {
		text = fmt.Sprintf("%d %s", n+1, text)
	}
	return fitted(text, least, most), true
}

// fitted makes a text as long as it must be.
func fitted(text string, least, most int) string {
	if missing := least - utf8.RuneCountInString(text); missing > 0 {
		text += strings.Repeat(".", missing)
	}
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most])
	}
	return text
}

// patterned gives a text that matches one of the patterns, or all of them in a row.
func (b *build) patterned(patterns []string, least int) (any, bool) {
	choice := b.pick(len(patterns) + 1)
	if choice < len(patterns) {
		return b.long(patterns[choice], least)
	}
	var all strings.Builder
	for _, pattern := range patterns {
		text, ok := b.match(pattern, b.variant+b.try)
		if !ok {
			return nil, false
		}
		all.WriteString(text)
	}
	return fitted(all.String(), least, math.MaxInt), true
}

// long gives a text of at least so many characters that matches a pattern: more of what
// repeats in it, or else, by turns, a tail that the pattern may not mind.
func (b *build) long(pattern string, least int) (any, bool) {
	text, ok := b.match(pattern, b.variant+b.try)
	missing := least - utf8.RuneCountInString(text)
	if !ok || missing <= 0 {
		return text, ok
	}
	if b.try%2 == 1 {
		return fitted(text, least, math.MaxInt), true
	}
	return b.grown(pattern, b.variant+b.try, min(least, maxRunes))
}

// match gives a text that matches a pattern; another for each variant, where it can.
func (b *build) match(pattern string, variant int) (string, bool) {
	text, ok := b.grown(pattern, variant, 0)
	return text, ok
}

func (b *build) grown(pattern string, variant, repeats int) (string, bool) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	m := &matcher{build: b, variant: variant, repeats: repeats, left: maxRunes}
	ok := m.write(re.Simplify())
	return m.String(), ok
}

// matcher writes a text that matches a regular expression.
type matcher struct {
	strings.Builder
	build   *build
	variant int
	// repeats are how often what may repeat does so, beyond what it must.
	repeats int
	left    int
}

func (m *matcher) write(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpNoMatch:
		return false
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			m.put(r)
		}
	case syntax.OpCharClass:
		r, ok := m.oneOf(re.Rune)
		m.put(r)
		return ok
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		m.put('a')
	case syntax.OpCapture:
		return m.write(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !m.write(sub) {
				return false
			}
		}
	case syntax.OpAlternate:
		return m.write(re.Sub[m.draw(len(re.Sub))])
	case syntax.OpStar:
		return m.repeat(re.Sub[0], 0)
	case syntax.OpPlus:
		return m.repeat(re.Sub[0], 1)
	case syntax.OpQuest:
		if m.draw(2) == 1 || m.repeats > 0 {
			return m.write(re.Sub[0])
		}
	}
	return true // what matches between characters takes none
}

// repeat writes what may repeat: all further characters that are wanted, the first time.
func (m *matcher) repeat(re *syntax.Regexp, times int) bool {
	times += m.draw(3)
	if want := m.repeats - utf8.RuneCountInString(m.String()); want > times {
		times = want
	}
	for range times {
		if m.left <= 0 || !m.write(re) {
			return m.left <= 0
		}
	}
	return true
}

// draw chooses one of n: the first for the first variant, any for the others.
func (m *matcher) draw(n int) int {
	if m.variant == 0 || n < 2 {
		return 0
	}
	return m.build.dice.IntN(n)
}

func (m *matcher) put(r rune) {
	m.left--
	m.WriteRune(r)
}

// oneOf gives a character of a class, one that can be read where there is one.
func (m *matcher) oneOf(class []rune) (rune, bool) {
	if len(class) < 2 {
		return 0, false
	}
	var readable []rune
	for _, r := range "aA0bcdefghijklmnopqrstuvwxyzBCDEFGHIJKLMNOPQRSTUVWXYZ123456789 -_." {
		for i := 0; i < len(class); i += 2 {
			if r >= class[i] && r <= class[i+1] {
				readable = append(readable, r)
			}
		}
	}
	if len(readable) > 0 {
		return readable[m.draw(len(readable))], true
	}
	pair := 2 * m.draw(len(class)/2)
	for r := class[pair]; r <= class[pair+1]; r++ {
		if unicode.IsPrint(r) {
			return r, true
		}
	}
	return class[pair], utf8.ValidRune(class[pair])
}

// formatted gives the nth text of a known format.
func formatted(format string, n int) (string, bool) {
	day, hour := n%28+1, n%24
	switch format {
	case "date":
		return fmt.Sprintf("2026-01-%02d", day), true
	case "time":
		return fmt.Sprintf("%02d:00:00Z", hour), true
	case "date-time":
		return fmt.Sprintf("2026-01-%02dT%02d:00:00Z", day, hour), true
	case "duration":
		return fmt.Sprintf("PT%dH", n+1), true
	case "email", "idn-email":
		return fmt.Sprintf("person%d@example.com", n+1), true
	case "hostname", "idn-hostname":
		return fmt.Sprintf("host%d.example.com", n+1), true
	case "ipv4":
		return fmt.Sprintf("192.0.2.%d", n%254+1), true
	case "ipv6":
		return fmt.Sprintf("2001:db8::%x", n%0xffff+1), true
	case "uri", "iri", "uri-reference", "iri-reference":
		return fmt.Sprintf("https://example.com/%d", n+1), true
	case "uuid":
		return fmt.Sprintf("00000000-0000-4000-8000-%012x", n+1), true
	case "json-pointer":
		return fmt.Sprintf("/%d", n), true
	case "regex":
		return "^.*$", true
	}
	return "", false
}
