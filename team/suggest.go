package team

import (
	"github.com/convene-run/convene/internal/nearest"
)

// didYouMean is the hint for an unknown word, ready to follow a message.
func didYouMean(word string, candidates []string) string {
	if near := nearest.Of(word, candidates); near != "" {
		return "; did you mean \"" + near + "\"?"
	}
	return ";"
}
