package plainjson_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/plainjson"
)

type place struct {
	Day any `json:"day"`
}

type rest struct {
	Content string  `json:"content"`
	IDs     []id    `json:"ids,omitempty"`
	Drafts  []draft `json:"drafts"`
	Final   bool    `json:"final"`
}

type id int

type draft struct {
	Text string `json:"text"`
	N    int64  `json:"n"`
}

type arguments struct {
	place
	rest
}

// Ordinary arguments are read without the library.
func TestOrdinaryArguments(t *testing.T) {
	var args arguments
	require.True(t, plainjson.Decode(`{"day": 3, "content":"A \"quoted\"\nline, très long", "ids":[1,-20], "final":true, "drafts":[{"text":"a"},{"n":7,"text":"b"}] } `, &args))
	require.Equal(t, arguments{place{3.0}, rest{"A \"quoted\"\nline, très long", []id{1, -20}, []draft{{"a", 0}, {"b", 7}}, true}}, args)

	var of map[string]any
	require.True(t, plainjson.Decode(`{"section":"Results","day":2,"whole":false}`, &of))
	require.Equal(t, map[string]any{"section": "Results", "day": 2.0, "whole": false}, of)

	var none struct{}
	require.True(t, plainjson.Decode(" {} ", &none))
}

// A type that decodes itself, or has more than plain texts are read into, is left to the library.
func TestTypesThatAreLeftToTheLibrary(t *testing.T) {
	type within struct {
		Of []within `json:"of"`
	}
	for _, v := range []any{
		new(json.RawMessage), new(*int), new(map[string]int), new(float64), new([]json.Number),
		new(struct{ Untagged int }),
		new(struct {
			N int `json:"n,string"`
		}),
		new(within),
	} {
		require.False(t, plainjson.Decode(`{}`, v), "%T", v)
	}
}

// Whatever is read here, the library reads, and reads the same from it.
func TestReadsAsTheLibraryDoes(t *testing.T) {
	values := []string{
		`0`, `-0`, `- 1`, `-`, `7`, `+7`, `-1`, `1.0`, `1.5`, `1e1`, `1E1`, `1e999`, `123456789012345`, `1234567890123456`, `12345678901234567890123`, `01`, `-01`, `0x1`,
		`true`, `false`, `truer`, `True`, `null`, `"morning"`, `"m\u006frning"`, `"\u0061\n\"\\\/"`, `"\u00g1"`, `"\u12"`, `"\`, `"\x"`,
		"\"\xff\"", "\"a\nb\"", "\"\x7f\"", `"\ud800"`, `"\ud83d\ude00"`, `"é"`, `"7"`, `""`, `"`, `[]`, `[ ]`, `[7]`, `[7,]`, `[,7]`, `[7 8]`, `["7"]`, `[1,2,3,4,5,6]`, `[null]`,
		`[{"text":"a"}]`, `[{"text":"a"},{}]`, `[{"text":1}]`, `[{"text":"a","text":"b"}]`, `[{"Text":"a"}]`, `{}`, `{"text":"a"}`, `{"a":[1]}`, `[[1]]`, `[`, `{`, ``, "\f1", " \t\r\n1",
	}
	names := []string{`"day"`, `"content"`, `"ids"`, `"drafts"`, `"final"`, `"d\u0061y"`, `"Day"`, `"other"`, `day`, `""`}
	taken := 0
	for _, start := range []string{"{", "", " {", `{"day":1,`, `{"day":1`, `{"drafts":[{"text":"x","n":3}],`, "[", "\v{"} {
		for _, name := range names {
			for _, value := range values {
				for _, end := range []string{"}", "", "}}", " } ", "}\v", `,"content":"\\"}`, ",}", `,"ids":[]}`} {
					text := start + name + ":" + value + end
					taken += same[arguments](t, text) + same[map[string]any](t, text) + same[[]draft](t, start+value) + same[any](t, value)
				}
			}
		}
	}
	require.Greater(t, taken, 1000)
}

// same reports how often a text was read here, 0 or 1, and then compares.
func same[T any](t *testing.T, text string) int {
	var here, there T
	if !plainjson.Decode(text, &here) {
		return 0
	}
	if err := json.Unmarshal([]byte(text), &there); err != nil || !reflect.DeepEqual(here, there) {
		t.Fatalf("%q is %#v, for the library %#v, %v", text, here, there, err)
	}
	return 1
}
