package wire

import (
	"unicode/utf8"

	"github.com/convene-run/convene/internal/chars"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string, every valid character as it is but
// for those that JSON must escape. Bytes that are no UTF-8 become U+FFFD.
//
// Each request repeats its whole history, so that most of what writing it costs is
// this: stretches without anything to escape are looked through a word at a time.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := chars.Unescaped(s); i < len(s); i += chars.Unescaped(s[i:]) {
		b := s[i]
		if b >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[from:i]...)
		switch b {
		case '"', '\\':
			dst = append(dst, '\\', b)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// AppendStrings appends a JSON array of strings.
func AppendStrings(dst []byte, list []string) []byte {
	for i, s := range list {
		dst = AppendString(append(dst, "[,"[min(i, 1)]), s)
	}
	return append(dst, ']')
}
