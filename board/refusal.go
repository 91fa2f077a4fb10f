package board

import (
	"fmt"
	"strings"
)

// maxProblems bounds the problems that one refusal names: enough to fix them in
// one go, not so many that a runaway call floods the model's window.
const maxProblems = 8

// refusal is an error whose text is the result of a model's tool call: whole
// sentences that say what is wrong and what to do.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// joinProblems makes one text of what is wrong.
func joinProblems(problems []string) string {
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems:maxProblems], fmt.Sprintf("And %d more of the kind.", more))
	}
	return strings.Join(problems, " ")
}

// join lists ids for a sentence.
func join[T any](ids []T) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = fmt.Sprint(id)
	}
	return strings.Join(words, ", ")
}
