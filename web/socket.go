package web

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/convene-run/convene/events"
)

// maxViewerMessageBytes bounds what a viewer may send: it has nothing to say.
const maxViewerMessageBytes = 512

// pongTimeout is how long a viewer may be silent: two pings may be lost.
const pongTimeout = 3 * pingInterval

// socketBuffers are the write buffers of sockets that write at this moment.
var socketBuffers sync.Pool

// upgrader leaves compression off: events are sent once to each of many viewers, and
// compressing each time would cost more than the bytes. The guard has checked the
// origin already.
var upgrader = websocket.Upgrader{
	ReadBufferSize: maxViewerMessageBytes, WriteBufferSize: 4 << 10, WriteBufferPool: &socketBuffers,
	CheckOrigin: func(*http.Request) bool { return true },
}

// serveSocket answers GET /ws?thread_id=…&after=SEQ. Each message is one or more
// lines of JSON: events in the order of the thread, and messages marked "lossy".
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	key, after, err := s.place(r, r.URL.Query().Get("thread_id"), "after", r.URL.Query().Get("after"))
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
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	defer func() { _ = conn.Close() }() // the viewer is gone either way
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	var reading sync.WaitGroup
	reading.Go(func() {
		defer cancel()
		readSocket(conn)
	})
	err = s.stream(ctx, r, key, after, socketSink{conn})
	if errors.As(err, new(*Refusal)) {
		bye := websocket.FormatCloseMessage(websocket.ClosePolicyViolation, "not authorized any more")
		_ = conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second)) // it may be gone already
	}
	if errors.Is(err, errGone) {
		bye := websocket.FormatCloseMessage(websocket.CloseServiceRestart, "the server is going away")
		_ = conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second)) // it may be gone already
	}
	_ = conn.Close() // ends the reader
	reading.Wait()
}

// readSocket takes the pongs and ends when the viewer is gone, or speaks.
func readSocket(conn *websocket.Conn) {
	conn.SetReadLimit(maxViewerMessageBytes)
	alive := func(string) error { return conn.SetReadDeadline(time.Now().Add(pongTimeout)) }
	conn.SetPongHandler(alive)
	if alive("") != nil {
		return
	}
	for {
		kind, message, err := conn.ReadMessage()
		if err != nil {
			return
		}
		if kind == websocket.TextMessage && !utf8.Valid(message) {
			bye := websocket.FormatCloseMessage(websocket.CloseInvalidFramePayloadData, "the message is not UTF-8")
			_ = conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second)) // it may be gone already
			return
		}
	}
}

// socketSink writes to a WebSocket.
type socketSink struct{ conn *websocket.Conn }

func (s socketSink) events(batch []events.Encoded) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	w, err := s.conn.NextWriter(websocket.TextMessage)
	if err != nil {
		return err
	}
	for i, e := range batch {
		if i > 0 {
			if _, err := w.Write([]byte{'\n'}); err != nil {
				return err
			}
		}
		if _, err := w.Write(e.Body); err != nil {
			return err
		}
	}
	return w.Close()
}

func (s socketSink) live(message []byte) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	return s.conn.WriteMessage(websocket.TextMessage, message)
}

func (s socketSink) ping() error {
	return s.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeTimeout))
}
