package web

import (
	"bufio"
	"net"
	"net/http"
)

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
	sent   bool
}

// WriteHeader remembers a second status, and sends only the first: huma gives one to an answer
// whose caller has left in the middle of it.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	if w.sent {
		return
	}
	w.sent = status >= http.StatusOK // a smaller one announces it
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets [http.ResponseController] reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack hands the connection over, for a WebSocket.
func (w *statusWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.status = http.StatusSwitchingProtocols
	return http.NewResponseController(w.ResponseWriter).Hijack()
}
