package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// Log is what a server reads: a part of [events.Log].
type Log interface {
	events.Reader
	events.Index
	// OpenArtifact is that of [events.Artifacts].
	OpenArtifact(ctx context.Context, key events.ThreadKey, id events.ArtifactID) (*io.SectionReader, error)
}

// Config is what a [Server] works with. Log and Address are required.
type Config struct {
	Log Log
	// Runs starts and steers runs; nil for a server that only shows.
	Runs Runs
	// Batches steers batches; nil for a server that only shows them.
	Batches Batches
	// Users exports and erases what is of one user; nil for a server that does neither.
	Users Users
	// Kept are the folds of the log's threads, those of the runner above all. Defaults to
	// others.
	Kept *thread.Kept
	// Address is what the server listens on, as host:port. Its host and port are the
	// only ones that requests may name, with the names of the loopback if it is one.
	Address string
	// Hosts are additional values of the Host header that are accepted, exactly, such as
	// "convene.example.org": names under which a proxy passes requests on.
	Hosts []string
	// Keeper knows whose credentials callers send, as bearer tokens or by signing in. Without
	// one only a loopback address is served, and everybody is As.
	Keeper access.Keeper
	// As is whoever calls where there is no Keeper, and who signs in by [Server.LoginURL] where
	// there is one. Defaults to the operator of [events.LocalTenant].
	As access.Identity
	// Issuers are the addresses of the identity providers whose tokens Keeper takes, for the
	// page on which people sign in.
	Issuers []string
	// Audit keeps who signed in, and who was refused what. Defaults to nobody's being kept.
	Audit *audit.Recorder
	// Limiters gives what holds calls of the endpoints back, for /metrics; nil where this
	// process asks none.
	Limiters func() []events.BatchLimiter
	// Transitions counts the ends of phases in the conversations that this process drove, for
	// /metrics; nil where it drives none.
	Transitions func() conversation.Transitions
	// Loads gives what this process does for each tenant, for /metrics; nil where it drives no
	// runs.
	Loads func() map[events.TenantID]TenantLoad
	// TenantNames are the tenants that have a label of their own in /metrics, beside
	// [events.LocalTenant]; the others share one. nil is none.
	TenantNames func() []events.TenantID
	// Metrics are further ones for /metrics, with names that begin otherwise than convene_http.
	Metrics []prometheus.Collector
	// Version is shown to callers.
	Version string
	// Logger gets one line for each request. Defaults to none.
	Logger *zerolog.Logger
}

// maxViewers bounds the connections that follow threads: each holds a goroutine or
// two and a few kilobytes, and one machine's people do not need more.
const maxViewers = 4096

const (
	// headerTimeout and idleTimeout free what slow and silent clients hold.
	headerTimeout = 5 * time.Second
	idleTimeout   = 2 * time.Minute
	// maxHeaderBytes is several times what browsers send.
	maxHeaderBytes = 64 << 10
	// closeTimeout is how long requests under way may take once the server ends.
	closeTimeout = 3 * time.Second
)

// Server is the API and the dashboard. It is safe for concurrent use.
type Server struct {
	config  Config
	guard   *guard
	feeds   *feeds
	metrics *metrics
	handler http.Handler

	closeOnce sync.Once
	// closing ends the viewers' connections, which otherwise last.
	closing chan struct{}

	mu      sync.Mutex // guards viewers
	viewers int
}

// New gives a server. It refuses an address that is open to others without a token.
func New(config Config) (*Server, error) {
	if config.Log == nil {
		return nil, errors.New("new server: Log is required")
	}
	config = config.withDefaults()
	if config.Kept == nil {
		config.Kept = thread.NewKept(config.Log)
	}
	g, err := newGuard(config)
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: config, guard: g, closing: make(chan struct{}),
		feeds: &feeds{log: config.Log, byKey: map[events.ThreadKey]*feed{}},
	}
	if config.Runs != nil {
		s.feeds.live = config.Runs.Live
	}
	s.metrics = newMetrics(s)
	s.handler = s.routes()
	return s, nil
}

