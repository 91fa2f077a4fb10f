package wire

import (
	"context"
	"net"
	"net/http"
)

// RateLimitsForTest reads the headers of a reply.
var RateLimitsForTest = rateLimits

// ParseForTest looks a document through.
func ParseForTest(text string) (Value, bool) { return new(document).parse(text) }

// TransportForTest is the transport of a Conn whose connections dial opens.
func TransportForTest(cfg Config, dial func(ctx context.Context, network, address string) (net.Conn, error)) interface {
	http.RoundTripper
	CloseIdleConnections()
} {
	t := newTransport(cfg)
	t.dial, t.other.DialContext = dial, dial
	return t
}
