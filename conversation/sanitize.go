package conversation

import (
	"encoding/json"
	"regexp"
)

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

// secretName is the name of a member of a JSON object whose value is secret.
var secretName = regexp.MustCompile(`(?i)(password|secret|token)`)

// SanitizeJSON sanitizes the texts and names of a JSON value, and the whole text behind a
// name that says that it is secret. What is no JSON is left out.
func SanitizeJSON(s Sanitizer, raw json.RawMessage) json.RawMessage {
	var value any
	if len(raw) == 0 || json.Unmarshal(raw, &value) != nil {
		return nil
	}
	clean, _ := json.Marshal(sanitizeValue(s, value)) // it came from JSON
	return clean
}

func sanitizeValue(s Sanitizer, value any) any {
	switch v := value.(type) {
	case string:
		return s.Sanitize(v)
	case []any:
		for i := range v {
			v[i] = sanitizeValue(s, v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, inner := range v {
			if _, text := inner.(string); text && secretName.MatchString(name) {
				inner = "[REDACTED]"
			}
			clean[s.Sanitize(name)] = sanitizeValue(s, inner)
		}
		return clean
	}
	return value
}