// withDefaults fills in what has a default without a log.
func (c Config) withDefaults() Config {
	if c.As.Tenant == "" {
		c.As = access.Operator(events.LocalTenant)
	}
	if c.Logger == nil {
		nop := zerolog.Nop()
		c.Logger = &nop
	}
	return c
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

func (s *Server) routes() http.Handler {
	mux := router{http.NewServeMux(), s}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n")) // a caller who is gone needs no answer
	})
	mux.HandleFunc("GET "+loginAddress, s.serveLogin)
	mux.HandleFunc("POST "+loginAddress, s.serveLogin)
	mux.HandleFunc("POST "+logoutAddress, s.serveLogout)
	mux.Handle("GET /metrics", s.metrics.handler())
	mux.HandleFunc("GET /ws", s.serveSocket)
	mux.HandleFunc("GET /api/v1/threads/{thread_id}/events", s.serveStream)
	s.registerAPI(mux)
	s.registerPage(mux)
	mux.HandleFunc("GET /api/v1/runs/{run_id}/export", s.serveExport)
	mux.HandleFunc("GET /api/v1/users/{user_id}/export", s.serveUserExport)
	mux.HandleFunc("GET /api/v1/runs/{run_id}/artifacts/{artifact_id}", s.serveArtifact)
	mux.HandleFunc("/", s.unknown(mux.ServeMux))
	return s.observe(mux.ServeMux, s.guard.protect(s, s.guard.checkPage, mux))
}

// methods are those that any route takes.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete}

// unknown answers what no route takes: another method than the address has, or an
// address that there is not.
func (s *Server) unknown(mux *http.ServeMux) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var allowed []string
		for _, method := range methods {
			other := r.Clone(r.Context())
			other.Method = method
			if _, pattern := mux.Handler(other); pattern != "/" {
				allowed = append(allowed, method)
			}
		}
		switch {
		case len(allowed) > 0:
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			s.problem(w, r, refuse(http.StatusMethodNotAllowed, "%.20s is not allowed here, only %s", r.Method, strings.Join(allowed, ", ")))
		case strings.HasPrefix(r.URL.Path, "/api/"):
			s.problem(w, r, refuse(http.StatusNotFound, "%.200s is not part of the API: /api/v1/openapi.json describes it", r.URL.Path))
		default:
			s.problem(w, r, refuse(http.StatusNotFound, "there is no page %.200s: the dashboard is at /", r.URL.Path))
		}
	}
}

// Serve answers requests until ctx ends, then ends the connections under way. It
// closes the listener.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	return Serve(ctx, listener, s, s.Close)
}

// Serve answers requests with the handler until ctx ends. It calls closing then, which ends
// what lasts, and closes the connections under way and the listener.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, closing func()) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
	}
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		closing()
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err := server.Shutdown(late)
		if err != nil {
			err = errors.Join(server.Close())
		}
		ended <- err
	})
	err := server.Serve(listener)
	if errors.Is(err, http.ErrServerClosed) && !stop() {
		err = <-ended
	}
	closing()
	return err
}

// Close ends the viewers' connections and returns when what follows the log for
// them has ended. Twice is fine.
func (s *Server) Close() {
	s.closeOnce.Do(func() { close(s.closing) })
	s.feeds.close()
}

// close ends what follows the log.
func (fs *feeds) close() {
	fs.mu.Lock()
	for _, f := range fs.byKey {
		f.stop()
	}
	fs.mu.Unlock()
	fs.ending.Wait()
}

// count counts one more viewer in; the returned function counts it out.
func (s *Server) count() (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.viewers >= maxViewers {
		return nil, refuse(http.StatusServiceUnavailable, "%d viewers are connected and no more are accepted: close a page, or try again later", maxViewers)
	}
	s.viewers++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.viewers--
	}, nil
}

// Viewers counts the connections that follow threads.
func (s *Server) Viewers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.viewers
}

// observe counts and logs every request.
func (s *Server) observe(mux *http.ServeMux, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		_, route := mux.Handler(r)
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(seen, r)
		elapsed := time.Since(begun)
		s.metrics.request(route, seen.status, elapsed)
		s.config.Logger.Debug().Str("method", r.Method).Str("path", r.URL.Path).Int("status", seen.status).
			Int64("elapsed_ms", elapsed.Milliseconds()).Str("remote", r.RemoteAddr).Msg("request")
	})
}
