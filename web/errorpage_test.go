package web_test

import (
	"net/http"
	"net/url"
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
	const html = "text/html,application/xhtml+xml"
	status, header, body := server.get(t, "/", "Accept", html)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Contains(t, header.Get("Content-Type"), "text/html")
	require.Contains(t, body, `<form method="post" action="/login">`)
	require.NotContains(t, body, token)
	require.Equal(t, "same-origin", header.Get("Referrer-Policy"), "else the form comes from the origin null")
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
