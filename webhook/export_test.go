package webhook

import "net/http"

// SetTransport has every receiver reached another way.
func (s *Sender) SetTransport(transport http.RoundTripper) {
	for _, r := range s.receivers {
		r.client.Transport = transport
	}
}

const MaxBodyBytes = maxBodyBytes
