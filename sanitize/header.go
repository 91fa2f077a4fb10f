package sanitize

import (
	"strings"
	"sync"

	"github.com/convene-run/convene/internal/lazyregexp"
)

// headers are the names of headers that carry credentials.
var headers = sync.OnceValue(func() *vocabulary {
	v := new(vocabulary)
	v.add(Header, "proxy-authorization|authorization|set-cookie|cookie|x-api-key|api-key|x-auth-token|x-access-token|x-csrf-token|x-xsrf-token|x-session-token|x-amz-security-token|"+
		"x-gitlab-token|x-vault-token|x-shopify-access-token|x-figma-token|private-token|x-goog-api-key|ocp-apim-subscription-key|x-functions-key|x-signature|x-hub-signature|x-hub-signature-256")
	return v
})

// behindName is what may stand between name and value: as in a request, in JSON, or in the code
// of a program.
var behindName = lazyregexp.New(`^["'\x60]?\s?(?::|=>|=|,)\s{0,2}["'\x60]?`)

var (
	// authorization is a scheme with what it takes: RFC 9110, 11.6.2.
	authorization = lazyregexp.New(`(?i)^(?:bearer|basic|token|digest|negotiate|ntlm|apikey|aws4-hmac-sha256|hawk|hmac|signature|gnap|dpop)\s+\S{6,}`)
	// pair is what a cookie is made of: RFC 6265, 4.1.1.
	pair = lazyregexp.New(`^[\w!#$%&'*.^|~+-]+=[^\s;]{4,}`)
)

// maxHeader bounds the value of a header: browsers take no more.
const maxHeader = 4 << 10

// findHeaders finds the values of headers that carry credentials, to the end of their line or
// quotation.
func findHeaders(text string, found func(start, end int, kind Kind)) {
	headers().each(text, func(p phrase, at, end int) int {
		between := behindName.FindString(text[end:min(len(text), end+contextBytes)])
		if between == "" || wordBefore(text, at) {
			return end
		}
		start := end + len(between)
		value := headerValue(text, start)
		if !credential(p.words, value) {
			return end
		}
		found(start, start+len(value), Header)
		return start + len(value)
	})
}

// headerValue gives the text up to the end of the line or quotation.
func headerValue(text string, start int) string {
	line := text[start:min(len(text), start+maxHeader)]
	if i := strings.IndexAny(line, "\r\n\"'`"); i >= 0 {
		line = line[:i]
	} else if start+len(line) < len(text) { // no half of a character
		line = strings.ToValidUTF8(line, "")
		if !strings.HasPrefix(text[start:], line) {
			return ""
		}
	}
	return strings.TrimRight(line, " \t.,;)")
}

// credential says whether a value is one that the header takes.
func credential(header, value string) bool {
	switch {
	case strings.HasSuffix(header, "authorization"):
		return authorization.MatchString(value) || !strings.Contains(value, " ") && len(value) >= 16 && random(value)
	case strings.HasSuffix(header, "cookie"):
		return pair.MatchString(value)
	}
	return !strings.Contains(value, " ") && len(value) >= 8 && classOf(value) != plain && !stands(value)
}
