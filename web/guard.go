package web

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// guard lets in who may come in: requests that name a host of ours, come from a page
// of ours or from no page at all, and know the token if there is one.
type guard struct {
	hosts map[string]bool
	// address is one of them that works from a browser.
	address string
	token   string

	mu sync.Mutex // guards codes and sessions
	// codes are the one-time codes of login links, with their end.
	codes map[string]time.Time
	// sessions are the digests of the cookies that were given out.
	sessions map[[sha256.Size]byte]bool
}

const (
	cookieName = "convene_session"
	// loginCodeLife is how long a login link works: time enough to click it.
	loginCodeLife = 10 * time.Minute
	// maxLoginCodes bounds the links that are open at once.
	maxLoginCodes = 100
	// maxSessions bounds the cookies in use; at the bound the old ones end.
	maxSessions = 10_000
	// loginAddress is where a browser is let in: by a link that works once, or the token.
	loginAddress = "/login"
	// maxLoginBytes bounds the form with the token.
	maxLoginBytes = 4 << 10
)

func newGuard(config Config) (*guard, error) {
	host, port, err := net.SplitHostPort(config.Address)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w. Give host:port, such as 127.0.0.1:8484", config.Address, err)
	}
	loopback, everywhere := host == "localhost", host == ""
	if ip, err := netip.ParseAddr(host); err == nil {
		loopback, everywhere = ip.IsLoopback(), ip.IsUnspecified()
	}
	if !loopback && config.Token == "" {
		return nil, fmt.Errorf("address %s can be reached by others: convene serve and convene mcp do that, with a token in --token-file FILE; or listen on 127.0.0.1", config.Address)
	}
	g := &guard{hosts: map[string]bool{}, token: config.Token, codes: map[string]time.Time{}, sessions: map[[sha256.Size]byte]bool{}}
	names := []string{host}
	switch {
	case loopback:
		names = []string{host, "127.0.0.1", "localhost", "::1"}
	case everywhere:
		names = append(ownAddresses(), "127.0.0.1", "localhost", "::1", host)
	}
	g.address = net.JoinHostPort(names[0], port)
	for _, name := range names {
		g.hosts[net.JoinHostPort(name, port)] = true
	}
	for _, name := range config.Hosts {
		if name == "" || strings.ContainsAny(name, "/ @?#") {
			return nil, fmt.Errorf("host %q: give the value of the Host header, such as convene.example.org or convene.example.org:8443", name)
		}
		g.hosts[strings.ToLower(name)] = true
	}
	return g, nil
}

// ownAddresses are those that others reach this machine at, IPv4 first. They are safe to
// answer to: a page of others can have a name of its own lead here, but no number.
func ownAddresses() (names []string) {
	addresses, _ := net.InterfaceAddrs() // without them there is still the loopback
	for _, address := range addresses {
		network, ok := address.(*net.IPNet)
		switch {
		case !ok || !network.IP.IsGlobalUnicast():
		case network.IP.To4() != nil:
			names = slices.Insert(names, 0, network.IP.String())
		default:
			names = append(names, network.IP.String())
		}
	}
	return names
}

// Guard lets those through to next whom a [Server] with this address, hosts and token lets in,
// for what else a program serves over HTTP; address is a host and port that clients reach it
// at. Of config, Address, Hosts, Token and Logger count.
func Guard(config Config, next http.Handler) (guarded http.Handler, address string, err error) {
	g, err := newGuard(config)
	if err != nil {
		return nil, "", err
	}
	s := &Server{config: config.withDefaults()}
	return g.protect(s, g.check, next), g.address, nil
}

