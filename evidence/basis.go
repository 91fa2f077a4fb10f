package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/lazyregexp"
)

// Basis is a passage that a result rests on: one that was found in its source, with the
// entry that named it. Exactly one of URL, File, Artifact and Tool is set.
type Basis struct {
	// Field is the JSON pointer of a value of the answer that stands in Quote, Sentence a
	// sentence of the answer that stands in the entry; both word for word. Neither is set
	// where only the document has it.
	Field    string `json:"field,omitempty"`
	Sentence string `json:"sentence,omitempty"`
	events.Source
	Quote string `json:"quote"`
	// SHA256 is of the text that Quote was found in, in hexadecimal digits.
	SHA256 string         `json:"sha256"`
	Entry  events.EntryID `json:"entry"`
	// ModelCall wrote the entry, Call returned the text.
	ModelCall events.ModelCallID `json:"model_call"`
	Call      *events.CallPlace  `json:"call,omitempty"`
}

// minFieldChars are the letters and digits of a value that is looked for in quotes.
const minFieldChars = 2

// Of gives what an answer and the document beside it rest on, in the order of the document.
// A structured answer is JSON.
func Of(doc *document.Document, answer string, structured bool) []Basis {
	var found []document.Footnote
	for _, place := range doc.Places() {
		for _, entry := range doc.Entries(place) {
			for _, note := range doc.Footnotes(entry.ID) {
				if note.Found {
					found = append(found, note)
				}
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	parts := partsOf(answer, structured)
	var all []Basis
	for _, note := range found {
		all = append(all, basisOf(doc, note, parts)...)
	}
	return all
}

// basisOf gives a footnote with each part of the answer that rests on it.
func basisOf(doc *document.Document, note document.Footnote, parts []part) (all []Basis) {
	entry, _ := doc.Entry(note.Entry)
	b := Basis{
		Source: note.Source, Quote: note.Quote, SHA256: note.SHA256, Entry: note.Entry, ModelCall: entry.ModelCall, Call: note.Call,
	}
	quote, content := read(note.Quote, false), read(entry.Content, false)
	for _, p := range parts {
		with := b
		switch {
		case p.field != "" && quote.has(p.folded):
			with.Field = p.field
		case p.field == "" && content.has(p.folded):
			with.Sentence = p.text
		default:
			continue
		}
		all = append(all, with)
	}
	if len(all) == 0 {
		return []Basis{b}
	}
	return all
}

// part is a sentence of an answer, or a value of one that is JSON.
type part struct{ field, text, folded string }

func partsOf(answer string, structured bool) []part {
	if structured {
		return fields(answer)
	}
	return sentences(answer)
}

// sentenceEnd is behind a sentence or a line.
var sentenceEnd = lazyregexp.New(`[.!?]["'”’)]?\s+|[。！？]|\n+`)

func sentences(answer string) (parts []part) {
	for from := 0; from < len(answer); {
		to := len(answer)
		if end := sentenceEnd.FindStringIndex(answer[from:]); end != nil {
			to = from + end[1]
		}
		text := strings.Trim(answer[from:to], "#*-_>| \t\r\n")
		if folded := strings.TrimSpace(read(text, false).folded); !short(folded) {
			parts = append(parts, part{text: text, folded: folded})
		}
		from = to
	}
	return parts
}

// fields gives the texts and numbers of a JSON value, each with its pointer.
func fields(answer string) []part {
	decoder := json.NewDecoder(bytes.NewReader([]byte(answer)))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	return addFields(nil, "", value)
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func addFields(parts []part, pointer string, value any) []part {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = addFields(parts, pointer+"/"+pointerEscapes.Replace(name), v[name])
		}
	case []any:
		for i, item := range v {
			parts = addFields(parts, fmt.Sprintf("%s/%d", pointer, i), item)
		}
	case string, json.Number:
		text := fmt.Sprint(v)
		if folded := strings.TrimSpace(read(text, false).folded); signsOf(folded) >= minFieldChars {
			parts = append(parts, part{field: pointer, text: text, folded: folded})
		}
	}
	return parts
}
