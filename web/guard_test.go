package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// Proves R71: a page of another origin, or a name that is not the server's own,
// gets nothing: not a page, not the API, not a socket.
func TestForeignOriginsAndHostsAreRefused(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("private")
	server := serve(t, web.Config{Log: log, Hosts: []string{"convene.example.org"}})
	_, port, _ := strings.Cut(server.address, ":")
	bad := [][]string{
		{"Host", "evil.example"}, {"Host", "127.0.0.1"}, {"Host", "127.0.0.1:1"}, {"Host", "localhost.evil.example:" + port},
		{"Host", "convene.example.org:81"},
		{"Origin", "http://evil.example"}, {"Origin", "null"}, {"Origin", "http://127.0.0.1"}, {"Origin", "http://127.0.0.1:1"},
		{"Origin", "http://" + server.address + ".evil.example"}, {"Origin", "ftp://" + server.address},
		{"Origin", "http://" + server.address + "/path"}, {"Origin", "http://user@" + server.address}, {"Origin", "file://"},
		{"Origin", "http://%zz"},
	}
	for _, header := range bad {
		for _, path := range []string{"/", "/icon.svg", "/api/v1/runs", "/metrics", "/ws?thread_id=" + string(s.key.Thread)} {
			status, h, body := server.get(t, path, header...)
			require.Equal(t, http.StatusForbidden, status, "%v %s", header, path)
			problem(t, h, body)
		}
		h := http.Header{}
		h.Set(header[0], header[1])
		_, response, err := websocket.DefaultDialer.Dial( //nolint:bodyclose // the dialer has read and closed it
			"ws://"+server.address+"/ws?thread_id="+string(s.key.Thread), h)
		require.ErrorIs(t, err, websocket.ErrBadHandshake)
		require.Equal(t, http.StatusForbidden, response.StatusCode)
	}
	for _, header := range [][]string{
		{"Host", "localhost:" + port}, {"Host", "[::1]:" + port}, {"Host", "Convene.example.org"},
		{"Origin", "http://" + server.address}, {"Origin", "https://convene.example.org"},
	} {
		status, _, body := server.get(t, "/api/v1/runs", header...)
		require.Equal(t, http.StatusOK, status, "%v %s", header, body)
	}
}

// Proves R71: where a token is needed nothing is told without it; a link lets one
// browser in, once.
func TestToken(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("secret")
	server := serve(t, web.Config{Log: log, Keeper: access.OneToken("a-very-secret-token")})
	for _, path := range []string{"/", "/icon.svg", "/api/v1/runs", "/api/v1/openapi.json", "/metrics", "/ws?thread_id=" + string(s.key.Thread), "/nothing"} {
		for _, header := range [][]string{
			nil, {"Authorization", "Bearer wrong"}, {"Authorization", "Bearer "}, {"Authorization", "Basic a-very-secret-token"},
			{"Cookie", "convene_session=x"}, {"Cookie", "convene_session=a-very-secret-token"},
		} {
			status, h, body := server.get(t, path, header...)
			require.Equal(t, http.StatusUnauthorized, status)
			require.JSONEq(t, `{"title":"Unauthorized","status":401,"detail":"not authorized"}`, body)
			problem(t, h, body)
		}
	}
	status, _, _ := server.get(t, "/healthz")
	require.Equal(t, http.StatusOK, status)
	status, _, _ = server.get(t, "/api/v1/runs", "Authorization", "Bearer a-very-secret-token")
	require.Equal(t, http.StatusOK, status)

	link, err := server.LoginURL()
	require.NoError(t, err)
	path := strings.TrimPrefix(link, "http://"+server.address)
	require.NotContains(t, path, "a-very-secret-token")
	status, header, _ := server.get(t, path)
	require.Equal(t, http.StatusOK, status)
	cookie := header.Get("Set-Cookie")
	require.Contains(t, cookie, "HttpOnly")
	require.Contains(t, cookie, "SameSite=Strict")
	session, _, _ := strings.Cut(cookie, ";")
	status, _, _ = server.get(t, "/api/v1/runs", "Cookie", session)
	require.Equal(t, http.StatusOK, status)
	status, header, _ = server.get(t, path)
	require.Equal(t, http.StatusUnauthorized, status, "a link works once")
	require.Empty(t, header.Get("Set-Cookie"))
	for range 99 {
		_, err := server.LoginURL()
		require.NoError(t, err)
	}
	_, err = server.LoginURL()
	_, err2 := server.LoginURL()
	require.ErrorContains(t, fmt.Errorf("%w%w", err, err2), "too many login links")
}

// Proves R71: an address that others can reach is not served without a token.
func TestOpenAddressNeedsAToken(t *testing.T) {
	for _, address := range []string{"0.0.0.0:8484", "[::]:8484", ":8484", "192.168.1.5:8484", "convene.example.org:8484"} {
		_, err := web.New(web.Config{Log: events.NewMemory(), Address: address})
		require.ErrorContains(t, err, "--token-file", address)
		_, err = web.New(web.Config{Log: events.NewMemory(), Address: address, Keeper: access.OneToken("a-very-secret-token")})
		require.NoError(t, err)
	}
	for _, address := range []string{"127.0.0.1:8484", "localhost:8484", "[::1]:8484"} {
		_, err := web.New(web.Config{Log: events.NewMemory(), Address: address})
		require.NoError(t, err)
	}
	_, err := web.New(web.Config{Log: events.NewMemory(), Address: "8484"})
	require.ErrorContains(t, err, "Give host:port")
	_, err = web.New(web.Config{Address: "127.0.0.1:8484"})
	require.Error(t, err)
	_, err = web.New(web.Config{Log: events.NewMemory(), Address: "127.0.0.1:1", Hosts: []string{"http://x"}})
	require.ErrorContains(t, err, "Host header")
}

// The page's policy lets no inline script run but the one that the page begins with, and
// nothing be loaded from elsewhere.
func TestPolicy(t *testing.T) {
	server := serve(t, web.Config{Log: events.NewMemory()})
	status, header, body := server.get(t, "/")
	require.Equal(t, http.StatusOK, status)
	policy := header.Get("Content-Security-Policy")
	inline := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(body, -1)
	require.Len(t, inline, 1, "what the page begins with")
	scripts := "script-src 'self'"
	for _, found := range inline {
		sum := sha256.Sum256([]byte(found[1]))
		scripts += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	require.Contains(t, policy, "default-src 'none'; "+scripts+"; style-src 'sha256-")
	require.NotContains(t, policy, "unsafe")
	require.NotContains(t, body, "style=")
	require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
	require.Equal(t, "no-store", header.Get("Cache-Control"), "it tells of runs")
	_, header, _ = server.get(t, "/icon.svg")
	status, header, _ = server.get(t, "/icon.svg", "If-None-Match", header.Get("ETag"))
	require.Equal(t, http.StatusNotModified, status)
	require.NotEmpty(t, header.Get("ETag"))
	status, _, _ = server.get(t, "/../go.mod")
	require.NotEqual(t, http.StatusOK, status)
}