// protect answers what may not come in, and sets the headers that every answer has.
func (g *guard) protect(s *Server, check func(*http.Request) error, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-store") // but for what the page is made of
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		if err := check(r); err != nil {
			s.problem(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// checkPage is check for a server with pages: anybody may ask whether it lives, and say who
// they are.
func (g *guard) checkPage(r *http.Request) error {
	switch r.URL.Path {
	case "/healthz":
		return nil
	case loginAddress:
		return g.checkFrom(r)
	}
	return g.check(r)
}

// check says what keeps a request out.
func (g *guard) check(r *http.Request) error {
	if err := g.checkFrom(r); err != nil {
		return err
	}
	if g.token != "" && !g.known(r) {
		return errNotAuthorized
	}
	return nil
}

// checkFrom looks at where a request comes from, and what host it means to reach.
func (g *guard) checkFrom(r *http.Request) error {
	if !g.hosts[strings.ToLower(r.Host)] {
		return refuse(http.StatusForbidden, "this server does not answer to the host %.200q. Start it with --host %.200s to allow that", r.Host, r.Host)
	}
	if origin := r.Header.Get("Origin"); origin != "" && !g.ours(origin) {
		return refuse(http.StatusForbidden, "requests from pages of %.200q are not accepted", origin)
	}
	return nil
}

// ours reports whether a page of that origin is one that this server gave out.
func (g *guard) ours(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Path == "" && u.User == nil && g.hosts[strings.ToLower(u.Host)]
}

func (g *guard) known(r *http.Request) bool {
	if given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return g.isToken(given)
	}
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sessions[sha256.Sum256([]byte(cookie.Value))]
}

// isToken compares in a time that tells nothing of the token.
func (g *guard) isToken(given string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(g.token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// errManyLinks is for one login link too many.
var errManyLinks = errors.New("too many login links are open: use one, or wait until they expire")

// loginPath makes a link that lets one browser in, once.
func (g *guard) loginPath() (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	for code, end := range g.codes {
		if now.After(end) {
			delete(g.codes, code)
		}
	}
	if len(g.codes) >= maxLoginCodes {
		return "", errManyLinks
	}
	code := rand.Text()
	g.codes[code] = now.Add(loginCodeLife)
	return loginAddress + "?code=" + code, nil
}

// errNotAuthorized gives no hint.
var errNotAuthorized = &Refusal{Status: http.StatusUnauthorized, Detail: "not authorized"}

// login trades a one-time code for the secret of a session.
func (g *guard) login(code string) (session string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	end, known := g.codes[code]
	delete(g.codes, code)
	if !known || time.Now().After(end) {
		return "", errNotAuthorized
	}
	return g.open(), nil
}

// open begins a session and gives its secret; g.mu is held.
func (g *guard) open() string {
	if len(g.sessions) >= maxSessions {
		clear(g.sessions)
	}
	session := rand.Text()
	g.sessions[sha256.Sum256([]byte(session))] = true
	return session
}

// loginByToken trades the token for the secret of a session.
func (g *guard) loginByToken(token string) (session string, err error) {
	if !g.isToken(token) {
		return "", errNotAuthorized
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open(), nil
}

// serveLogin answers GET /login?code=…, or the form with the token, with a cookie.
func (s *Server) serveLogin(w http.ResponseWriter, r *http.Request) {
	if s.guard.token == "" {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	var session string
	var err error
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(w, r.Body, maxLoginBytes)
		session, err = s.guard.loginByToken(r.PostFormValue("token"))
	} else {
		session, err = s.guard.login(r.URL.Query().Get("code"))
	}
	if err != nil {
		s.problem(w, r, err)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
	// A redirect would not carry a strict cookie when the link was clicked elsewhere.
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(`<!doctype html><meta http-equiv="refresh" content="0;url=/"><title>convene</title><a href="/">Open the dashboard</a>`))
}

// LoginURL gives a link for a browser: where a token is needed one that works once,
// for ten minutes.
func (s *Server) LoginURL() (string, error) {
	base := "http://" + s.guard.address
	if s.config.Token == "" {
		return base + "/", nil
	}
	path, err := s.guard.loginPath()
	return base + path, err
}
