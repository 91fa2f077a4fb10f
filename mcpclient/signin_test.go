package mcpclient_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/mcpclient"
	"github.com/convene-run/convene/mcpclient/mcptest"
	"github.com/convene-run/convene/team"
)

// signIns keeps sign-ins in memory.
type signIns struct{ sync.Map }

func (s *signIns) SignIn(url string) (*mcpclient.SignIn, error) {
	kept, _ := s.Load(url)
	found, _ := kept.(*mcpclient.SignIn)
	return found, nil
}

func (s *signIns) KeepSignIn(url string, kept *mcpclient.SignIn) error {
	s.Store(url, kept)
	return nil
}

// visit does what a person's browser does.
func visit(_, address string) error {
	go func() {
		if response, err := http.Get(address); err == nil {
			_ = response.Body.Close()
		}
	}()
	return nil
}

// A server that asks for a sign-in is signed in to by a person, once; from then on its token
// is sent, and renewed, by whoever uses the server, and shown to nobody.
func TestSignIn(t *testing.T) {
	guarded := mcptest.NewGuarded()
	t.Cleanup(guarded.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	kept := &signIns{}
	config := team.MCPServer{URL: guarded.URL}
	alone := mcpclient.Options{SignIns: kept}

	refused := mcpclient.New(alone)
	_, err := refused.List(t.Context(), "wiki", config)
	refused.Close()
	require.ErrorContains(t, err, "unavailable: the MCP server wiki could not be connected: it asks for a sign-in; `convene team check --connect TEAM` signs in. It is tried again in ")
	came, _ := guarded.SignIns()
	require.Zero(t, came, "nobody was there")

	asked := 0
	declined := mcpclient.New(mcpclient.Options{SignIns: kept, Browse: func(_, address string) error {
		asked++
		at, err := url.Parse(address)
		require.NoError(t, err)
		for _, state := range []string{"another", at.Query().Get("state")} {
			query := url.Values{"state": {state}, "error": {"access_denied"}}
			_ = visit("", at.Query().Get("redirect_uri")+"?"+query.Encode())
		}
		return nil
	}})
	_, err = declined.List(t.Context(), "wiki", config)
	declined.Close()
	require.ErrorContains(t, err, "could not be connected: the sign-in failed: the sign-in was refused: access_denied")
	require.Equal(t, 1, asked)

	person := with(t, config, mcpclient.Options{SignIns: kept, Browse: visit})
	require.Equal(t, "x", person.call("echo", `{"text":"x"}`).Text)
	require.Equal(t, "it was [sign-in]", person.call("echo", `{"text":"it was access-secret-1"}`).Text)

	w := with(t, config, alone)
	require.Equal(t, "kept", w.call("echo", `{"text":"kept"}`).Text)
	came, renewed := guarded.SignIns()
	require.Equal(t, []int{1, 0}, []int{came, renewed})

	signIn, err := kept.SignIn(guarded.URL)
	require.NoError(t, err)
	old := *signIn
	oldToken := *signIn.Token
	oldToken.Expiry = time.Now().Add(-time.Minute)
	old.Token = &oldToken
	require.NoError(t, kept.KeepSignIn(guarded.URL, &old))
	require.Equal(t, "renewed", with(t, config, alone).call("echo", `{"text":"renewed"}`).Text)
	_, renewed = guarded.SignIns()
	require.Equal(t, 1, renewed)

	require.Equal(t, "taken", w.call("echo", `{"text":"taken"}`).Text, "who has the token of before takes what was kept")

	guarded.Revoke()
	result := w.call("echo", `{"text":"over"}`)
	require.True(t, result.Failed)
	require.Contains(t, result.Text, "it asks for a sign-in; `convene team check --connect TEAM` signs in")
	require.False(t, strings.Contains(result.Text, "secret"), result.Text)
	again := with(t, config, mcpclient.Options{SignIns: kept, Browse: visit})
	require.Equal(t, "again", again.call("echo", `{"text":"again"}`).Text)
	require.Equal(t, "back", w.call("echo", `{"text":"back"}`).Text, "what the person did counts here too")
}

// A client that was agreed with the authorization server signs in as itself, also where nobody
// can register, and renews with its secret, which is kept nowhere and shown to nobody.
func TestSignInOfAgreedClient(t *testing.T) {
	guarded := mcptest.NewGuarded()
	guarded.Agree("convene-at-acme", "the-agreed-secret")
	t.Cleanup(guarded.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	kept := &signIns{}
	config := team.MCPServer{URL: guarded.URL, OAuth: &team.MCPOAuth{ClientID: "convene-at-acme", ClientSecret: "${WIKI_SECRET}"}}
	lookup := func(string) (string, bool) { return "the-agreed-secret", true }

	stranger := mcpclient.New(mcpclient.Options{SignIns: kept, Browse: visit})
	_, err := stranger.List(t.Context(), "wiki", team.MCPServer{URL: guarded.URL})
	stranger.Close()
	require.ErrorContains(t, err, "the sign-in failed")
	unset := mcpclient.New(mcpclient.Options{SignIns: kept, Browse: visit, Lookup: func(string) (string, bool) { return "", false }})
	_, err = unset.List(t.Context(), "wiki", config)
	unset.Close()
	require.ErrorContains(t, err, "oauth client_secret: the variable WIKI_SECRET is not set")

	person := with(t, config, mcpclient.Options{SignIns: kept, Browse: visit, Lookup: lookup})
	require.Equal(t, "it was [sign-in]", person.call("echo", `{"text":"it was the-agreed-secret"}`).Text)
	signIn, err := kept.SignIn(guarded.URL)
	require.NoError(t, err)
	require.Equal(t, "convene-at-acme", signIn.ClientID)
	require.Empty(t, signIn.ClientSecret)

	old := *signIn
	token := *signIn.Token
	token.Expiry = time.Now().Add(-time.Minute)
	old.Token = &token
	require.NoError(t, kept.KeepSignIn(guarded.URL, &old))
	require.Equal(t, "renewed", with(t, config, mcpclient.Options{SignIns: kept, Lookup: lookup}).call("echo", `{"text":"renewed"}`).Text)
	_, renewed := guarded.SignIns()
	require.Equal(t, 1, renewed)
	other := mcpclient.New(mcpclient.Options{SignIns: kept, Lookup: lookup})
	_, err = other.List(t.Context(), "wiki", team.MCPServer{URL: guarded.URL, OAuth: &team.MCPOAuth{ClientID: "another"}})
	other.Close()
	require.ErrorContains(t, err, "it asks for a sign-in", "a sign-in is of its client")
}
