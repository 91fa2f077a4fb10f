package chars

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// Unescaped gives the length of the stretch of ASCII at the beginning of s in which JSON
// escapes nothing.
func Unescaped(s string) int {
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
