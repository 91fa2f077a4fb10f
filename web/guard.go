package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
)

// guard knows who may come in: requests that name a host of ours, come from a page of ours or
// from no page at all, and have a credential that is known, if one is needed.
type guard struct {
	hosts map[string]bool
	// address is one of them that works from a browser.
	address string
	// keeper knows whose a credential is; nil where everybody is as.
	keeper access.Keeper
	// as is who comes in where there is no keeper, or by a login link.
	as access.Identity

	mu sync.Mutex // guards codes and sessions
	// codes are the one-time codes of login links, with their end.
	codes map[string]time.Time
	// sessions are those of the cookies that were given out, by the digest of the cookie.
	sessions map[[sha256.Size]byte]session
}

// session is who signed in: whoever holds the credential, which is looked at again with each
// request, or guard.as where it is empty.
type session struct{ credential string }

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
	maxLoginBytes = 2 * maxCredentialBytes
	// maxCredentialBytes is more than any token has: JWTs are some kilobytes.
	maxCredentialBytes = 16 << 10
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
	if !loopback && config.Keeper == nil {
		return nil, fmt.Errorf("address %s can be reached by others: make a token for each of them with convene token add, or give convene serve and convene mcp a single one in --token-file FILE; or listen on 127.0.0.1", config.Address)
	}
	g := &guard{hosts: map[string]bool{}, keeper: config.Keeper, as: config.As, codes: map[string]time.Time{}, sessions: map[[sha256.Size]byte]session{}}
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

// Guard lets those through to next whom a [Server] with this address, hosts and keeper would
// let in: for what else a program serves over HTTP. [GuestOf] tells next who that is. address is
// a host and port that clients reach it at. Of config, Address, Hosts, Keeper, As, Audit and
// Logger count.
func Guard(config Config, next http.Handler) (guarded http.Handler, address string, err error) {
	config = config.withDefaults()
	g, err := newGuard(config)
	if err != nil {
		return nil, "", err
	}
	s := &Server{config: config, guard: g}
	known := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := g.identify(r)
		if err != nil {
			s.unknownCaller(r, err)
			s.problem(w, r, err)
			return
		}
		who.Door, who.Remote = doorOf(r), remoteOf(r)
		next.ServeHTTP(w, r.WithContext(withGuest(r.Context(), g.guest(r, who))))
	})
	return g.protect(s, g.checkFrom, known), g.address, nil
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

// checkPage is for a server with pages: anybody may ask whether it lives, and its doors ask who
// comes in.
func (g *guard) checkPage(r *http.Request) error {
	if r.URL.Path == "/healthz" {
		return nil
	}
	return g.checkFrom(r)
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

// identify gives who sends a request, as far as their credential is good now.
func (g *guard) identify(r *http.Request) (access.Identity, error) {
	if g.keeper == nil {
		return g.as, nil
	}
	credential, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		cookie, err := r.Cookie(cookieName)
		if err != nil {
			return access.Identity{}, errNotAuthorized
		}
		g.mu.Lock()
		s, known := g.sessions[sha256.Sum256([]byte(cookie.Value))]
		g.mu.Unlock()
		switch {
		case !known:
			return access.Identity{}, errNotAuthorized
		case s.credential == "":
			return g.as, nil
		}
		credential = s.credential
	}
	return g.holder(r.Context(), credential)
}

// holder gives whose credential it is.
func (g *guard) holder(ctx context.Context, credential string) (access.Identity, error) {
	if len(credential) > maxCredentialBytes {
		return access.Identity{}, errNotAuthorized
	}
	who, err := g.keeper.Identify(ctx, credential)
	switch {
	case errors.Is(err, access.ErrUnknown):
		return access.Identity{}, errNotAuthorized
	case err != nil:
		return access.Identity{}, &keeperError{err}
	}
	return who, nil
}

// keeperError is for a keeper that can say nothing of a credential: the caller is told no more
// than that.
type keeperError struct{ cause error }

func (e *keeperError) Error() string { return "credentials cannot be checked: " + e.cause.Error() }

func (e *keeperError) Unwrap() error { return e.cause }

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
func (g *guard) login(code string) (secret string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	end, known := g.codes[code]
	delete(g.codes, code)
	if !known || time.Now().After(end) {
		return "", errNotAuthorized
	}
	return g.open(session{}), nil
}

// open begins a session and gives its secret; g.mu is held.
func (g *guard) open(s session) string {
	if len(g.sessions) >= maxSessions {
		clear(g.sessions)
	}
	secret := rand.Text()
	g.sessions[sha256.Sum256([]byte(secret))] = s
	return secret
}

// loginByToken trades a token for the secret of a session, and says whose it is.
func (g *guard) loginByToken(ctx context.Context, token string) (secret string, who access.Identity, err error) {
	if who, err = g.holder(ctx, token); err != nil {
		return "", who, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open(session{token}), who, nil
}

// serveLogin answers GET /login?code=…, or the form with the token, with a cookie. It leads back
// to where the browser was.
func (s *Server) serveLogin(w http.ResponseWriter, r *http.Request) {
	if s.guard.keeper == nil {
		http.Redirect(w, r, backTo(r), http.StatusSeeOther)
		return
	}
	var secret, token string
	var err error
	who := s.guard.as
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(w, r.Body, maxLoginBytes)
		token = strings.TrimSpace(r.PostFormValue("token"))
		secret, who, err = s.guard.loginByToken(r.Context(), token)
	} else {
		secret, err = s.guard.login(r.URL.Query().Get("code"))
	}
	if err != nil {
		s.signInFailed(r, token, err)
		s.problem(w, r, err)
		return
	}
	s.signed(r, who, events.AuditSignedIn)
	http.SetCookie(w, sessionCookie(r, secret, 0))
	// A redirect would not carry a strict cookie when the link was clicked elsewhere.
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	back := html.EscapeString(backTo(r))
	_, _ = w.Write([]byte(`<!doctype html><meta http-equiv="refresh" content="0;url=` + back + `"><title>convene</title><a href="` + back + `">Open the dashboard</a>`))
}

// LoginURL gives a link for a browser: where a token is needed one that works once,
// for ten minutes.
func (s *Server) LoginURL() (string, error) {
	base := "http://" + s.guard.address
	if s.config.Keeper == nil {
		return base + "/", nil
	}
	path, err := s.guard.loginPath()
	return base + path, err
}
