package web_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// Proves R71: a person is told of errors on a page, programs in JSON; who has lost the
// cookie comes in again with the token, and with nothing else.
func TestErrorsAsPages(t *testing.T) {
	const token = "a-token-of-this-test"
	server := serve(t, web.Config{Log: events.NewMemory(), Keeper: access.OneToken(token)})
	const page = "text/html,application/xhtml+xml"
	status, header, body := server.get(t, "/", "Accept", page)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Contains(t, header.Get("Content-Type"), "text/html")
	require.Contains(t, body, `<form method="post" action="/login">`)
	require.NotContains(t, body, token)
	require.Equal(t, "same-origin", header.Get("Referrer-Policy"), "else the form comes from the origin null")
	status, header, body = server.get(t, "/api/v1/runs", "Accept", page)
	require.Equal(t, http.StatusUnauthorized, status)
	problem(t, header, body)

	sign := func(token string) (int, http.Header) {
		status, header, _ := server.do(t, http.MethodPost, "/login", url.Values{"token": {token}}.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", page)
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
	status, _, body = server.get(t, "/no<b>where", "Accept", page, "Cookie", cookie)
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, body, "there is no page /no&lt;b&gt;where")
	status, _, _ = server.do(t, http.MethodPost, "/login", "token="+token, "Content-Type", "application/x-www-form-urlencoded", "Origin", "http://evil.example")
	require.Equal(t, http.StatusForbidden, status)
}

// Who signs in comes back to the page that was asked for, also after a token that lets nobody
// in; an address of others, however it is written, leads nowhere but home.
func TestSigningInLeadsBack(t *testing.T) {
	const token = "a-token-of-this-test"
	server := serve(t, web.Config{Log: events.NewMemory(), Keeper: access.OneToken(token)})
	field := regexp.MustCompile(`name="next" value="([^"]*)"`)
	leads := regexp.MustCompile(`<meta http-equiv="refresh" content="0;url=([^"]*)">.*<a href="([^"]*)">`)
	asked := func(body string) string { return html.UnescapeString(field.FindStringSubmatch(body)[1]) }
	sign := func(token, next string) string {
		_, _, body := server.do(t, http.MethodPost, "/login", url.Values{"token": {token}, "next": {next}}.Encode(),
			"Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html")
		return body
	}
	for _, page := range []string{"/runs/0192?tags=1&q=a%22b%26c", "/threads/a%2Fb", "/", "/?q=%5C%2F%2Fevil.example"} {
		_, _, body := server.get(t, page, "Accept", "text/html")
		require.Equal(t, page, asked(body))
		require.Equal(t, page, asked(sign("wrong", asked(body))))
		to := leads.FindStringSubmatch(sign(token, asked(body)))
		require.Equal(t, page, html.UnescapeString(to[1]))
		require.Equal(t, to[1], to[2])
		_, _, body = server.get(t, "/login?next="+url.QueryEscape(page), "Accept", "text/html")
		require.Equal(t, page, asked(body), "by the link on a page that was signed out")
	}
	for _, trap := range []string{
		"//evil.example", `/\evil.example`, `\\evil.example`, "///evil.example", "https://evil.example/runs", "https:evil.example", "HTTPS:/evil.example",
		"javascript:alert(1)", "evil.example", "", "?q", "/\t/evil.example", "\t//evil.example", "/\n/evil.example", " //evil.example", "/\x00/evil.example",
		"/%zz", "//user@evil.example", "/login", "/login?next=/login", "/runs/x\\..\\..", "/" + strings.Repeat("x", 5000),
	} {
		require.Equal(t, "/", leads.FindStringSubmatch(sign(token, trap))[1], "%q", trap)
		_, _, body := server.get(t, "/login?next="+url.QueryEscape(trap), "Accept", "text/html")
		require.Equal(t, "/", asked(body), "%q", trap)
	}
	link, err := server.LoginURL()
	require.NoError(t, err)
	_, _, body := server.get(t, strings.TrimPrefix(link, "http://"+server.address)+"&next=%2F%2Fevil.example")
	require.Equal(t, "/", leads.FindStringSubmatch(body)[1])
}

// A browser signs out for good, with all that it follows; pages of others cannot sign it out.
func TestSignOut(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("a run")
	server := serve(t, web.Config{Log: log, Keeper: access.OneToken("a-token-of-this-test"), Audit: audit.NewRecorder(log, nil)})
	sign := func() string {
		_, header, _ := server.do(t, http.MethodPost, "/login", "token=a-token-of-this-test", "Content-Type", "application/x-www-form-urlencoded")
		cookie, _, _ := strings.Cut(header.Get("Set-Cookie"), ";")
		return cookie
	}
	cookie, other := sign(), sign()
	socket, response, err := websocket.DefaultDialer.Dial("ws://"+server.address+"/ws?thread_id="+string(s.key.Thread), http.Header{"Cookie": {cookie}})
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	defer socket.Close()
	_, _, body := server.get(t, "/api/v1/server", "Cookie", cookie)
	require.Contains(t, body, `"signed_in":true`)
	_, _, body = server.get(t, "/api/v1/server", "Authorization", "Bearer a-token-of-this-test")
	require.NotContains(t, body, "signed_in")

	status, _, _ := server.do(t, http.MethodPost, "/logout", "", "Cookie", cookie, "Origin", "http://evil.example")
	require.Equal(t, http.StatusForbidden, status)
	status, _, _ = server.get(t, "/api/v1/runs", "Cookie", cookie)
	require.Equal(t, http.StatusOK, status)
	status, header, _ := server.do(t, http.MethodPost, "/logout", "", "Cookie", cookie)
	require.Equal(t, http.StatusNoContent, status)
	require.Contains(t, header.Get("Set-Cookie"), "Max-Age=0")
	for err == nil {
		_, _, err = socket.ReadMessage()
	}
	require.True(t, websocket.IsCloseError(err, websocket.ClosePolicyViolation), "%v", err)
	status, _, _ = server.get(t, "/api/v1/runs", "Cookie", cookie)
	require.Equal(t, http.StatusUnauthorized, status)
	status, _, _ = server.get(t, "/api/v1/runs", "Cookie", other)
	require.Equal(t, http.StatusOK, status, "the other browser's session is its own")
	audited, err := log.Read(t.Context(), events.ThreadKey{Tenant: events.LocalTenant, Thread: events.AuditThread}, 0, 0)
	require.NoError(t, err)
	require.Len(t, audited, 3) // two came, one left
	require.Equal(t, events.Audited{Action: events.AuditSignedOut}, audited[2].Data)
	require.Equal(t, audited[0].By, audited[2].By)
	require.Equal(t, events.DoorPage, audited[2].By.Door)
}
