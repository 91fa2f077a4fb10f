package sanitize

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"
)

// shapesByByte are [shapes] by the first byte of their prefixes.
var shapesByByte = sync.OnceValue(func() *[256][]int {
	var by [256][]int
	for i, s := range shapes {
		by[s.prefix[0]] = append(by[s.prefix[0]], i)
	}
	return &by
})

// findKeys finds keys of [shapes], JSON Web Tokens, bots' tokens of Telegram, the addresses of
// Slack's webhooks, and what stands behind Bearer.
func findKeys(text string, found func(start, end int, kind Kind)) {
	by := shapesByByte()
	for i := 0; i < len(text); {
		if b := text[i]; !isAlnum(b) {
			i++
			continue
		}
		if end := keyAt(text, i, by[text[i]]); end > i {
			found(i, end, Key)
			i = end
			continue
		}
		for i < len(text) && (isAlnum(text[i]) || text[i] == '_') { // a key begins where a word does
			i++
		}
	}
}

// keyAt gives where the key ends that begins at i, 0 where none does.
func keyAt(text string, i int, candidates []int) int {
	for _, at := range candidates {
		s := shapes[at]
		if !strings.HasPrefix(text[i:], s.prefix) {
			continue
		}
		body := i + len(s.prefix)
		end := spanOf(text[:min(len(text), body+maxKey+1)], body, s.of)
		if n := end - body; n >= s.min && n <= maxKey && (s.max == 0 || n <= s.max) && random(text[body:end]) {
			return end
		}
		return 0
	}
	switch text[i] {
	case 'e':
		return jwt(text, i)
	case 'h':
		return webhook(text, i)
	case 'B', 'b':
		return bearer(text, i)
	}
	if isDigit(text[i]) {
		return telegram(text, i)
	}
	return 0
}

// spanOf gives where the bytes of the charset end, less punctuation at the end.
func spanOf(text string, i int, of charset) int {
	end := i
	for end < len(text) && of.holds(text[end]) {
		end++
	}
	for end > i && (text[end-1] == '.' || of == dotted && text[end-1] == '-') {
		end--
	}
	return end
}

const (
	// maxKey bounds a key of [shapes], maxJWTHeader the header of a token: both are longer than
	// any that is issued.
	maxKey, maxJWTHeader = 512, 1024
	// minDistinct is how many characters a random text of a key's length has at the least.
	minDistinct = 8
	// sampled bounds how much of a long key is looked at.
	sampled = 200
)

// random says whether a text looks like one that was drawn, not one that somebody wrote: a
// placeholder such as your-api-key-here, or a row of x.
func random(text string) bool {
	var seen [256]bool
	distinct, digits, turns := 0, 0, 0
	text = text[:min(len(text), sampled)]
	for i := range len(text) {
		if !seen[text[i]] {
			seen[text[i]] = true
			distinct++
		}
		if isDigit(text[i]) {
			digits++
		}
		if i > 0 && isUpper(text[i]) && isLower(text[i-1]) {
			turns++
		}
	}
	lower := strings.ToLower(text)
	for _, word := range []string{"example", "your", "placeholder", "changeme", "redacted", "xxxx", "123456789", "abcdefgh"} {
		if strings.Contains(lower, word) {
			return false
		}
	}
	return distinct >= minDistinct && (digits >= 2 || turns >= 3)
}

// jwt is a JSON Web Token (RFC 7519): a header that is JSON with an algorithm, and at least one
// part behind it.
func jwt(text string, i int) int {
	if !strings.HasPrefix(text[i:], "eyJ") {
		return 0
	}
	dot := strings.IndexByte(text[i:min(len(text), i+maxJWTHeader)], '.')
	if dot < 0 {
		return 0
	}
	raw, err := base64.RawURLEncoding.DecodeString(text[i : i+dot])
	var header struct {
		Algorithm string `json:"alg"`
	}
	if err != nil || json.Unmarshal(raw, &header) != nil || header.Algorithm == "" {
		return 0
	}
	end := spanOf(text, i+dot+1, dotted)
	if end-i-dot-1 < 4 {
		return 0
	}
	return end
}

// telegram is a bot's number, a colon and 35 characters.
func telegram(text string, i int) int {
	colon := i
	for colon < len(text) && colon-i < 11 && isDigit(text[colon]) {
		colon++
	}
	if colon-i < 8 || !strings.HasPrefix(text[colon:], ":AA") {
		return 0
	}
	if end := spanOf(text, colon+1, word); end-colon-1 == 35 {
		return end
	}
	return 0
}

// webhook is an address of Slack's that anybody may post to who has it.
func webhook(text string, i int) int {
	const prefix = "hooks.slack.com/services/"
	if !strings.HasPrefix(text[i:], prefix) {
		return 0
	}
	end := i + len(prefix)
	for end < len(text) && (isAlnum(text[end]) || text[end] == '/') {
		end++
	}
	if strings.Count(text[i+len(prefix):end], "/") != 2 || !random(text[i+len(prefix):end]) {
		return 0
	}
	return end
}

// bearer is a token behind the word, which is part of what is found.
func bearer(text string, i int) int {
	const prefix = "bearer "
	if len(text) < i+len(prefix) || !strings.EqualFold(text[i:i+len(prefix)], prefix) {
		return 0
	}
	body := i + len(prefix)
	end := spanOf(text, body, dotted)
	for end < len(text) && strings.IndexByte("+/=~", text[end]) >= 0 {
		end = spanOf(text, end+1, dotted)
	}
	if end-body < 16 || !random(text[body:end]) {
		return 0
	}
	return end
}

// findPEM finds private keys in the form of RFC 7468. One without an end goes on as long as
// its lines do.
func findPEM(text string, found func(start, end int, kind Kind)) {
	const begin = "-----BEGIN "
	for at := 0; ; {
		i := strings.Index(text[at:], begin)
		if i < 0 {
			return
		}
		start := at + i
		at = start + len(begin)
		label, rest, closed := strings.Cut(text[at:min(len(text), at+80)], "-----")
		if !closed || !strings.HasSuffix(strings.TrimSuffix(label, " BLOCK"), "PRIVATE KEY") {
			continue
		}
		_ = rest
		body := at + len(label) + len("-----")
		end := body
		for end < len(text) && (base64ed.holds(text[end]) || strings.IndexByte("\\ \r\n\t:-,", text[end]) >= 0) && !strings.HasPrefix(text[end:], "-----") {
			end++
		}
		if footer := "-----END " + label + "-----"; strings.HasPrefix(text[end:], footer) {
			end += len(footer)
		}
		found(start, end, Key)
		at = end
	}
}
