package sanitize

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of RFC 5321, 4.5.3.1, and of a label of RFC 1035.
const (
	maxLocal  = 64
	maxDomain = 253
	maxLabel  = 63
)

// findEmails looks around every @. Addresses in other than the Latin, Cyrillic or Greek script
// are found where both sides of the @ are.
func findEmails(text string, found func(start, end int, kind Kind)) {
	for at := 0; ; at++ {
		i := strings.IndexByte(text[at:], '@')
		if i < 0 {
			return
		}
		at += i
		start, end := localPart(text, at), domain(text, at+1)
		if start == at || end == at+1 || byteAt(text, start-1) == '@' || userinfo(text, start) || remotePath(text, start, end) {
			continue
		}
		found(start, end, Email)
	}
}

// localPart gives where the part before the @ begins, at where there is none.
func localPart(text string, at int) int {
	start := at
	for start > 0 && at-start < maxLocal {
		r, size := utf8.DecodeLastRuneInString(text[:start])
		if !localRune(r) || r == '.' && (start == at || text[start] == '.') {
			break
		}
		start -= size
	}
	for start < at && strings.IndexByte(".-'%+", text[start]) >= 0 {
		start++
	}
	if start < at && byteAt(text, start-1) == '\\' && strings.IndexByte("nrtbf", text[start]) >= 0 { // JSON within a text: \n
		return start + 1
	}
	if wordBefore(text, start) { // it is longer than an address may be
		return at
	}
	return start
}

func localRune(r rune) bool {
	if r < utf8.RuneSelf {
		return isAlnum(byte(r)) || strings.ContainsRune("._%+-'", r)
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsMark(r)) && alphabetic(r)
}

// domain gives where the domain ends that begins at start, start where there is none.
func domain(text string, start int) int {
	end := start
	for end < len(text) && end-start < maxDomain {
		r, size := utf8.DecodeRuneInString(text[end:])
		if r != '.' && r != '-' && (r >= utf8.RuneSelf || !isAlnum(byte(r))) && !alphabetic(r) {
			break
		}
		end += size
	}
	end = start + len(strings.TrimRight(text[start:end], ".-"))
	labels := strings.Split(text[start:end], ".")
	if len(labels) < 2 || !topLevel(labels[len(labels)-1]) {
		return start
	}
	for _, label := range labels {
		if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
			return start
		}
	}
	return end
}

// fileNames are endings of files that no top-level domain has: logo@2x.png is none's address.
var fileNames = map[string]bool{
	"png": true, "jpg": true, "jpeg": true, "gif": true, "svg": true, "webp": true, "avif": true, "ico": true, "pdf": true, "css": true, "scss": true,
	"js": true, "mjs": true, "jsx": true, "tsx": true, "json": true, "yaml": true, "yml": true, "xml": true, "html": true, "htm": true, "txt": true, "tgz": true, "gz": true,
}

// topLevel says whether a label may be the last of a domain.
func topLevel(label string) bool {
	if strings.HasPrefix(label, "xn--") {
		return true
	}
	for _, r := range label {
		if r < utf8.RuneSelf && !isLetter(byte(r)) {
			return false
		}
	}
	return utf8.RuneCountInString(label) >= 2 && !fileNames[strings.ToLower(label)]
}

// userinfo says whether the text before i is that of an address with a scheme, in which the
// part before the @ is a user: https://ann@example.org.
func userinfo(text string, i int) bool {
	for back := 0; back < maxLocal && i > 0; back++ {
		i--
		switch b := text[i]; {
		case b == '/':
			return byteAt(text, i-1) == '/'
		case b <= ' ' || b == '<' || b == '"' || b == ',':
			return false
		}
	}
	return false
}

// remotePath says whether user@host is followed by a path as git and scp have it, or is called
// like a function.
func remotePath(text string, start, end int) bool {
	if byteAt(text, end) == '(' || byteAt(text, end) == '@' {
		return true
	}
	if byteAt(text, end) != ':' {
		return false
	}
	path := text[end+1 : min(len(text), end+1+maxDomain)]
	if i := strings.IndexAny(path, " \t\r\n\"'"); i >= 0 {
		path = path[:i]
	}
	return strings.HasPrefix(text[start:end], "git@") || strings.Contains(path, "/") || strings.HasSuffix(path, ".git")
}
