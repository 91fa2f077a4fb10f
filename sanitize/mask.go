package sanitize

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// Mask gives a text with the kind of each value in its place, such as [EMAIL]: for readers
// outside of a thread, who are to know no more.
func Mask(finder Finder, text string) string {
	found := finder.Find(text)
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		b.WriteString(text[at:f.Start] + "[" + strings.ToUpper(string(f.Kind)) + "]")
		at = f.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// MaskJSON is [Mask] for the texts within JSON, whose order and form stay as they are: names of
// members and numbers too. A text behind a name that says that it is secret is masked whole.
// What is no JSON is masked as far as texts in quotation marks can be told.
func MaskJSON(finder Finder, body []byte) []byte {
	out := make([]byte, 0, len(body))
	member := "" // the name that the next value has
	for i := 0; i < len(body); {
		if body[i] != '"' {
			if body[i] == ',' || body[i] == '{' || body[i] == '[' {
				member = ""
			}
			out = append(out, body[i])
			i++
			continue
		}
		end := stringEnd(body, i)
		raw := body[i:end]
		i = end
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text, raw = string(raw), nil
		}
		if rest := bytes.TrimLeft(body[end:min(len(body), end+8)], " \t\r\n"); raw != nil && len(rest) > 0 && rest[0] == ':' {
			member, out = text, append(out, raw...)
			continue
		}
		within := finder
		if kind := Named(member); kind != "" && raw != nil {
			within = Whole(kind)
		}
		out = append(out, masked(within, text, raw)...)
	}
	return out
}

// masked gives a text masked, in JSON where raw is; as it was where nothing is in it.
func masked(finder Finder, text string, raw []byte) []byte {
	clean := Mask(finder, text)
	switch {
	case raw == nil:
		return []byte(clean)
	case clean == text:
		return raw
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(clean) // a text
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// stringEnd gives where the text ends that the quotation mark at i begins.
func stringEnd(body []byte, i int) int {
	for i++; i < len(body); i++ {
		switch body[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(body)
}

// Lines masks lines of JSON, such as those of a log, on their way to a writer. Each Write is
// one or more whole lines.
type Lines struct {
	To     io.Writer
	Finder Finder
}

// Write implements [io.Writer].
func (l Lines) Write(lines []byte) (int, error) {
	if _, err := l.To.Write(MaskJSON(l.Finder, lines)); err != nil {
		return 0, err
	}
	return len(lines), nil
}
