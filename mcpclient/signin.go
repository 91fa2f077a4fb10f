package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/convene-run/convene/team"
)

// SignIn is what a person's sign-in to a server came to: secrets, which belong into no log.
type SignIn struct {
	ClientID     string           `json:"client_id"`
	ClientSecret string           `json:"client_secret,omitempty"`
	TokenURL     string           `json:"token_url"`
	AuthStyle    oauth2.AuthStyle `json:"auth_style,omitempty"`
	Token        *oauth2.Token    `json:"token"`
}

// SignIns keeps sign-ins by the address of their server, as the team file has it. It is safe
// for concurrent use.
type SignIns interface {
	// SignIn gives what was kept last, nil for nothing.
	SignIn(url string) (*SignIn, error)
	KeepSignIn(url string, s *SignIn) error
}

// Browse shows a person an address of an authorization server, to sign in there. It does not
// wait until that has happened.
type Browse func(server, address string) error

// signInError says that a server asks for a sign-in, and why there is none.
type signInError struct{ error }

// signsIn is how a person does it.
const signsIn = "; `convene team check --connect TEAM` signs in"

// authorizer gives the requests to a server the token of the sign-in that is kept for it, and
// signs in anew where a person is there. It implements [auth.OAuthHandler].
type authorizer struct {
	server, url string
	keep        SignIns
	browse      Browse
	client      *http.Client
	// agreed is the client that was registered beforehand, nil where convene registers itself.
	agreed *oauthex.ClientCredentials

	// asking is held while a request that was refused is looked into: a person is asked once,
	// whatever number of requests are. It guards failed.
	asking sync.Mutex
	// failed is why a person did not sign in, who is not asked again for this connection.
	failed error

	mu   sync.Mutex // guards kept
	kept *SignIn
}

// newAuthorizer reads the sign-in that is kept.
func newAuthorizer(server string, config team.MCPServer, options *Options) (*authorizer, error) {
	a := &authorizer{server: server, url: config.URL, keep: options.SignIns, browse: options.Browse, client: &http.Client{Timeout: time.Minute}}
	var err error
	if a.agreed, err = agreedClient(config.OAuth, options.Lookup); err != nil {
		return nil, err
	}
	a.kept, err = a.read()
	return a, err
}

// agreedClient resolves the client of a team file, nil for none.
func agreedClient(config *team.MCPOAuth, lookup func(string) (string, bool)) (*oauthex.ClientCredentials, error) {
	if config == nil {
		return nil, nil
	}
	id, err := team.Expand(config.ClientID, lookup)
	if err != nil {
		return nil, fmt.Errorf("oauth client_id: %w", err)
	}
	client := &oauthex.ClientCredentials{ClientID: id}
	if config.ClientSecret != "" {
		secret, err := team.Expand(config.ClientSecret, lookup)
		if err != nil {
			return nil, fmt.Errorf("oauth client_secret: %w", err)
		}
		client.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: secret}
	}
	return client, nil
}

// read gives the sign-in that is kept, nil for none of this client. The secret of a client that
// was agreed is not kept.
func (a *authorizer) read() (*SignIn, error) {
	kept, err := a.keep.SignIn(a.url)
	if err != nil || kept == nil || a.agreed == nil {
		return kept, err
	}
	if kept.ClientID != a.agreed.ClientID {
		return nil, nil
	}
	with := *kept
	if a.agreed.ClientSecretAuth != nil {
		with.ClientSecret = a.agreed.ClientSecretAuth.ClientSecret
	}
	return &with, nil
}

// write keeps a sign-in.
func (a *authorizer) write(s SignIn) error {
	if a.agreed != nil {
		s.ClientSecret = ""
	}
	return a.keep.KeepSignIn(a.url, &s)
}

// TokenSource implements [auth.OAuthHandler].
func (a *authorizer) TokenSource(context.Context) (oauth2.TokenSource, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept == nil {
		return nil, nil
	}
	return a, nil
}

