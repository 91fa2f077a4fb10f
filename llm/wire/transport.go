package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

func newTransport(cfg Config) *http.Transport {
	dialer := &net.Dialer{Timeout: cfg.ConnectTimeout, KeepAlive: 30 * time.Second}
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           gathering(dialer.DialContext),
		WriteBufferSize:       requestHeadBytes,
		TLSHandshakeTimeout:   cfg.ConnectTimeout,
		ExpectContinueTimeout: time.Second,
		ForceAttemptHTTP2:     true,
		// A pinged connection that is dead fails its streams before they time out.
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		MaxIdleConnsPerHost: maxIdleConns,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // a compressing proxy holds back what should stream
	}
	if cfg.RootCAs != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: cfg.RootCAs}
	}
	return t
}

// send makes a request. It goes to the transport directly: a redirect would
// carry the key to another host, so it is an error that names the address.
func (c *Conn) send(ctx context.Context, to *url.URL, body *Body) (*http.Response, error) {
	request := (&http.Request{
		Method: http.MethodPost, URL: to, Host: to.Host, Header: c.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: int64(len(body.Data)),
		Body:          body.reader(),
		GetBody:       func() (io.ReadCloser, error) { return body.reader(), nil },
	}).WithContext(ctx)
	return c.transport.RoundTrip(request)
}

// maxPooledBodyBytes keeps a giant history's buffer from staying in memory.
const maxPooledBodyBytes = 1 << 20

var bodies = sync.Pool{New: func() any { return new(Body) }}

// Body is the pooled buffer of a request. The transport may read a body until it closes
// it, even after the response has come, so the last of all readers frees it.
type Body struct {
	Data []byte
	refs atomic.Int32
}

// NewBody gives an empty body, to be released by whoever asked for it.
func NewBody() *Body {
	b := bodies.Get().(*Body)
	b.Data = b.Data[:0]
	b.refs.Store(1)
	return b
}

// Release gives the buffer back once nobody reads it any more.
func (b *Body) Release() {
	if b.refs.Add(-1) == 0 && cap(b.Data) <= maxPooledBodyBytes {
		bodies.Put(b)
	}
}

func (b *Body) reader() io.ReadCloser {
	b.refs.Add(1)
	r := &bodyReader{body: b}
	r.Reset(b.Data)
	return r
}

type bodyReader struct {
	bytes.Reader
	body   *Body
	closed atomic.Bool
}

func (r *bodyReader) Close() error {
	if !r.closed.Swap(true) {
		r.body.Release()
	}
	return nil
}
