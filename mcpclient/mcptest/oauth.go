package mcptest

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Guarded is a server over streamable HTTP that asks for a sign-in, and the authorization
// server that it trusts: one that lets everybody in who comes with a browser.
type Guarded struct {
	// URL is the server's address.
	URL string

	server *httptest.Server
	served *mcp.Server
	mu     sync.Mutex // guards what follows
	// signIns counts who came to the page of the authorization server, renewals the tokens that
	// were renewed, which ends those of before.
	signIns, renewals int
	codes             map[string]url.Values
	valid             map[string]bool
	issued            int
	// id and secret are of the one client that is let in, "" for any that registers.
	id, secret string
}

// NewGuarded starts both servers at one address. The caller closes them.
func NewGuarded() *Guarded {
	g := &Guarded{served: New(), codes: map[string]url.Values{}, valid: map[string]bool{}}
	mux := http.NewServeMux()
	g.server = httptest.NewServer(mux)
	base := g.server.URL
	g.URL = base + "/mcp"
	guard := auth.RequireBearerToken(g.verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: base + "/.well-known/oauth-protected-resource/mcp"})
	mux.Handle("/mcp", guard(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return g.served }, nil)))
	mux.Handle("/.well-known/oauth-protected-resource/mcp", auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{Resource: g.URL, AuthorizationServers: []string{base}}))
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		described := map[string]any{
			"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token", "registration_endpoint": base + "/register",
			"response_types_supported": []string{"code"}, "grant_types_supported": []string{"authorization_code", "refresh_token"},
			"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		}
		if g.id != "" {
			delete(described, "registration_endpoint")
			described["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
		}
		answer(w, http.StatusOK, described)
	})
	mux.HandleFunc("/register", g.register)
	mux.HandleFunc("/authorize", g.authorize)
	mux.HandleFunc("/token", g.token)
	return g
}

// Agree lets in one client alone, and nobody registers. It comes before any request.
func (g *Guarded) Agree(id, secret string) { g.id, g.secret = id, secret }

// Close ends both servers, and the sessions that nobody was let in to end.
func (g *Guarded) Close() {
	for session := range g.served.Sessions() {
		_ = session.Close()
	}
	g.server.Close()
}

// SignIns gives how many signed in, and how many tokens were renewed.
func (g *Guarded) SignIns() (signIns, renewals int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.signIns, g.renewals
}

// Revoke makes all tokens worthless.
func (g *Guarded) Revoke() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.valid)
}

func (g *Guarded) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.valid[token] {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{Expiration: time.Now().Add(time.Hour), UserID: "ann"}, nil
}

func (g *Guarded) register(w http.ResponseWriter, r *http.Request) {
	var client oauthex.ClientRegistrationMetadata
	if err := json.NewDecoder(r.Body).Decode(&client); err != nil || len(client.RedirectURIs) == 0 {
		answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_client_metadata"})
		return
	}
	answer(w, http.StatusCreated, map[string]any{"client_id": "client-1", "redirect_uris": client.RedirectURIs, "token_endpoint_auth_method": "none"})
}

// authorize sends whoever comes back with a code.
func (g *Guarded) authorize(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	g.mu.Lock()
	g.signIns++
	code := "code-" + strconv.Itoa(g.signIns)
	g.codes[code] = asked
	g.mu.Unlock()
	back := url.Values{"code": {code}, "state": {asked.Get("state")}}
	http.Redirect(w, r, asked.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (g *Guarded) token(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.id != "" && (r.PostFormValue("client_id") != g.id || r.PostFormValue("client_secret") != g.secret) {
		answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		asked := g.codes[r.PostFormValue("code")]
		delete(g.codes, r.PostFormValue("code"))
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if asked == nil || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || r.PostFormValue("resource") != g.URL {
			answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
			return
		}
	case "refresh_token":
		if !g.valid[r.PostFormValue("refresh_token")] {
			answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
			return
		}
		clear(g.valid)
		g.renewals++
	}
	g.issued++
	access, refresh := "access-secret-"+strconv.Itoa(g.issued), "refresh-secret-"+strconv.Itoa(g.issued)
	g.valid[access], g.valid[refresh] = true, true
	answer(w, http.StatusOK, map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": 3600})
}

func answer(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // whoever asked has left
}
