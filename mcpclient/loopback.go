package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// loopback is an address of this machine to which an authorization server sends a browser
// back, with the code of a sign-in (RFC 8252, 7.3).
type loopback struct {
	listener net.Listener
	back     chan url.Values
}

func newLoopback(ctx context.Context) (*loopback, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &loopback{listener, make(chan url.Values, 1)}, nil
}

func (l *loopback) address() string { return "http://" + l.listener.Addr().String() + "/callback" }

func (l *loopback) close() { _ = l.listener.Close() } // again, where it was waited for

// wait takes the browser that comes back from the sign-in at the address. What comes without
// that sign-in's state is somebody else's, and changes nothing.
func (l *loopback) wait(ctx context.Context, address string) (*auth.AuthorizationResult, error) {
	begun, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	state := begun.Query().Get("state")
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if r.URL.Path != "/callback" || query.Get("state") != state {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "convene has your answer. You can close this page.\n") // whoever left has it too
		select {
		case l.back <- query:
		default: // a second look at the same page
		}
	})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l.listener) // until it is shut down
	}()
	defer func() {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = errors.Join(server.Shutdown(limit), server.Close())
		<-ended
	}()
	select {
	case query := <-l.back:
		if refusal := query.Get("error"); refusal != "" {
			return nil, fmt.Errorf("the sign-in was refused: %s %s", refusal, query.Get("error_description"))
		}
		return &auth.AuthorizationResult{Code: query.Get("code"), State: state, Iss: query.Get("iss")}, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("nobody signed in: %w", context.Cause(ctx))
	}
}
