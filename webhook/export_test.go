package webhook

import (
	"net/http"
	"net/netip"
)

// SetTransport has every receiver reached another way.
func (s *Sender) SetTransport(transport http.RoundTripper) {
	for _, r := range s.receivers {
		r.client.Transport = transport
	}
}

// Public reports whether anybody on the internet could reach the address.
func Public(ip string) bool { return public(netip.MustParseAddr(ip)) }

const MaxBodyBytes = maxBodyBytes
