package webhook

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/convene-run/convene/internal/publicaddr"
)

const (
	// attemptTimeout is how long one attempt may take, its answer included: a receiver that
	// works for longer answers first.
	attemptTimeout = 15 * time.Second
	// maxAnswerBytes is how much of an answer is read, so that its connection can be used
	// again. Nothing of it counts but the status.
	maxAnswerBytes = 16 << 10
)

// newClient gives the client of one receiver. It goes through no proxy, which would connect
// in its place, and follows no redirect.
func newClient(r Receiver) *http.Client {
	dialer := &net.Dialer{Timeout: attemptTimeout}
	if r.PrivateHost == "" {
		dialer.Control = refusePrivate
	}
	return &http.Client{
		Timeout: attemptTimeout,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: attemptTimeout,
			MaxResponseHeaderBytes: maxAnswerBytes, MaxIdleConns: 1, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// refusePrivate refuses an address that is not public, and says how to name one that is meant.
func refusePrivate(network, address string, c syscall.RawConn) error {
	err := publicaddr.Control(network, address, c)
	if errors.As(err, new(*publicaddr.Error)) {
		return fmt.Errorf("%w; if it is meant, name the host in private_host", err)
	}
	return err
}
