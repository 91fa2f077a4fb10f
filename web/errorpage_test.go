package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// Proves R71: a person is told of errors on a page, programs in JSON; who has lost the
// cookie comes in again with the token, and with nothing else.
func TestErrorsAsPages(t *testing.T) {
	const token = "a-token-of-this-test"
	server := serve(t, web.Config{Log: events.NewMemory(), Keeper: access.OneToken(token)})
	const html = "text/html,application/xhtml+xml"
	status, header, body := server.get(t, "/", "Accept", html)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Contains(t, header.Get("Content-Type"), "text/html")
	require.Contains(t, body, `<form method="post" action="/login">`)
	require.NotContains(t, body, token)
	status, header, body = server.get(t, "/api/v1/runs", "Accept", html)
	require.Equal(t, http.StatusUnauthorized, status)
	problem(t, header, body)

	sign := func(token string) (int, http.Header) {
		status, header, _ := server.do(t, http.MethodPost, "/login", url.Values{"token": {token}}.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", html)
		return status, header
	}
	status, header = sign("another")
	require.Equal(t, http.StatusUnauthorized, status)
	require.Empty(t, header.Get("Set-Cookie"))
	status, _ = sign(strings.Repeat("x", 1<<20))
	require.Equal(t, http.StatusUnauthorized, status)
	status, header = sign(token)
	require.Equal(t, http.StatusOK, status)
	cookie, _, _ := strings.Cut(header.Get("Set-Cookie"), ";")
	status, _, _ = server.get(t, "/api/v1/runs", "Cookie", cookie)
	require.Equal(t, http.StatusOK, status)
	status, _, body = server.get(t, "/no<b>where", "Accept", html, "Cookie", cookie)
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, body, "there is no page /no&lt;b&gt;where")
	status, _, _ = server.do(t, http.MethodPost, "/login", "token="+token, "Content-Type", "application/x-www-form-urlencoded", "Origin", "http://evil.example")
	require.Equal(t, http.StatusForbidden, status)
}
