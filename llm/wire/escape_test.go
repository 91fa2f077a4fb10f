package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/llm/wire"
)

// What must be escaped is found wherever it stands, in a word of plain text and behind it,
// and everything else stays as it is.
func TestAppendString(t *testing.T) {
	for b := range 256 {
		for at := range 17 {
			for _, before := range []string{"a", "\x01", "é", "\x7f!"} {
				text := strings.Repeat(before, at) + string([]byte{byte(b)}) + strings.Repeat("z", 9)
				require.Equal(t, reference(text), string(wire.AppendString(nil, text)), "%q", text)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.StringMatching(`[ -~\n"\\é¥漢]*`)).Draw(t, "text")
		out := string(wire.AppendString([]byte("x"), text))
		require.Equal(t, "x"+reference(text), out)
		var back string
		require.NoError(t, json.Unmarshal([]byte(out[1:]), &back))
		require.Equal(t, string([]rune(text)), back)
	})
}

// reference writes a JSON string a character at a time.
func reference(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text { // bytes that are no UTF-8 are U+FFFD
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteString(map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}[r])
		case r < 0x20:
			b.WriteString(`\u00` + string("0123456789abcdef"[r>>4]) + string("0123456789abcdef"[r&15]))
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}