// Token implements [oauth2.TokenSource]: a token that has expired is renewed, and kept. The
// error is an [oauth2.RetrieveError] with invalid_grant where the sign-in is over.
func (a *authorizer) Token() (*oauth2.Token, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept.Token.Valid() {
		return a.kept.Token, nil
	}
	if a.another() && a.kept.Token.Valid() {
		return a.kept.Token, nil
	}
	renewed := *a.kept
	config := &oauth2.Config{ClientID: renewed.ClientID, ClientSecret: renewed.ClientSecret, Endpoint: oauth2.Endpoint{TokenURL: renewed.TokenURL, AuthStyle: renewed.AuthStyle}}
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, a.client)
	token, err := config.TokenSource(ctx, renewed.Token).Token()
	var refused *oauth2.RetrieveError
	switch {
	case err == nil:
		renewed.Token = token
		a.kept = &renewed
		return token, a.write(renewed)
	case errors.As(err, &refused) && refused.ErrorCode == "invalid_grant":
		if a.another() { // which has renewed it meanwhile
			return a.kept.Token, nil
		}
		return nil, err
	case errors.As(err, &refused): // the answer's text may be anything
		return nil, fmt.Errorf("its sign-in could not be renewed: HTTP %d %s", refused.Response.StatusCode, refused.ErrorCode)
	}
	return nil, fmt.Errorf("its sign-in could not be renewed: %w", err)
}

// another takes what another process has kept meanwhile, if it has. a.mu is held.
func (a *authorizer) another() bool {
	kept, err := a.read()
	if err != nil || kept == nil || a.kept != nil && kept.Token.AccessToken == a.kept.Token.AccessToken {
		return false
	}
	a.kept = kept
	return true
}

// Authorize implements [auth.OAuthHandler]: the server has refused a request.
func (a *authorizer) Authorize(ctx context.Context, req *http.Request, refused *http.Response) error {
	a.asking.Lock()
	defer a.asking.Unlock()
	a.mu.Lock()
	another := a.another() || a.kept != nil && req.Header.Get("Authorization") != "Bearer "+a.kept.Token.AccessToken
	a.mu.Unlock()
	lacks := strings.Contains(strings.Join(refused.Header.Values("WWW-Authenticate"), " "), "insufficient_scope")
	switch {
	case another || refused.StatusCode == http.StatusForbidden && !lacks:
		return refused.Body.Close() // asked again, it says the same or better
	case a.browse != nil && a.failed == nil:
		if err := a.signIn(ctx, req, refused); err != nil {
			a.failed = &signInError{fmt.Errorf("the sign-in failed: %w", err)}
		}
		return a.failed
	}
	_ = refused.Body.Close() // the reason is known
	if a.failed != nil {
		return a.failed
	}
	if lacks {
		return &signInError{errors.New("it asks for more rights than its sign-in has" + signsIn)}
	}
	return &signInError{errors.New("it asks for a sign-in" + signsIn)}
}

// signIn has a person sign in, by the flow with a code and PKCE.
func (a *authorizer) signIn(ctx context.Context, req *http.Request, refused *http.Response) error {
	back, err := newLoopback(ctx)
	if err != nil {
		return err
	}
	defer back.close()
	config := &auth.AuthorizationCodeHandlerConfig{
		PreregisteredClient: a.agreed, RedirectURL: back.address(),
		RequestRefreshToken: true, AcceptUnadvertisedIss: true, Client: a.client,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			if err := a.browse(a.server, args.URL); err != nil {
				return nil, err
			}
			return back.wait(ctx, args.URL)
		},
		NewTokenSource: func(_ context.Context, config *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			kept := &SignIn{config.ClientID, config.ClientSecret, config.Endpoint.TokenURL, config.Endpoint.AuthStyle, token}
			a.mu.Lock()
			defer a.mu.Unlock()
			a.kept = kept
			return a, a.write(*kept)
		},
	}
	if a.agreed == nil {
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "convene", RedirectURIs: []string{back.address()}, TokenEndpointAuthMethod: "none",
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}}
	}
	flow, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		return err
	}
	return flow.Authorize(ctx, req, refused)
}

// in hides the secrets of the sign-in in a text.
func (a *authorizer) in(text string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept == nil {
		return text
	}
	for _, secret := range []string{a.kept.Token.AccessToken, a.kept.Token.RefreshToken, a.kept.ClientSecret} {
		if len(secret) >= minSecretBytes {
			text = strings.ReplaceAll(text, secret, "[sign-in]")
		}
	}
	return text
}
