package document

import (
	"fmt"
	"strings"
)

// refusal is an error whose text is the result of a model's tool call: whole
// sentences that say what is wrong and what to do.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// maxListed bounds the things that one sentence lists.
const maxListed = 40

// join lists things for a sentence, all of them.
func join[T any](things []T) string { return strings.Join(words(things), ", ") }

// list lists things for a sentence, cut where the list grows too long to be of
// use.
func list[T any](things []T) string { return listBy(", ", things) }

func listBy[T any](separator string, things []T) string {
	if more := len(things) - maxListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(words(things[:maxListed]), separator), more)
	}
	return strings.Join(words(things), separator)
}

func words[T any](things []T) []string {
	words := make([]string, len(things))
	for i, thing := range things {
		words[i] = fmt.Sprint(thing)
	}
	return words
}
