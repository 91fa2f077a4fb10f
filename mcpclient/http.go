package mcpclient

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-run/convene/team"
)

// httpLink is the way to a server that runs elsewhere.
type httpLink struct {
	address string
	client  *http.Client
	idle    func()
	// signIn is nil where the team file declares how requests are authorized.
	signIn *authorizer
}

// newHTTPLink resolves the address and the headers, and reads the sign-in that is kept for the
// server of that name. It connects nowhere.
func newHTTPLink(name string, config team.MCPServer, options *Options) (*httpLink, error) {
	lookup := options.Lookup
	address, err := team.Expand(config.URL, lookup)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("url: with its variables in place it is no address; check their values")
	}
	headers := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(config.Headers)) {
		value, err := team.Expand(config.Headers[name], lookup)
		if err != nil {
			return nil, fmt.Errorf("headers %s: %w", name, err)
		}
		headers.Set(name, value)
	}
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		base = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	base = base.Clone()
	l := &httpLink{
		address: address, idle: base.CloseIdleConnections,
		client: &http.Client{Transport: &withHeaders{base, parsed, headers}, CheckRedirect: sameHost(parsed)},
	}
	if options.SignIns != nil && headers.Get("Authorization") == "" {
		l.signIn, err = newAuthorizer(name, config, options)
	}
	return l, err
}

// sameHost follows redirects within the server alone: consent was given for that.
func sameHost(address *url.URL) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		switch {
		case req.URL.Host != address.Host || req.URL.Scheme != address.Scheme:
			return fmt.Errorf("the server redirects to %s://%s; if that is right, write it as url", req.URL.Scheme, req.URL.Host)
		case len(via) > 5:
			return errors.New("the server redirects in circles")
		}
		return nil
	}
}

// withHeaders sends the declared headers to the server, and to nobody else, and bounds
// what it reads.
type withHeaders struct {
	base    http.RoundTripper
	server  *url.URL
	headers http.Header
}

// RoundTrip implements [http.RoundTripper].
func (t *withHeaders) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == t.server.Host && req.URL.Scheme == t.server.Scheme {
		req = req.Clone(req.Context())
		for name, values := range t.headers {
			req.Header[name] = values
		}
	}
	response, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "text/event-stream" {
		response.Body = &bounded{response.Body, maxMessageBytes}
	}
	return response, nil
}

// bounded fails where a body is longer than left.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the server sent more than %d MB in one message", maxMessageBytes>>20)
	}
	if int64(len(into)) > b.left {
		into = into[:b.left]
	}
	n, err := b.ReadCloser.Read(into)
	b.left -= int64(n)
	return n, err
}

func (l *httpLink) transport() mcp.Transport {
	to := &mcp.StreamableClientTransport{Endpoint: l.address, HTTPClient: l.client, MaxEventSize: maxMessageBytes}
	if l.signIn != nil {
		to.OAuthHandler = l.signIn
	}
	return to
}

func (*httpLink) ended() <-chan struct{} { return nil }
func (*httpLink) lastWords() string      { return "" }
func (l *httpLink) close()               { l.idle() }
