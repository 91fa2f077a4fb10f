// Package pipenet serves HTTP within the process, for tests in a bubble of
// [testing/synctest]: the clients and the servers are those of net/http, and only the
// connections between them are pipes. The bubble's clock stands still while anything
// moves, so no wait takes time and a slow machine breaks no deadline; beside a connection
// of the kernel it would not move at all.
package pipenet

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Serve serves a handler until the test ends, and gives the way to it, whatever address a
// request is for.
func Serve(t testing.TB, handler http.Handler) *http.Transport {
	l := &listener{dialed: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Hour}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	transport := &http.Transport{DialContext: l.dial, DisableCompression: true}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		<-served
	})
	return transport
}

// listener accepts what is dialed in its process.
type listener struct {
	dialed chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.dialed <- there:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.dialed:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
