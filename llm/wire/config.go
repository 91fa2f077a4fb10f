package wire

import (
	"crypto/x509"
	"net/http"
	"time"

	"github.com/convene-run/convene/llm"
)

// Defaults of [Config], with their reasons.
const (
	// DefaultConnectTimeout covers name lookup, TCP and TLS: a host that needs longer
	// is down.
	DefaultConnectTimeout = 15 * time.Second
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
	// maxIdleConns keeps the connections of a large batch open between calls: 2,000 runs with
	// three specialists each have 6,000. To make one anew costs more than all else of a request.
	maxIdleConns = 8192
)

// Config says how to reach an endpoint, whatever API it speaks.
type Config struct {
	// Provider names the endpoint in errors, prices and completions.
	Provider string
	// BaseURL is the address that the API's path is appended to; a query in it is
	// kept.
	BaseURL string
	// APIKey is sent as a bearer token, or in KeyHeader. Empty sends none.
	APIKey string
	// KeyHeader is the header that takes the key as it is ("api-key" for Azure).
	KeyHeader string
	// Header is sent with every request.
	Header http.Header

	// Tiers are the provider's words for the service tiers that it has.
	Tiers map[llm.Tier]string

	// The timeouts; zero means the default of the same name, or [llm.DefaultSilence].
	ConnectTimeout, FirstByteTimeout, IdleTimeout, TotalTimeout time.Duration
	// MaxReplyBytes bounds one reply. Defaults to [DefaultMaxReplyBytes].
	MaxReplyBytes int
	// RootCAs replaces the system's certificate authorities (which SSL_CERT_FILE and
	// SSL_CERT_DIR set).
	RootCAs *x509.CertPool
}

func (c Config) withDefaults() Config {
	orTime := func(t *time.Duration, d time.Duration) {
		if *t <= 0 {
			*t = d
		}
	}
	orTime(&c.ConnectTimeout, DefaultConnectTimeout)
	orTime(&c.FirstByteTimeout, llm.DefaultSilence.First)
	orTime(&c.IdleTimeout, llm.DefaultSilence.Next)
	orTime(&c.TotalTimeout, DefaultTotalTimeout)
	if c.MaxReplyBytes <= 0 {
		c.MaxReplyBytes = DefaultMaxReplyBytes
	}
	return c
}
