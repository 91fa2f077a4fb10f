package web

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"github.com/convene-run/convene/events"
)

// serveStream answers GET /api/v1/threads/{thread_id}/events with server-sent
// events: for those who cannot have a WebSocket. Last-Event-ID, or after=SEQ, says
// what the viewer has.
func (s *Server) serveStream(w http.ResponseWriter, r *http.Request) {
	name, after := "Last-Event-ID", r.Header.Get("Last-Event-ID")
	if after == "" {
		name, after = "after", r.URL.Query().Get("after")
	}
	key, seq, err := s.place(r, r.PathValue("thread_id"), name, after)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	leave, err := s.count()
	if err != nil {
		s.problem(w, r, err)
		return
	}
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold events back
	out := streamSink{w, http.NewResponseController(w)}
	if out.ping() != nil {
		return
	}
	_ = s.stream(r.Context(), r, key, seq, out) // the viewer comes back from its seq
}

// streamSink writes server-sent events.
type streamSink struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (s streamSink) events(batch []events.Encoded) error {
	var message bytes.Buffer
	for _, e := range batch {
		message.WriteString("id: ")
		message.WriteString(strconv.FormatInt(int64(e.Seq), 10))
		message.WriteString("\ndata: ")
		message.Write(e.Body)
		message.WriteString("\n\n")
	}
	return s.write(message.Bytes())
}

func (s streamSink) live(body []byte) error {
	return s.write(bytes.Join([][]byte{[]byte("event: live\ndata: "), body, []byte("\n\n")}, nil))
}

func (s streamSink) ping() error { return s.write([]byte(": still here\n\n")) }

func (s streamSink) write(message []byte) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := s.w.Write(message); err != nil {
		return err
	}
	return s.control.Flush()
}
