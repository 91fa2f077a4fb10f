package wire

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// idleConnTimeout is how long a connection is kept that nobody uses.
const idleConnTimeout = 90 * time.Second

// direct makes requests of plain HTTP/1.1, as servers of models nearby speak it. net/http has
// two goroutines for each connection, with some 12 KB of stack, and hands a request and its
// answer from one to the next; here whoever asks writes and reads himself. What is written and
// how an answer is read are net/http's all the same. HTTPS, HTTP/2, proxies and whatever is no
// POST are left to it as a whole.
//
// It is safe for concurrent use.
type direct struct {
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	other *http.Transport

	mu sync.Mutex // guards what follows
	// idle are the connections that nobody uses, oldest first.
	idle []*directConn
	// drops is set while old ones among them are going to be closed.
	drops bool
	// closing has connections closed that come back from a call, until the next one goes out.
	closing bool
}

// RoundTrip implements [http.RoundTripper]. The body of the answer is for one goroutine.
func (p *direct) RoundTrip(request *http.Request) (*http.Response, error) {
	address, ok := p.address(request)
	if !ok {
		return p.other.RoundTrip(request)
	}
	ctx := request.Context()
	conn, err := p.connect(ctx, address)
	if err != nil {
		_ = request.Body.Close() // as every RoundTripper does
		return nil, err
	}
	body := &directBody{ctx: ctx, conn: conn, stop: context.AfterFunc(ctx, conn.abort)}
	response, err := conn.ask(request)
	if err != nil {
		return nil, body.failed(err)
	}
	body.Reader, body.keep = response.Body, !response.Close && response.StatusCode >= http.StatusOK && !conn.broken
	response.Body = body
	return response, nil
}

// address says where to connect to for a request; ok is false where net/http makes it.
func (p *direct) address(request *http.Request) (address string, ok bool) {
	to := request.URL
	if !seesArrivals || to.Scheme != "http" || request.Method != http.MethodPost || request.Body == nil || !ascii(to.Host) {
		return "", false
	}
	if proxy, err := p.other.Proxy(request); proxy != nil || err != nil {
		return "", false
	}
	for _, values := range request.Header {
		for _, value := range values {
			if !headerText(value) {
				return "", false // net/http says what is wrong with it
			}
		}
	}
	return addressOf(to), true
}

func addressOf(to *url.URL) string { return net.JoinHostPort(to.Hostname(), cmp.Or(to.Port(), "80")) }

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// headerText reports whether a header may have that value.
func headerText(value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// connect gives a connection to the address.
func (p *direct) connect(ctx context.Context, address string) (*directConn, error) {
	for conn := p.take(address); conn != nil; conn = p.take(address) {
		if quiet(conn.Conn) {
			return conn, nil
		}
		_ = conn.Close() // the server has closed it
	}
	conn, err := p.dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &directConn{Conn: conn, way: p, address: address}, nil
}

// take gives the newest idle connection to the address, nil if there is none.
func (p *direct) take(address string) *directConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closing = false
	for i := len(p.idle) - 1; i >= 0; i-- {
		if conn := p.idle[i]; conn.address == address {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			return conn
		}
	}
	return nil
}

// put keeps a connection for the next call.
func (p *direct) put(conn *directConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing || len(p.idle) >= maxIdleConns {
		_ = conn.Close()
		return
	}
	conn.since = time.Now()
	p.idle = append(p.idle, conn)
	if !p.drops {
		p.drops = true
		time.AfterFunc(idleConnTimeout, p.drop)
	}
}

// drop closes the connections that were idle for too long.
func (p *direct) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := 0
	for old < len(p.idle) && time.Since(p.idle[old].since) >= idleConnTimeout {
		_ = p.idle[old].Close()
		old++
	}
	p.idle = append(p.idle[:0:0], p.idle[old:]...)
	if p.drops = len(p.idle) > 0; p.drops {
		time.AfterFunc(idleConnTimeout-time.Since(p.idle[0].since), p.drop)
	}
}

// CloseIdleConnections closes the connections that nobody uses, and those under way behind
// their call.
func (p *direct) CloseIdleConnections() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.idle {
		_ = conn.Close()
	}
	p.idle, p.closing = nil, true
	p.other.CloseIdleConnections()
}
