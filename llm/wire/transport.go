package wire

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// newTransport gives the way to the network.
func newTransport(cfg Config) *direct {
	dialer := &net.Dialer{Timeout: cfg.ConnectTimeout, KeepAlive: 30 * time.Second}
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   cfg.ConnectTimeout,
		ExpectContinueTimeout: time.Second,
		ForceAttemptHTTP2:     true,
		// A pinged connection that is dead fails its streams before they time out.
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		MaxIdleConnsPerHost: maxIdleConns,
		IdleConnTimeout:     idleConnTimeout,
		DisableCompression:  true, // a compressing proxy holds back what should stream
	}
	if cfg.RootCAs != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: cfg.RootCAs}
	}
	return &direct{dial: dialer.DialContext, other: t}
}

// send makes a request. It goes to the transport directly: a redirect would
// carry the key to another host, so it is an error that names the address.
func (c *Conn) send(ctx context.Context, to *url.URL, of encoder) (*http.Response, error) {
	first := newBody(of)
	size := len(*first.data)
	request := (&http.Request{
		Method: http.MethodPost, URL: to, Host: to.Host, Header: c.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: int64(size),
		Body:          first,
		GetBody:       func() (io.ReadCloser, error) { return newBody(of), nil },
	}).WithContext(ctx)
	return c.transport.RoundTrip(request)
}
