package sanitize

import (
	"strings"
	"sync"

	"github.com/convene-run/convene/internal/lazyregexp"
)

// standing are words that stand where a value would: of types, of states, of what is required.
var standing = sync.OnceValue(func() map[string]bool {
	const words = "none null nil undefined true false yes no on off required optional mandatory missing empty unset unknown invalid valid expired revoked rotated changed reset forgotten " +
		"string str text bool boolean int integer number bytes object array any type value char varchar secretstr password passwd passwort pwd secret token key " +
		"hidden masked redacted removed deleted omitted encrypted hashed protected secure weak strong wrong incorrect correct accepted rejected denied ok failed passed " +
		"bearer basic oauth jwt csrf refresh session default same below above here there see siehe the a an this that your my our ihr dein votre ton tu su seu " +
		"erforderlich vergessen falsch geändert obligatoire oublié requis requerida olvidada obrigatória required. forgot must should may can cannot will expires expired. n/a tbd todo placeholder changeme example " +
		"input output file path env vault prompt stdin enabled disabled shared private public new old current previous next copied sent saved stored обязательно забыт неверный 必須 必填 없음"
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
})

// template are values that a program or a reader fills in: variables, marks, rows of one sign.
var template = lazyregexp.New(`^(?:\$[\w({].*|\{\{?[\w .-]*\}*|<[\w .-]*>?|\[[A-Za-z_ -]*\]?|.*\$\{.*|%[\w(]|(?:os|process|env|self|config|settings|this|request|req|args|opts|options|params|user|ctx|var|local|data|secrets?|vault|ENV|System)[.\[(].*|[\w.]+\(.*|[*•●x.…_#?-]+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|https?://\S*|[~/.]?/[\w./~-]*|\w+_(?:here|key|token|password|secret)|your[-_ ]?.*|.*[-_]your[-_].*|.*[-_]here\b.*)$`)

// stands says whether the value is none, but something that stands for one.
func stands(value string) bool {
	return standing()[strings.ToLower(strings.TrimRight(value, "!.,"))] || template.MatchString(value)
}
