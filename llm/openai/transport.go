package openai

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

func newTransport(cfg Config) *http.Transport {
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
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // a compressing proxy holds back what should stream
	}
	if cfg.RootCAs != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: cfg.RootCAs}
	}
	return t
}

// send makes the request. It goes to the transport directly: a redirect would
// carry the key to another host, so it is an error that names the address.
func (c *Client) send(ctx context.Context, body *requestBody) (*http.Response, error) {
	request := (&http.Request{
		Method: http.MethodPost, URL: c.chat, Host: c.chat.Host, Header: c.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: int64(len(body.data)),
		Body:          body.reader(),
		GetBody:       func() (io.ReadCloser, error) { return body.reader(), nil },
	}).WithContext(ctx)
	return c.transport.RoundTrip(request)
}

// maxPooledBodyBytes keeps a giant history's buffer from staying in memory.
const maxPooledBodyBytes = 1 << 20

var requestBodies = sync.Pool{New: func() any { return new(requestBody) }}

// requestBody is a pooled buffer. The transport may read a body until it closes
// it, even after the response has come, so the last of all readers frees it.
type requestBody struct {
	data []byte
	refs atomic.Int32
}

func newRequestBody() *requestBody {
	b := requestBodies.Get().(*requestBody)
	b.data = b.data[:0]
	b.refs.Store(1)
	return b
}

func (b *requestBody) release() {
	if b.refs.Add(-1) == 0 && cap(b.data) <= maxPooledBodyBytes {
		requestBodies.Put(b)
	}
}

func (b *requestBody) reader() io.ReadCloser {
	b.refs.Add(1)
	r := &bodyReader{body: b}
	r.Reset(b.data)
	return r
}

type bodyReader struct {
	bytes.Reader
	body   *requestBody
	closed atomic.Bool
}

func (r *bodyReader) Close() error {
	if !r.closed.Swap(true) {
		r.body.release()
	}
	return nil
}
