package oidc

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// maxKeysBytes bounds what an issuer answers: keys take some kilobytes.
const maxKeysBytes = 1 << 20

// errTooSoon is for a request that follows the one before it too closely.
var errTooSoon = errors.New("the keys were fetched just now")

// throttle sends requests to an issuer, one each [fetchPause], and notes whether the last one
// was answered.
type throttle struct {
	mu     sync.Mutex // guards what follows
	last   time.Time
	failed error
}

// RoundTrip implements [http.RoundTripper].
func (t *throttle) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	if !t.last.IsZero() && time.Since(t.last) < fetchPause {
		t.mu.Unlock()
		return nil, errTooSoon
	}
	t.last = time.Now()
	t.mu.Unlock()
	response, err := http.DefaultTransport.RoundTrip(r)
	failed := err
	if err == nil && response.StatusCode != http.StatusOK {
		failed = errors.New("it answers " + response.Status)
	}
	if err == nil {
		response.Body = bounded{io.LimitReader(response.Body, maxKeysBytes), response.Body}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = failed
	return response, err
}

// open lets the next request through at once.
func (t *throttle) open() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = time.Time{}
}

// failure is why the last request was not answered, nil if it was.
func (t *throttle) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// bounded is a body that ends early.
type bounded struct {
	io.Reader
	io.Closer
}
