package wire

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"
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
	for i := plain(s); i < len(s); i += plain(s[i:]) {
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

// plain gives the length of the stretch of ASCII at the beginning of s in which JSON
// escapes nothing.
func plain(s string) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	data := unsafe.Slice(unsafe.StringData(s), len(s))
	i := 0
	for ; len(data)-i >= 8; i += 8 {
		word := binary.LittleEndian.Uint64(data[i:])
		quotes, slashes := word^('"'*ones), word^('\\'*ones)
		// The lowest byte that is marked is one of these; above it marks may be wrong,
		// where a subtraction borrows.
		marks := (word | (word-0x20*ones)&^word | (quotes-ones)&^quotes | (slashes-ones)&^slashes) & highs
		if marks != 0 {
			return i + bits.TrailingZeros64(marks)/8
		}
	}
	for ; i < len(data); i++ {
		if b := data[i]; b < 0x20 || b >= utf8.RuneSelf || b == '"' || b == '\\' {
			break
		}
	}
	return i
}

// AppendStrings appends a JSON array of strings.
func AppendStrings(dst []byte, list []string) []byte {
	for i, s := range list {
		dst = AppendString(append(dst, "[,"[min(i, 1)]), s)
	}
	return append(dst, ']')
}
