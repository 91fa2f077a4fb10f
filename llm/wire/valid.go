package wire

import "github.com/tidwall/gjson"

const (
	// maxNesting bounds the depth of a JSON document: gjson validates recursively, and
	// a document of brackets alone would exhaust the stack.
	maxNesting = 1000
	// alwaysShallow is the size below which no depth can do harm.
	alwaysShallow = 16 << 10
)

// ValidJSON reports whether data is JSON of bearable depth.
func ValidJSON(data []byte) bool {
	return (len(data) <= alwaysShallow || nesting(data) <= maxNesting) && gjson.ValidBytes(data)
}

// validText is [ValidJSON] for text.
func validText(text string) bool {
	return (len(text) <= alwaysShallow || nesting([]byte(text)) <= maxNesting) && gjson.Valid(text)
}

// nesting gives how deep data nests, at least as far as it matters.
func nesting(data []byte) int {
	depth, deepest := 0, 0
	inString, escape := false, false
	for _, b := range data {
		switch {
		case escape:
			escape = false
		case inString:
			escape = b == '\\'
			inString = b != '"'
		case b == '"':
			inString = true
		case b == '{' || b == '[':
			if depth++; depth > deepest {
				deepest = depth
			}
		case b == '}' || b == ']':
			depth--
		}
	}
	return deepest
}
