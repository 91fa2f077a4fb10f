package wire_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/llm/wire"
)

// requireEqualValues compares what both readers give of a value and of all within it.
func requireEqualValues(t *testing.T, want gjson.Result, got wire.Value) {
	require.Equal(t, want.Raw, got.Raw())
	require.Equal(t, want.Index, got.Result().Index, want.Raw)
	require.Equal(t, want.Exists(), got.Exists())
	require.Equal(t, want.IsObject(), got.IsObject(), want.Raw)
	require.Equal(t, want.IsArray(), got.IsArray(), want.Raw)
	require.Equal(t, want.Type == gjson.String, got.IsString(), want.Raw)
	require.Equal(t, want.Type == gjson.Number, got.IsNumber(), want.Raw)
	require.Equal(t, want.Type == gjson.Null, got.IsNull(), want.Raw)
	require.Equal(t, want.Str, got.Text(), want.Raw)
	require.Equal(t, want.Int(), got.Int(), want.Raw)
	type member struct {
		key   string
		value gjson.Result
	}
	var members []member
	if want.IsObject() || want.IsArray() {
		want.ForEach(func(key, value gjson.Result) bool {
			members = append(members, member{key.Str, value})
			return true
		})
	}
	seen := 0
	for key, value := range got.Members() {
		require.Less(t, seen, len(members), want.Raw)
		require.Equal(t, members[seen].key, key)
		requireEqualValues(t, members[seen].value, value)
		seen++
	}
	for value := range got.Items() {
		require.Less(t, seen, len(members), want.Raw)
		requireEqualValues(t, members[seen].value, value)
		seen++
	}
	require.Equal(t, len(members), seen, want.Raw)
}

// Whatever a document is, it is valid where gjson says so, and its values are those that gjson
// gives.
func FuzzValue(f *testing.F) {
	for _, doc := range append(shapes[:len(shapes):len(shapes)],
		`{}`, `[]`, ` { } `, ` [ ] `, `{"":{"":[]}}`, `{"a":1,"a":2}`, " {\n\"a\" :\t[ 1 ,-2,3e2 ,0.5,-0,[[]],{ }, true ,false,null]\r\n,\"b\": \"x\" } ",
		`{"a\"b":"\\","c\\":"\\\"","\u0064":"\ud83d\ude00\ud83d","e":"\\\\\" \\"}`, `[123456789012345,1234567890123456,12345678901234567890,1.5e300,"12","x",true]`,
		"[\"\xff\",\"é\",\"/\\/\",\"{[\"]", `"text"`, `17`, `null`, `[[[[{"a":[{"b":"]}"}]}]]],1]`,
		"", " ", `{`, `[`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `[1,]`, `[,]`, `[1 2]`, `{"a" 1}`, `{1:2}`, `[}`, `{]`, `[1]]`, `1 2`, `"a`, `"a" "b"`, `tru`, `nulll`, `[truefalse]`,
		`[01]`, `[-]`, `[-0]`, `[1.]`, `[.5]`, `[1e]`, `[1E+]`, `[1e-7]`, `[1.5E+07]`, `[+1]`, `["\x"]`, `["\u12g4"]`, "[\"\x01\"]", "[\"\x7f\"]", "\ufeff{}", "[\f1]",
		strings.Repeat("[", 2000)+strings.Repeat("]", 2000), strings.Repeat("[", 2000)+strings.Repeat(" ", 16<<10)+strings.Repeat("]", 2000),
	) {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		value, ok := wire.ParseForTest(doc)
		require.Equal(t, wire.ValidJSON([]byte(doc)), ok, doc)
		if ok {
			root := gjson.Parse(doc)
			root.Raw = strings.TrimRight(root.Raw, " \t\r\n")
			requireEqualValues(t, root, value)
		}
	})
}

// A document of values without end takes no memory without end.
func TestValuesAreBounded(t *testing.T) {
	many := strings.Repeat("0,", 1<<20)
	_, ok := wire.ParseForTest("[" + many[:1<<20] + "0]")
	require.True(t, ok)
	_, ok = wire.ParseForTest("[" + many + many + "0]")
	require.False(t, ok)
}
