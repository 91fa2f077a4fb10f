// Package effort knows which reasoning efforts models accept. People set one of five
// levels; each family of models has words of its own for them, and refuses others.
//
//	if err := effort.Check("openai/gpt-5", "none"); err != nil {
//		return err // gpt-5 always thinks: it takes low, medium, high or max
//	}
//
// The package names words. Which field of a request carries them is for the adapters.
package effort

import (
	"fmt"
	"slices"
	"strings"
)

// None is the level at which a model does not think.
const None = "none"

// Levels are what people set, the least first. The last is the most that a model takes,
// whatever its provider calls it.
func Levels() []string { return []string{None, "low", "medium", "high", "max"} }

// strongest are the words for the level max, the strongest first.
var strongest = []string{"max", "xhigh", "high"}

// Takes lists the levels that a model takes, the least first. known is false for a model
// that nothing is known of.
func Takes(model string) (levels []string, known bool) {
	f := familyOf(model)
	if f == nil {
		return nil, false
	}
	for _, level := range Levels() {
		if _, ok := f.word(level); ok {
			levels = append(levels, level)
		}
	}
	return levels, true
}

// Word gives the provider's word for a level of the model, "" where nothing is to be
// sent: the model does not think anyway, or does not take the level. A model that nothing
// is known of is sent the level as it is.
func Word(model, level string) string {
	if level == "" {
		return ""
	}
	f := familyOf(model)
	if f == nil {
		return level
	}
	word, _ := f.word(level)
	return word
}

// RefusedError says that a model does not take a level.
type RefusedError struct {
	Model, Level string
	// Takes are the levels that it takes, none if its thinking cannot be steered.
	Takes []string
}

func (e *RefusedError) Error() string {
	if len(e.Takes) == 0 {
		return fmt.Sprintf("model %s accepts no effort: its thinking cannot be adjusted. Leave effort %q out", e.Model, e.Level)
	}
	if slices.Equal(e.Takes, []string{None}) {
		return fmt.Sprintf("model %s does not think, so it accepts no effort %q. Leave it out, or choose a model that thinks", e.Model, e.Level)
	}
	return fmt.Sprintf("model %s does not accept the effort %q, only %s. Set one of these, or leave effort out", e.Model, e.Level, either(e.Takes))
}

func either(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Check gives a [*RefusedError] if the model is known not to take the level. The empty
// level, which leaves it to the model, is always taken.
func Check(model, level string) error {
	if level == "" {
		return nil
	}
	levels, known := Takes(model)
	if !known || slices.Contains(levels, level) {
		return nil
	}
	return &RefusedError{Model: model, Level: level, Takes: levels}
}

// Graded reports whether the model takes degrees of thinking beside on and off.
func Graded(model string) bool {
	f := familyOf(model)
	return f == nil || len(f.words) > 2
}

// Sampled reports whether the model takes a temperature at that level.
func Sampled(model, level string) bool {
	if level == "" || level == None {
		return true
	}
	f := familyOf(model)
	return f == nil || !f.unsampled
}
