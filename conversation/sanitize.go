package conversation

import "regexp"

// Sanitizer takes out of a text what the target of a handoff must not read. It is safe for
// concurrent use, and quick: decisions wait for it.
type Sanitizer interface {
	Sanitize(text string) string
}

// Patterns is the [Sanitizer] that is used where a program gives none: it replaces email
// addresses by [EMAIL], numbers of 16 digits by [CARD], and what follows the words
// password, secret and token by [REDACTED].
type Patterns struct{}

var (
	email  = regexp.MustCompile(`\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z|]{2,}\b`)
	card   = regexp.MustCompile(`\b\d{16}\b`)
	secret = regexp.MustCompile(`(?i)(password|secret|token)\s*[:=]\s*\S+`)
)

// Sanitize implements [Sanitizer].
func (Patterns) Sanitize(text string) string {
	text = email.ReplaceAllString(text, "[EMAIL]")
	text = card.ReplaceAllString(text, "[CARD]")
	return secret.ReplaceAllString(text, "[REDACTED]")
}
