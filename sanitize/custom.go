package sanitize

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/convene-run/convene/internal/lazyregexp"
)

const (
	// MaxPatterns bounds the patterns of one team: each reads every text once more.
	MaxPatterns = 32
	// MaxPatternChars bounds a pattern: nobody checks a longer one by eye.
	MaxPatternChars = 500
	// maxInstructions bounds what a pattern compiles to. Matching takes time in proportion to
	// it, and to the text.
	maxInstructions = 2000
)

// Off in place of a pattern, under the name of one of [Kinds], has that kind left alone.
const Off = "off"

// pattern is one of a team's own.
type pattern struct {
	kind Kind
	re   *regexp.Regexp
}

var patternName = lazyregexp.New(`^[a-z][a-z0-9_]{0,30}$`)

// New gives a detector that finds what the patterns match too, by their names, in Go's syntax
// of regular expressions (https://pkg.go.dev/regexp/syntax). The error is of [Check], or says
// that there are too many.
func New(patterns map[string]string) (*Detector, error) {
	if len(patterns) > MaxPatterns {
		return nil, fmt.Errorf("there are %d patterns, at most %d are allowed", len(patterns), MaxPatterns)
	}
	d := &Detector{off: map[Kind]bool{}}
	for _, name := range slices.Sorted(maps.Keys(patterns)) {
		text := patterns[name]
		if err := Check(name, text); err != nil {
			return nil, fmt.Errorf("pattern %s: %w", name, err)
		}
		if text == Off {
			d.off[Kind(name)] = true
			continue
		}
		d.own = append(d.own, pattern{Kind(name), regexp.MustCompile(text)})
	}
	return d, nil
}

// Check says what is wrong with a pattern, for whoever wrote it: its name, that it does not
// compile, that it matches nothing at all and so everywhere, or that it takes too long.
func Check(name, text string) error {
	known := slices.Contains(Kinds(), Kind(name))
	switch {
	case known && text == Off:
		return nil
	case known || Kind(name) == lookalike:
		return fmt.Errorf("the name %q is one of convene's own: choose another; %q leaves one of %s alone", name, Off, names())
	case !patternName.MatchString(name):
		return fmt.Errorf("the name %q must be a lower-case letter, then lower-case letters, digits or _, at most 31", clip(name))
	case text == "":
		return errors.New("the pattern is empty; write what the value looks like, such as K-\\d{6}")
	case len(text) > MaxPatternChars:
		return fmt.Errorf("the pattern has %d characters, at most %d are allowed", len(text), MaxPatternChars)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return err
	}
	compiled, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return err
	}
	if n := len(compiled.Inst); n > maxInstructions {
		return fmt.Errorf("the pattern takes too long: it has %d steps when its repetitions are written out, at most %d are allowed", n, maxInstructions)
	}
	if shortest(parsed) == 0 {
		return errors.New("the pattern matches an empty text, and so every place; write + for *, or leave out ?")
	}
	return nil
}

// shortest is the length of the shortest text that an expression matches, in characters: 0 or
// above.
func shortest(re *syntax.Regexp) (n int) {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpCapture, syntax.OpPlus:
		return shortest(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min * shortest(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			n += shortest(sub)
		}
	case syntax.OpAlternate:
		n = shortest(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			n = min(n, shortest(sub))
		}
	}
	return n
}

func names() string {
	var b strings.Builder
	for i, kind := range Kinds() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(kind))
	}
	return b.String()
}

// clip keeps a line of an error short.
func clip(text string) string {
	if len(text) <= 60 {
		return text
	}
	return strings.ToValidUTF8(text[:60], "") + "…"
}
