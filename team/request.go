package team

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// requestVar is the placeholder that every request template has.
const requestVar = "request"

// plainRequest is the template that passes the user's text on as it is.
const plainRequest = "{{" + requestVar + "}}"

var (
	placeholder = regexp.MustCompile(`\{\{([^{}]*)\}\}`)
	varName     = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
)

// Vars lists the placeholders of the request template beside {{request}}, each
// once, in order.
func (t *Team) Vars() []string {
	var names []string
	for _, match := range placeholder.FindAllStringSubmatch(t.Request, -1) {
		name := strings.TrimSpace(match[1])
		if name != requestVar && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Message fills the request template with the user's text and the values of
// [Team.Vars]. Values are put in as they are: a placeholder within them stays
// text. A value that is missing is an error.
func (t *Team) Message(request string, vars map[string]string) (string, error) {
	var missing []string
	message := placeholder.ReplaceAllStringFunc(t.Request, func(match string) string {
		name := strings.TrimSpace(match[2 : len(match)-2])
		if name == requestVar {
			return request
		}
		value, ok := vars[name]
		if !ok && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("the request template of team %s needs a value for %s; give it in the row's vars",
			t.Name, strings.Join(missing, ", "))
	}
	return message, nil
}

// checkRequest looks at the placeholders of a request template.
func checkRequest(template string, found *problems) {
	hasRequest := false
	for _, match := range placeholder.FindAllStringSubmatch(template, -1) {
		name := strings.TrimSpace(match[1])
		hasRequest = hasRequest || name == requestVar
		if !varName.MatchString(name) {
			found.add("request", "%q is no placeholder; write a name such as {{city}}: a lower-case letter, then up to 39 lower-case letters, digits or _", match[0])
		}
	}
	if !hasRequest {
		found.add("request", "the template lacks {{request}}, so the user's text would be lost; add it where that text belongs")
	}
}
