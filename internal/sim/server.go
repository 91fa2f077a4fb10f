package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// RunHeader is the request header by which a client may say which run a call is of.
// Without it the report finds out by following the dispatch messages.
const RunHeader = "X-Convene-Run"

// maxRequestBytes bounds the body of a request: far above any context window.
const maxRequestBytes = 64 << 20

// Server serves a simulated model by the three APIs that models have, with the faults
// of its options, and reports what it served. It starts no goroutines; whoever
// serves it shuts it down.
//
//	POST /v1/chat/completions   streamed or whole
//	POST /v1/responses          the same, as strict as OpenAI
//	POST /v1/messages           the same, as strict as Anthropic
//	GET  /v1/models
//	GET  /sim/report            a [Report] as JSON; ?records=0 leaves the records out
//	POST /sim/reset             forgets all requests, their numbers included
type Server struct {
	model  *Model
	ledger *ledger
	mux    *http.ServeMux
}

// NewServer makes a server.
func NewServer(options Options) *Server {
	s := &Server{model: New(options), ledger: newLedger(options.Price), mux: http.NewServeMux()}
	s.mux.HandleFunc("POST /v1/chat/completions", s.authorized(s.serveAs(func() dialect { return new(chat) })))
	s.mux.HandleFunc("POST /v1/responses", s.authorized(s.serveAs(func() dialect { return new(responses) })))
	s.mux.HandleFunc("POST /v1/messages", s.authorized(s.serveAs(func() dialect { return new(messages) })))
	s.mux.HandleFunc("GET /v1/models", s.authorized(s.serveModels))
	s.mux.HandleFunc("GET /sim/report", s.serveReport)
	s.mux.HandleFunc("POST /sim/reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		w.WriteHeader(http.StatusNoContent)
	})
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Report says what was served since the start or the last reset.
func (s *Server) Report() Report { return s.ledger.report() }

// Reset forgets all requests that have ended. The next request is number 1 again.
func (s *Server) Reset() { s.ledger.reset() }

func (s *Server) authorized(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if key := s.model.options.Faults.Key; key != "" && r.Header.Get("Authorization") != "Bearer "+key && r.Header.Get("X-Api-Key") != key {
			s.ledger.refuse("key")
			writeError(w, http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided.")
			return
		}
		next(w, r)
	}
}

func (s *Server) serveModels(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{
		map[string]any{"id": "sim", "object": "model", "created": 0, "owned_by": "convene"},
	}})
}

func (s *Server) serveReport(w http.ResponseWriter, r *http.Request) {
	report := s.Report()
	if r.URL.Query().Get("records") == "0" {
		report.Records = nil
	}
	writeJSON(w, http.StatusOK, report)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that left cannot be told
}

// writeError answers in the shape of OpenAI's errors.
func writeError(w http.ResponseWriter, status int, code, message string) {
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "server_error"
	}
	writeJSON(w, status, map[string]any{"error": map[string]any{
		"message": message, "type": kind, "param": nil, "code": code,
	}})
}

// writeRateLimited refuses a request, and says for how long where wait is above 0.
func writeRateLimited(w http.ResponseWriter, wait time.Duration) {
	message := "Rate limit reached."
	if wait > 0 {
		seconds := (wait + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
		w.Header().Set("Retry-After-Ms", strconv.FormatInt(wait.Milliseconds(), 10))
		message += fmt.Sprintf(" Please try again in %v.", wait)
	}
	writeError(w, http.StatusTooManyRequests, "rate_limit_exceeded", message)
}
