package web

import (
	"crypto/sha256"
	"net/http"

	"github.com/convene-run/convene/events"
)

// logoutAddress is where a browser signs out.
const logoutAddress = "/logout"

// signedIn reports whether a request comes from a browser that signed in. That its session is
// known was checked.
func (g *guard) signedIn(r *http.Request) bool {
	return g.keeper != nil && r.Header.Get("Authorization") == ""
}

// serveLogout answers POST /logout: it ends the session of the browser, and with it what that
// follows. Pages of others cannot ask for it: their origin is refused, and the cookie stays at
// home. A session that there is not has ended, too.
func (s *Server) serveLogout(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(cookieName); err == nil {
		if who, err := s.guard.identify(r); err == nil && s.guard.signedIn(r) {
			s.signed(r, who, events.AuditSignedOut)
		}
		s.guard.mu.Lock()
		delete(s.guard.sessions, sha256.Sum256([]byte(cookie.Value)))
		s.guard.mu.Unlock()
	}
	http.SetCookie(w, sessionCookie(r, "", -1))
	w.WriteHeader(http.StatusNoContent)
}

// sessionCookie carries the secret of a session, for as long as the browser is open where
// maxAge is 0; a negative one takes it away.
func sessionCookie(r *http.Request, secret string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: maxAge,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	}
}
