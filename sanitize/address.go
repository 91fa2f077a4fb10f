package sanitize

import "strings"

const (
	// maxUser and maxUserinfo bound the user, and what is read of user and password, of an
	// address.
	maxUser, maxUserinfo = 100, 300
)

// findUserinfo finds the passwords of addresses: postgres://ann:PASSWORD@host.
func findUserinfo(text string, found func(start, end int, kind Kind)) {
	for at := 0; ; {
		i := strings.Index(text[at:], "://")
		if i < 0 {
			return
		}
		at += i + len("://")
		if !isAlnum(byteAt(text, at-len("://")-1)) {
			continue
		}
		info := text[at:min(len(text), at+maxUserinfo)]
		if end := strings.IndexAny(info, "@/ \t\r\n\"'<>"); end < 0 || info[end] != '@' || end+1 == len(info) {
			continue
		} else {
			info = info[:end]
		}
		user, password, both := strings.Cut(info, ":")
		if both && len(user) <= maxUser && len(password) >= minRemembered-2 && !stands(password) {
			found(at+len(user)+1, at+len(info), Password)
		}
	}
}
