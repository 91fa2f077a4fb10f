package loop

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
)

// shape is a schema that says no more than most tools do. Arguments that fit it fit the
// schema, without being taken apart into maps first; about others it says nothing.
type shape struct {
	Type        string            `json:"type"`
	Description string            `json:"description"`
	Properties  map[string]*shape `json:"properties"`
	Required    []string          `json:"required"`
	Items       *shape            `json:"items"`
	Enum        []string          `json:"enum"`
	Minimum     *float64          `json:"minimum"`
	Maximum     *float64          `json:"maximum"`
}

// shapeOf gives the shape of a schema, nil where the schema says more than a shape can.
func shapeOf(schema *jsonschema.Schema) *shape {
	text, err := json.Marshal(schema)
	if err != nil {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var s *shape
	if decoder.Decode(&s) != nil {
		return nil
	}
	return s
}

// takes reports whether arguments are sure to be JSON that fits.
func (s *shape) takes(arguments []byte) bool {
	return s != nil && json.Valid(arguments) && s.fits(&walk{rest: arguments})
}

// fits reports whether the next value is sure to fit, and goes behind it. It gives up on
// whatever readers of JSON could take in two ways, such as escapes in names and long numbers.
func (s *shape) fits(w *walk) bool {
	if s == nil || s.Enum != nil && s.Type != "string" {
		return false
	}
	switch s.Type {
	case "string":
		text, isText := w.text()
		return isText && (s.Enum == nil || slices.Contains(s.Enum, string(text)) && !escaped(text))
	case "boolean":
		return w.word("true") || w.word("false")
	case "integer":
		n, exact := w.integer()
		return exact && (s.Minimum == nil || n >= *s.Minimum) && (s.Maximum == nil || n <= *s.Maximum)
	case "array":
		return w.members('[', ']', s.Items.fits)
	case "object":
		return s.fitsObject(w)
	}
	return false
}

func (s *shape) fitsObject(w *walk) bool {
	var most [8]string // no tool of ours requires more
	missing := append(most[:0], s.Required...)
	fits := w.members('{', '}', func(w *walk) bool {
		name, _ := w.text()
		if i := slices.Index(missing, string(name)); i >= 0 {
			missing = slices.Delete(missing, i, i+1)
		}
		return !escaped(name) && w.word(":") && s.Properties[string(name)].fits(w)
	})
	return fits && len(missing) == 0
}

func escaped(text []byte) bool { return bytes.IndexByte(text, '\\') >= 0 }

// walk goes through JSON that is known to be valid.
type walk struct{ rest []byte }

// word goes behind a word, if it comes next.
func (w *walk) word(word string) (there bool) {
	rest := bytes.TrimLeft(w.rest, " \t\r\n")
	if there = bytes.HasPrefix(rest, []byte(word)); there {
		w.rest = rest[len(word):]
	}
	return there
}

// text goes behind a string, if one comes next, and gives what is between its quotes.
func (w *walk) text() (text []byte, there bool) {
	if !w.word(`"`) {
		return nil, false
	}
	end := 0
	for ; w.rest[end] != '"'; end++ {
		if w.rest[end] == '\\' {
			end++
		}
	}
	text, w.rest = w.rest[:end], w.rest[end+1:]
	return text, true
}

// maxInteger is how many bytes a short integer has at most.
const maxInteger = 16

// integer goes behind a number, if one comes next that is written as a short integer.
func (w *walk) integer() (n float64, there bool) {
	w.word("") // the space before it
	end := 0
	for end < len(w.rest) && bytes.IndexByte([]byte("+-.eE0123456789"), w.rest[end]) >= 0 {
		end++
	}
	i, err := strconv.ParseInt(string(w.rest[:min(end, maxInteger)]), 10, 64)
	w.rest = w.rest[end:]
	return float64(i), err == nil && end <= maxInteger
}

// members goes through an array or an object, if one comes next, as long as its members fit.
func (w *walk) members(open, end byte, fits func(*walk) bool) bool {
	if !w.word(string(open)) {
		return false
	}
	if w.word(string(end)) {
		return true
	}
	for fits(w) {
		if !w.word(",") {
			return w.word(string(end))
		}
	}
	return false
}
