package evidence

import (
	"encoding/json"
	"strings"
	"unicode"
)

// maxWords bounds the words of a quote that are looked for: a passage like its beginning
// is enough to go by.
const maxWords = 60

// nearest gives the passage of the results that shares the most words with the quote, ""
// where none shares half of them.
func nearest(results []*Result, quote string) (passage string) {
	asked := read(quote, true)
	wanted := wordsOf(&asked)
	wanted = wanted[:min(len(wanted), maxWords)]
	best := max(0, (len(wanted)+1)/2-1)
	for _, r := range results {
		t := &r.texts[0]
		if words, shared := closest(wordsOf(t), wanted); shared > best {
			best, passage = shared, t.source[t.at[words[0].from]:t.at[words[len(words)-1].to]]
		}
	}
	return passage
}

// located is a word and where it stands in a folded text.
type located struct {
	word     string
	from, to int
}

func wordsOf(t *text) (words []located) {
	for from := 0; from < len(t.folded); {
		to := strings.IndexByte(t.folded[from:], ' ')
		if to < 0 {
			to = len(t.folded) - from
		}
		to += from
		if word := strings.TrimFunc(t.folded[from:to], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }); word != "" {
			words = append(words, located{word, from, to})
		}
		from = to + 1
	}
	return words
}

// closest gives the stretch of words, as many as are wanted, that has most of those wanted,
// and how many.
func closest(words, wanted []located) (best []located, most int) {
	missing := map[string]int{}
	for _, w := range wanted {
		missing[w.word]++
	}
	shared, size := 0, len(wanted)
	for i, w := range words {
		if missing[w.word] > 0 {
			shared++
		}
		missing[w.word]--
		if i >= size {
			left := words[i-size].word
			missing[left]++
			if missing[left] > 0 {
				shared--
			}
		}
		if shared > most {
			most, best = shared, words[max(0, i-size+1):i+1]
		}
	}
	return best, most
}

// jsonValues gives the names and values of a text that is JSON, one below the other and
// without the signs of the format: that is how a model quotes them. "" for other texts.
func jsonValues(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || !strings.ContainsRune("{[\"", rune(s[0])) || !json.Valid([]byte(s)) {
		return ""
	}
	decoder := json.NewDecoder(strings.NewReader(s))
	decoder.UseNumber()
	var values strings.Builder
	for {
		token, err := decoder.Token()
		if err != nil {
			break // io.EOF: the text is valid
		}
		switch v := token.(type) {
		case string:
			values.WriteString(v + "\n")
		case json.Number:
			values.WriteString(v.String() + "\n")
		}
	}
	return values.String()
}
