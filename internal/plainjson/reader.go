package plainjson

import (
	"strings"
	"unicode/utf8"
)

// Reader goes through a text. Each method reports whether what it is for comes next, white space
// aside, and goes behind it; where it does not, the reader is of no more use. The zero Reader has
// an empty text.
type Reader struct{ rest string }

// NewReader begins to read a text.
func NewReader(text string) Reader { return Reader{text} }

// End reports whether nothing follows.
func (r *Reader) End() bool {
	r.space()
	return r.rest == ""
}

// space goes behind white space.
func (r *Reader) space() {
	for len(r.rest) > 0 && r.rest[0] <= ' ' {
		if c := r.rest[0]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return
		}
		r.rest = r.rest[1:]
	}
}

// sign goes behind a sign such as a colon.
func (r *Reader) sign(sign byte) bool {
	r.space()
	if r.rest == "" || r.rest[0] != sign {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

// Bool reads true or false.
func (r *Reader) Bool() (value, ok bool) {
	r.space()
	for _, word := range [...]string{"true", "false"} {
		if rest, there := strings.CutPrefix(r.rest, word); there {
			r.rest = rest
			return word == "true", true
		}
	}
	return false, false
}

// maxDigits are those of the longest whole number that is read: it is exact in a float, too.
const maxDigits = 15

// Integer reads a whole number that is written as one.
func (r *Reader) Integer() (n int64, ok bool) {
	negative := r.sign('-')
	if !negative {
		r.space()
	}
	end := 0
	for ; end < len(r.rest) && r.rest[end] >= '0' && r.rest[end] <= '9'; end++ {
		if end == maxDigits {
			return 0, false
		}
		n = n*10 + int64(r.rest[end]-'0')
	}
	if end == 0 || r.rest[0] == '0' && end > 1 || end < len(r.rest) && strings.IndexByte(".eE", r.rest[end]) >= 0 {
		return 0, false
	}
	if negative {
		n = -n
	}
	r.rest = r.rest[end:]
	return n, true
}

// Text reads a string and gives what stands between its quotes, and whether that has escapes.
// It is valid UTF-8.
func (r *Reader) Text() (text string, escaped, ok bool) {
	if !r.sign('"') {
		return "", false, false
	}
	ascii := true
	for i := 0; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case c == '"':
			text, r.rest = r.rest[:i], r.rest[i+1:]
			return text, escaped, ascii || utf8.ValidString(text)
		case c == '\\':
			n := escape(r.rest[i:])
			if n == 0 {
				return "", false, false
			}
			i, escaped = i+n-1, true
		case c < ' ':
			return "", false, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return "", false, false
}

// escape gives the length of the escape with which a text begins, 0 where it is none.
func escape(text string) int {
	const hex = 4
	switch {
	case len(text) < 2:
		return 0
	case strings.IndexByte(`"\/bfnrt`, text[1]) >= 0:
		return 2
	case text[1] != 'u' || len(text) < 2+hex:
		return 0
	}
	for _, c := range []byte(text[2 : 2+hex]) {
		if !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f') {
			return 0
		}
	}
	return 2 + hex
}

// Name reads the name of a member of an object and the colon behind it. One with escapes is
// not read.
func (r *Reader) Name() (name string, ok bool) {
	name, escaped, ok := r.Text()
	return name, ok && !escaped && r.sign(':')
}

// Open goes into an array or an object and reports whether it has a member:
//
//	more, ok := r.Open('[', ']')
//	for ; more; more, ok = r.More(']') {
//		// read a member
//	}
func (r *Reader) Open(begin, end byte) (more, ok bool) {
	if !r.sign(begin) {
		return false, false
	}
	return !r.sign(end), true
}

// More goes on behind a member and reports whether another follows; else it goes behind the end.
func (r *Reader) More(end byte) (more, ok bool) {
	if r.sign(',') {
		return true, true
	}
	return false, r.sign(end)
}
