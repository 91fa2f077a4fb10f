package mcpclient

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What endpoints refuse in a schema is left out, and said.
func TestAdapt(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string
		changes  []string
	}{
		"plain":          {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`, nil},
		"empty":          {`{}`, `{"properties":{},"type":"object"}`, nil},
		"schema and id":  {`{"$schema":"http://json-schema.org/draft-07/schema#","$id":"x","type":"object"}`, `{"properties":{},"type":"object"}`, nil},
		"null lists":     {`{"type":"object","properties":null,"required":null}`, `{"properties":{},"type":"object"}`, nil},
		"choice":         {`{"type":"object","oneOf":[{"required":["a"]}]}`, `{"properties":{},"type":"object"}`, []string{"oneOf at the top of its schema is left out: endpoints refuse it there"}},
		"inner choice":   {`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"type":"object"}`, nil},
		"list":           {`{"type":"array"}`, `{"properties":{},"type":"object"}`, []string{"the type of its arguments is object instead of array"}},
		"reference out":  {`{"properties":{"a":{"$ref":"https://example.com/s.json"}}}`, `{"properties":{"a":{}},"type":"object"}`, []string{"a reference to https://example.com/s.json of a is left out: it leads out of the schema"}},
		"reference":      {`{"properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"$schema":"x","type":"string"}}}`, `{"$defs":{"b":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/b"}},"type":"object"}`, nil},
		"pattern":        {`{"properties":{"a":{"pattern":"^(?=x)"}}}`, `{"properties":{"a":{}},"type":"object"}`, []string{"the pattern ^(?=x) of a is left out: it cannot be checked"}},
		"old limit":      {`{"properties":{"a":{"type":"number","minimum":0,"exclusiveMinimum":true}}}`, `{"properties":{"a":{"exclusiveMinimum":0,"type":"number"}},"type":"object"}`, nil},
		"argument":       {`{"properties":{"a b":{}, "c":{}}}`, `{"properties":{"c":{}},"type":"object"}`, []string{`the argument "a b" is left out: endpoints refuse its name`}},
		"named as words": {`{"properties":{"pattern":{"type":"string"},"required":{"type":"string"},"$schema":{"type":"string"}}}`, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			to, changes, err := adapt([]byte(c.from))
			if name == "named as words" { // an argument may be called like a keyword
				require.NoError(t, err)
				require.Contains(t, string(to), `"pattern":{"type":"string"},"required":{"type":"string"}`)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.to, string(to))
			require.Equal(t, c.changes, changes)
			again, _, err := adapt(to)
			require.NoError(t, err)
			require.Equal(t, string(to), string(again))
		})
	}
	for from, want := range map[string]string{
		`[]`:   "its schema is no JSON object",
		`null`: "its schema is no JSON object",
		`{"properties":{"a b":{}},"required":["a b"]}`:                   "whose name endpoints refuse",
		`{"properties":{"a":{"type":7}}}`:                                "its schema cannot be read",
		`{"properties":{"a":{"$ref":"#/$defs/none"}}}`:                   "its schema cannot be read",
		strings.Repeat(`{"not":`, 50) + `{}` + strings.Repeat(`}`, 50):   "",
		strings.Repeat(`{"items":`, 50) + `{}` + strings.Repeat(`}`, 50): "nests more than 40 deep",
		`{"description":"` + strings.Repeat("x", maxSchemaBytes) + `"}`:  "64 kB is the most",
	} {
		_, _, err := adapt([]byte(from))
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
	}
}

// Whatever a server sends, it is adapted or refused, and adapting twice changes nothing more.
func FuzzAdapt(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/b","pattern":"("}},"$defs":{"b":{}},"required":["a"]}`))
	f.Add([]byte(`{"oneOf":[{"items":[{"exclusiveMinimum":true}]}]}`))
	f.Fuzz(func(t *testing.T, from []byte) {
		to, _, err := adapt(from)
		if err != nil {
			return
		}
		again, changes, err := adapt(to)
		require.NoError(t, err)
		require.Equal(t, string(to), string(again))
		require.Empty(t, changes)
	})
}

// Names are what endpoints take, and each tool's own.
func TestToolNames(t *testing.T) {
	long := strings.Repeat("x", 70)
	names := toolNames("wiki", []Tool{{Name: "search"}, {Name: "a.b"}, {Name: "a_b"}, {Name: "a/b"}, {Name: long}, {Name: long + "y"}, {Name: "日本"}})
	require.Equal(t, []string{"wiki__search", "wiki__a_b_", "wiki__a_b", "wiki__a_b_"}, []string{names[0], names[1][:10], names[2], names[3][:10]})
	seen := map[string]bool{}
	for _, name := range names {
		require.Regexp(t, `^[a-zA-Z0-9_-]{1,64}$`, name)
		require.False(t, seen[name], name)
		seen[name] = true
	}
}
