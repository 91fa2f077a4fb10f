package builtin

import (
	"fmt"
	"unicode/utf8"

	"github.com/convene-run/convene/internal/chars"
)

const (
	// noteChars is left free behind a part for the note that says how to read on.
	noteChars = 300
	// defaultPartChars is a part where the team has no bound on results.
	defaultPartChars = 40_000
	// leastPartChars is a part where the bound leaves hardly any room.
	leastPartChars = 200
)

// partChars is how much of a long text one result has, under the team's bound on results.
func partChars(maxResultChars int) int {
	if maxResultChars <= 0 {
		return defaultPartChars
	}
	return max(leastPartChars, maxResultChars-noteChars)
}

// part gives at most most characters of a text from a byte on, and where the next begins; 0
// is that nothing follows.
func part(text string, offset int64, most int) (piece string, next int64, err error) {
	if offset < 0 || offset > int64(len(text)) {
		return "", 0, pastEnd(offset, int64(len(text)))
	}
	for offset > 0 && offset < int64(len(text)) && !utf8.RuneStart(text[offset]) {
		offset--
	}
	rest := text[offset:]
	piece, more := chars.Cut(rest, most)
	if more > 0 {
		next = offset + int64(len(piece))
	}
	return piece, next, nil
}

func pastEnd(offset, size int64) error {
	return fmt.Errorf("offset %d is none in a text of %d bytes: give 0, or the offset that the previous part named", offset, size)
}

// readOn is the note behind a part of a text.
func readOn(from, next, size int64) string {
	switch {
	case next > 0:
		return fmt.Sprintf("\n[bytes %d to %d of %d; to read on, repeat the call with offset %d]", from, next, size, next)
	case from > 0:
		return fmt.Sprintf("\n[bytes %d to %d, the end]", from, size)
	}
	return ""
}
