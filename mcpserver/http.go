package mcpserver

import (
	"fmt"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxBodyBytes is more than the longest request that a run takes, as JSON.
	maxBodyBytes = 16 << 20
	// maxSessions bounds the sessions of clients of older protocols, which cost some
	// kilobytes each until they end; sessionTimeout is when one ends in which nothing happens.
	maxSessions    = 1000
	sessionTimeout = 30 * time.Minute
	// stateless is the first version of the protocol without sessions.
	stateless = "2026-07-28"
)

// Handler serves over streamable HTTP, for whoever a [web.Guard] in front of it let in. Without
// one everybody comes in, as As.
//
// Clients of 2026-07-28 have no sessions: closing the response cancels a request. Those of
// before have one, through which they cancel, and in which requests outlive a connection.
func (s *Server) Handler() http.Handler {
	options := mcp.StreamableHTTPOptions{
		Logger: s.config.Logger, MaxRequestBodyBytes: maxBodyBytes, SessionTimeout: sessionTimeout,
		DisableLocalhostProtection: true, // the guard's is stricter, and knows --host
		Stateless:                  true, PropagateRequestCancellation: true,
	}
	get := func(*http.Request) *mcp.Server { return s.mcp }
	today := mcp.NewStreamableHTTPHandler(get, &options)
	options.Stateless, options.PropagateRequestCancellation = false, false
	before := mcp.NewStreamableHTTPHandler(get, &options)
	return withGuest(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Mcp-Protocol-Version") >= stateless:
			today.ServeHTTP(w, r)
		case r.Header.Get("Mcp-Session-Id") == "" && s.sessions() >= maxSessions:
			http.Error(w, fmt.Sprintf("%d sessions are open, and no more are accepted: end some, or try again later", maxSessions), http.StatusServiceUnavailable)
		default:
			before.ServeHTTP(w, r)
		}
	}))
}

func (s *Server) sessions() (open int) {
	for range s.mcp.Sessions() {
		open++
	}
	return open
}

// Close ends the sessions of HTTP clients. Requests under way end first: whoever drives runs
// has parked them before.
func (s *Server) Close() {
	for session := range s.mcp.Sessions() {
		_ = session.Close() // the client may have gone
	}
}
