package termview

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Characters, and those of ASCII that look like them: our own signs and lines, punctuation,
// letters.
const (
	signs     = "✓✗◐○●‖█░─│┼┌┐└┘├┤┬┴"
	signsAs   = "+x*oo=#.-|+++++++++"
	marks     = "–—‑−…·•›‹«»“”„‘’‚→←↑↓×¥€\u00a0"
	marksAs   = "----~-*><<>\"\"\"'''><^vxYE "
	letters   = "ÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåçèéêëìíîïñòóôõöøùúûüýÿ"
	lettersAs = "AAAAAACEEEEIIIINOOOOOOUUUUYsaaaaaaceeeeiiiinoooooouuuuyy"
)

var lookalikes = sync.OnceValue(func() map[string]byte {
	is := map[string]byte{}
	for i, r := range []rune(signs + marks + letters) {
		is[string(r)] = (signsAs + marksAs + lettersAs)[i]
	}
	return is
})

// ASCII gives text for a terminal that shows nothing else. Every character keeps its cells,
// so that what was set into columns stays so; one that nothing looks like becomes question
// marks. Escape sequences pass.
func ASCII(s string) string {
	if plain(s) {
		return s
	}
	var out strings.Builder
	for s != "" {
		if s[0] == escape {
			sequence, _, n, _ := ansi.DecodeSequence(s, 0, nil)
			out.WriteString(sequence)
			s = s[n:]
			continue
		}
		character, width := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		s = s[len(character):]
		if !plain(character) {
			character = asciiOf(character, width)
		}
		out.WriteString(character)
	}
	return out.String()
}

const escape = 0x1b

func plain(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// asciiOf gives what one character looks like, in its cells.
func asciiOf(character string, width int) string {
	if is, known := lookalikes()[character]; known {
		return string(is)
	}
	if first := character[0]; first < utf8.RuneSelf && width == 1 {
		return string(first) // a letter under combining marks
	}
	return strings.Repeat("?", width)
}
