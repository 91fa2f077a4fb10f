package sanitize

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/convene-run/convene/internal/lazyregexp"
)

// Value is what a placeholder stands for in one thread.
type Value struct {
	Kind Kind
	// Placeholder is what texts have in place of Text, such as "[EMAIL_1]". The number counts
	// within the thread and says nothing of the value.
	Placeholder, Text string
}

// lookalike is the kind of a text of a person's that only looks like a placeholder. It is
// replaced by one, so that it is restored to itself.
const lookalike Kind = "text"

// shape is that of every placeholder, of any thread and kind. It is upper-case and has no
// word that a model would translate or inflect.
var shape = lazyregexp.New(`\[[A-Z][A-Z0-9_]{0,30}_[1-9][0-9]{0,8}\]`)

// minRemembered is the length from which a secret is found again where nothing but its text
// gives it away. Shorter ones are words of other sentences.
const minRemembered = 5

// maxRemembered bounds the secrets that are looked for in every text, the newest ones: each
// reads it once more.
const maxRemembered = 256

// Values are those of one thread: a fold, whose facts are values and the texts of people. The
// zero Values is of a thread in which nothing was replaced. It is not safe for concurrent use.
type Values struct {
	byText  map[Kind]map[string]string // placeholders
	byName  map[string]string          // texts
	secrets []Value                    // those that are known by the words before them
	avoid   map[string]bool            // what people wrote that looks like a placeholder
}

// Add folds a value. Its text is "" where the log was exported without it: the placeholder is
// then taken, and stays. One whose placeholder is known already, or is none, changes nothing.
func (v *Values) Add(value Value) {
	if _, known := v.byName[value.Placeholder]; known || shape.FindString(value.Placeholder) != value.Placeholder {
		return
	}
	if v.byName == nil {
		v.byName, v.byText = map[string]string{}, map[Kind]map[string]string{}
	}
	if v.byText[value.Kind] == nil {
		v.byText[value.Kind] = map[string]string{}
	}
	v.byName[value.Placeholder], v.byText[value.Kind][value.Text] = value.Text, value.Placeholder
	if (value.Kind == Password || value.Kind == Key) && len(value.Text) >= minRemembered {
		v.secrets = append(v.secrets, value)
		v.secrets = v.secrets[max(0, len(v.secrets)-maxRemembered):]
	}
}

// Said folds what a person wrote: no value gets a placeholder that stands in it, which would
// be restored where somebody quotes that person.
func (v *Values) Said(text string) {
	for _, literal := range shape.FindAllString(text, -1) {
		if v.avoid == nil {
			v.avoid = map[string]bool{}
		}
		v.avoid[literal] = true
	}
}

// Len is how many values have a placeholder.
func (v *Values) Len() int { return len(v.byName) }

// All gives the values that are known, by their placeholders. Whoever calls it has checked
// that the reader may see them.
func (v *Values) All() []Value {
	var all []Value
	for kind, texts := range v.byText {
		for text, placeholder := range texts {
			if text != "" {
				all = append(all, Value{kind, placeholder, text})
			}
		}
	}
	slices.SortFunc(all, func(a, b Value) int { return strings.Compare(a.Placeholder, b.Placeholder) })
	return all
}

// Sanitize gives the text with placeholders in place of the values in it, and the values that
// are new. The same value always has the same placeholder. person says that a person wrote
// the text: a placeholder in it is then none, but stands for itself. In the text of an agent it
// is what the agent was given.
//
// Values stays as it is: the text may be passed on once the new values were added.
func (v *Values) Sanitize(finder Finder, text string, person bool) (clean string, fresh []Value) {
	found := v.find(finder, text, person)
	if len(found) == 0 {
		return text, nil
	}
	name := v.namer(text)
	var b strings.Builder
	at := 0
	for _, f := range found {
		value := text[f.Start:f.End]
		placeholder, isNew := name(f.Kind, value)
		if isNew {
			fresh = append(fresh, Value{f.Kind, placeholder, value})
		}
		b.WriteString(text[at:f.Start] + placeholder)
		at = f.End
	}
	b.WriteString(text[at:])
	return b.String(), fresh
}

// find gives what is to be replaced: what the finder finds, secrets of the thread, and what
// looks like a placeholder and is none.
func (v *Values) find(finder Finder, text string, person bool) []Finding {
	found := finder.Find(text)
	for _, secret := range v.secrets {
		for at := 0; ; {
			i := strings.Index(text[at:], secret.Text)
			if i < 0 {
				break
			}
			start, end := at+i, at+i+len(secret.Text)
			if !wordBefore(text, start) && !wordAfter(text, end) {
				found = append(found, Finding{start, end, secret.Kind})
			}
			at = end
		}
	}
	if !strings.Contains(text, "[") {
		return longest(found)
	}
	var given []Finding
	for _, at := range shape.FindAllStringIndex(text, -1) {
		if _, known := v.byName[text[at[0]:at[1]]]; known && !person {
			given = append(given, Finding{at[0], at[1], ""})
			continue
		}
		found = append(found, Finding{at[0], at[1], lookalike})
	}
	return longest(outside(found, given))
}

// outside leaves out what touches a placeholder that an agent was given: it is none of its own
// text. Those that were given are in order.
func outside(found, given []Finding) []Finding {
	return slices.DeleteFunc(found, func(f Finding) bool {
		at := sort.Search(len(given), func(i int) bool { return given[i].End > f.Start })
		return at < len(given) && given[at].Start < f.End
	})
}

// namer names values: those that are known, and new ones by the next number of their kind
// that neither the thread nor the text has.
func (v *Values) namer(text string) func(kind Kind, value string) (name string, isNew bool) {
	written, made, next := map[string]bool{}, map[Value]string{}, map[Kind]int{}
	for _, literal := range shape.FindAllString(text, -1) {
		written[literal] = true
	}
	return func(kind Kind, value string) (string, bool) {
		key := Value{Kind: kind, Text: value}
		if name, known := v.byText[kind][value]; known {
			return name, false
		}
		if name, known := made[key]; known {
			return name, false
		}
		for n := max(next[kind], len(v.byText[kind])) + 1; ; n++ {
			name := fmt.Sprintf("[%s_%d]", strings.ToUpper(string(kind)), n)
			if _, known := v.byName[name]; !known && !v.avoid[name] && !written[name] {
				made[key], next[kind] = name, n
				return name, true
			}
		}
	}
}

// Restore puts the values back in place of their placeholders. What is no placeholder of the
// thread stays as it is, and what is put back is not looked at again.
//
// Whoever calls it has checked that the reader may see the values.
func (v *Values) Restore(text string) string {
	if len(v.byName) == 0 || !strings.Contains(text, "[") {
		return text
	}
	return shape.ReplaceAllStringFunc(text, func(name string) string {
		if value := v.byName[name]; value != "" {
			return value
		}
		return name
	})
}
