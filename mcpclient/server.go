package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/convene-run/convene/team"
)

const (
	// connectTimeout bounds one attempt to connect: long enough for npx to fetch a package.
	connectTimeout = 90 * time.Second
	// signInTime is what a person has for a sign-in in the browser.
	signInTime = 5 * time.Minute
	// maxBackoff is the longest time until a server that keeps dying is tried again.
	maxBackoff = time.Minute
	// stableAfter is how long a connection must have lived for its end to be no failure.
	stableAfter = 10 * time.Second
	// heartbeat is how often a call that waits for a connection reports progress.
	heartbeat = time.Second
)

// server is one server of the pool, connected or not.
type server struct {
	pool   *Pool
	name   string
	config team.MCPServer
	dir    string

	mu   sync.Mutex // guards what follows
	live *conn
	// dialing is closed when the attempt to connect that is under way has ended.
	dialing chan struct{}
	// failures counts attempts, and connections of short life, since the last good one.
	failures int
	// next is when the server may be tried again, trouble why it is not connected.
	next    time.Time
	trouble error
}

// conn gives the connection, making it if there is none. Those who wait for one report
// progress. The error is for the model.
func (s *server) conn(ctx context.Context, progress func()) (*conn, error) {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		live, dialing, err := s.state()
		if live != nil || err != nil {
			return live, err
		}
		select {
		case <-dialing:
		case <-ticker.C:
			progress()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// state gives the connection, or the attempt to make one, which it begins unless the
// server is to be left alone for now.
func (s *server) state() (*conn, chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live != nil {
		return s.live, nil, nil
	}
	if s.dialing != nil {
		return nil, s.dialing, nil
	}
	if wait := time.Until(s.next); wait > 0 {
		return nil, nil, fmt.Errorf("unavailable: the MCP server %s %w. It is tried again in %s", s.name, s.trouble, wait.Round(time.Second)+time.Second)
	}
	if !s.pool.begin() {
		return nil, nil, errClosed
	}
	s.dialing = make(chan struct{})
	go s.dial()
	return nil, s.dialing, nil
}

// begin counts a goroutine of the pool, unless it is closed.
func (p *Pool) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.work.Add(1)
	return true
}

// dial connects, and stays until the connection has ended.
func (s *server) dial() {
	defer s.pool.work.Done()
	live, err := s.connect(s.pool.ctx)
	s.mu.Lock()
	close(s.dialing)
	s.dialing, s.live = nil, live
	if err != nil {
		s.failed(err)
	}
	s.mu.Unlock()
	if err != nil {
		return
	}
	since := time.Now()
	live.why = live.untilEnd(s.pool.ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(live.over)
	s.live = nil
	if time.Since(since) > stableAfter {
		s.failures = 0
	}
	s.failed(live.why)
}

// failed notes why the server is not connected and when it is tried again: at once after
// the first failure, unless another try is known to fail too, then after one second, two,
// four. s.mu is held.
func (s *server) failed(err error) {
	if errors.As(err, new(*permanentError)) {
		s.failures = max(s.failures, 1)
	}
	s.trouble = err
	s.next = time.Now().Add(backoff(s.failures))
	s.failures++
}

func backoff(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	return min(time.Second<<min(failures-1, 10), maxBackoff)
}

// legacy is the protocol that servers are offered that end at the question for a newer one.
const legacy = "2025-11-25"

// connect makes a connection and reads the list of tools. It tries the newest protocol,
// then that of before with a new process: servers there are that end, or fall silent, when
// they are asked for what they do not know.
func (s *server) connect(ctx context.Context) (*conn, error) {
	var first error
	for _, version := range []string{"", legacy} {
		live, err := s.attempt(ctx, version)
		if err == nil {
			return live, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil || errors.As(err, new(*permanentError)) {
			break
		}
	}
	return nil, first
}

// permanentError is one that another protocol does not mend.
type permanentError struct{ error }

func (s *server) attempt(ctx context.Context, version string) (*conn, error) {
	limit := connectTimeout
	if s.pool.options.Browse != nil {
		limit += signInTime
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not answer within %s", limit))
	defer cancel()
	hide := secretsOf(s.pool.options.Lookup, s.texts()...)
	link, err := s.link()
	if err != nil {
		return nil, &permanentError{errors.New("could not be connected: " + hide.in(err.Error()))}
	}
	if elsewhere, ok := link.(*httpLink); ok {
		hide.signIn = elsewhere.signIn
	}
	live, err := open(ctx, link, version, hide)
	if err == nil {
		return live, nil
	}
	if needs := new(signInError); errors.As(err, &needs) {
		link.close()
		return nil, &permanentError{fmt.Errorf("could not be connected: %w", needs)}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	link.close()
	return nil, errors.New("could not be connected: " + hide.in(err.Error()+link.lastWords()))
}

// texts are those of the server's settings that hold variables.
func (s *server) texts() []string {
	texts := slices.Concat(slices.Collect(maps.Values(s.config.Env)), slices.Collect(maps.Values(s.config.Headers)))
	if s.config.OAuth != nil {
		texts = append(texts, s.config.OAuth.ClientSecret)
	}
	return append(texts, s.config.URL)
}

// link makes the way to the server: its process, or its address.
func (s *server) link() (link, error) {
	if s.config.URL != "" {
		return newHTTPLink(s.name, s.config, &s.pool.options)
	}
	return startProcess(s.config, s.dir, s.pool.options.Lookup)
}
