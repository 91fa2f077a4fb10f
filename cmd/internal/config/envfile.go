package config

import (
	"fmt"
	"strings"
)

// parseEnv reads lines NAME=VALUE. Blank lines and those that begin with # count nothing;
// export may stand before a name, quotes around a value, and a comment behind it after a
// space. Nothing is expanded. Errors name the line and never repeat it: it may hold a key.
func parseEnv(name string, text []byte) (map[string]string, error) {
	values := map[string]string{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(strings.TrimPrefix(line, "\uFEFF"))
		if line == "" || line[0] == '#' {
			continue
		}
		variable, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		variable = strings.TrimSpace(variable)
		if !ok || !variableName.MatchString(variable) {
			return nil, fmt.Errorf("%s:%d: want NAME=VALUE", name, number)
		}
		if values[variable], ok = unquoteEnv(strings.TrimSpace(value)); !ok {
			return nil, fmt.Errorf("%s:%d: the quotes around the value of %s do not end on its line", name, number, variable)
		}
	}
	return values, nil
}

func unquoteEnv(value string) (string, bool) {
	if value == "" || value[0] != '"' && value[0] != '\'' {
		if value, _, comment := strings.Cut(value, " #"); comment {
			return strings.TrimSpace(value), true
		}
		return value, true
	}
	inner, after, closed := strings.Cut(value[1:], value[:1])
	after = strings.TrimSpace(after)
	return inner, closed && (after == "" || after[0] == '#')
}
