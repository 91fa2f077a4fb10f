package web

import (
	"net/http"
	"net/url"
	"strings"
)

// backTo is the page that a browser asked for before it was to sign in, "/" where none is known.
// The form with the token carries it, and so may a link to [loginAddress].
func backTo(r *http.Request) string {
	if r.URL.Path == loginAddress {
		return ownPage(r.FormValue("next"))
	}
	return ownPage(r.URL.RequestURI())
}

// maxBackBytes bounds an address to come back to.
const maxBackBytes = 4 << 10

// ownPage gives an address if it can be none but one of this server, "/" otherwise. It may come
// from a link of others. Browsers take a backslash for a slash and leave tabs and newlines out,
// so one with any of them is refused, and what begins with two slashes names another host.
func ownPage(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil, u.Path == loginAddress, len(address) > maxBackBytes:
	case !strings.HasPrefix(address, "/"), strings.HasPrefix(address, "//"), strings.ContainsFunc(address, breaksAddress):
	default:
		return address
	}
	return "/"
}

func breaksAddress(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }
