package openai

import (
	"crypto/x509"
	"net/http"
	"time"
)

// Defaults of [Config], with their reasons.
const (
	// DefaultConnectTimeout covers name lookup, TCP and TLS: a host that needs longer
	// is down.
	DefaultConnectTimeout = 15 * time.Second
	// DefaultFirstByteTimeout leaves a local server time to load a model and a
	// reasoning model time to think before it writes.
	DefaultFirstByteTimeout = 3 * time.Minute
	// DefaultIdleTimeout is the silence after which a stream counts as stalled.
	DefaultIdleTimeout = 90 * time.Second
	// DefaultTotalTimeout ends a call that keeps the line open with comments forever.
	DefaultTotalTimeout = 30 * time.Minute
	// DefaultMaxReplyBytes bounds text, reasoning and arguments of one reply: four
	// times what the largest output windows hold (256k tokens of 4 bytes).
	DefaultMaxReplyBytes = 4 << 20
	// MaxToolCalls bounds the calls of one reply: far above any real plan, far below
	// what a model in a loop writes.
	MaxToolCalls = 128
	// maxErrorBodyBytes is how much of an error's body is read: enough for any
	// message, little enough for an HTML page sent a thousand times.
	maxErrorBodyBytes = 64 << 10
	// drainTimeout is how long the end of a finished body is waited for so that the
	// connection can be used again; a new one costs less than waiting longer.
	drainTimeout = 50 * time.Millisecond
	// finishedTimeout is how long usage and [DONE] may come after a finish reason; the
	// reply is whole without them.
	finishedTimeout = 10 * time.Second
	// maxIdleConns keeps the connections of a large batch open between calls.
	maxIdleConns = 2048
)

// Config says how to reach an endpoint.
type Config struct {
	// Provider names the endpoint in errors, prices and completions.
	Provider string
	// BaseURL is the address that /chat/completions is appended to; a query in it is
	// kept. Defaults to https://api.openai.com/v1.
	BaseURL string
	// APIKey is sent as a bearer token, or in KeyHeader. Empty sends none.
	APIKey string
	// KeyHeader is the header that takes the key as it is ("api-key" for Azure).
	KeyHeader string
	// Header is sent with every request.
	Header http.Header

	// OutputLimitField is the field for [llm.Request.MaxOutputTokens]. Defaults to
	// "max_tokens", which all but the newest models of OpenAI know.
	OutputLimitField string
	// ReasoningField is the field in which the endpoint wants the reasoning of an
	// assistant message with tool calls back. Empty sends none.
	ReasoningField string
	// PublishedOnly leaves out the extra fields of messages and calls: the endpoint
	// writes none and refuses those that a fallback's model wrote.
	PublishedOnly bool
	// ShortCallIDs rewrites call ids to the nine letters and digits that Mistral
	// demands.
	ShortCallIDs bool

	// The timeouts; zero means the default of the same name.
	ConnectTimeout, FirstByteTimeout, IdleTimeout, TotalTimeout time.Duration
	// MaxReplyBytes bounds one reply. Defaults to [DefaultMaxReplyBytes].
	MaxReplyBytes int
	// RootCAs replaces the system's certificate authorities (which SSL_CERT_FILE and
	// SSL_CERT_DIR set).
	RootCAs *x509.CertPool
}

func (c Config) withDefaults() Config {
	orString := func(s *string, d string) {
		if *s == "" {
			*s = d
		}
	}
	orTime := func(t *time.Duration, d time.Duration) {
		if *t <= 0 {
			*t = d
		}
	}
	orString(&c.Provider, "openai")
	orString(&c.BaseURL, "https://api.openai.com/v1")
	orString(&c.OutputLimitField, "max_tokens")
	orTime(&c.ConnectTimeout, DefaultConnectTimeout)
	orTime(&c.FirstByteTimeout, DefaultFirstByteTimeout)
	orTime(&c.IdleTimeout, DefaultIdleTimeout)
	orTime(&c.TotalTimeout, DefaultTotalTimeout)
	if c.MaxReplyBytes <= 0 {
		c.MaxReplyBytes = DefaultMaxReplyBytes
	}
	return c
}
