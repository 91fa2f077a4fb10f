package sim

import (
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// serving is one request on its way.
type serving struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	start  time.Time
	fault  Fault
	asked  dialect
	record *Record
	pace   *pacer
	outcome
}

// outcome is how a request went, for the ledger.
type outcome struct {
	status  int
	fault   string // the fault that happened
	whole   bool
	planned time.Duration
	usage   events.Usage
	flex    bool // it was served in the flex tier
	// chunks are those of the reply, sent counts those that went out.
	chunks []chunk
	sent   int
}

// paid is what a provider charges for: the input, and the output as far as it was sent;
// nothing where it failed before anything was.
func (o *outcome) paid() events.Usage {
	paid := o.usage
	switch {
	case o.whole:
	case o.sent == 0 && (o.fault == string(FaultReset) || o.fault == string(FaultErrorEvent)):
		return events.Usage{}
	default:
		bytes := 0
		for _, c := range o.chunks[:o.sent] {
			bytes += len(c.text) + len(c.fragment)
		}
		paid.OutputTokens = min(tokens(bytes), o.usage.OutputTokens)
	}
	return paid
}

// serveAs gives the handler of one API.
func (s *Server) serveAs(speak func() dialect) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, speak()) }
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, asked dialect) {
	v := &serving{server: s, w: w, r: r, start: time.Now(), asked: asked}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil && !errors.As(err, new(*http.MaxBytesError)) {
		return // the client went away
	}
	if err == nil {
		err = asked.read(body)
	}
	if err != nil {
		s.ledger.refuse("bad-request")
		asked.refuse(w, http.StatusBadRequest, "invalid_request", "The request body cannot be read: "+err.Error())
		return
	}
	if wrong := asked.check(accountOf(r.Header)); wrong != "" {
		s.ledger.refuse("strict")
		asked.refuse(w, http.StatusBadRequest, "", wrong)
		return
	}
	faults := &s.model.options.Faults
	record, wait := s.ledger.admit(v.start, faults)
	if record == nil {
		if faults.RetryAfter < 0 {
			wait = 0
		}
		writeRateLimited(w, wait)
		return
	}
	v.record = record
	if record.told != nil {
		asked.tell(w.Header(), record.told, v.start)
	}
	v.fault = faults.draw(s.model.options.Seed, record.Number)
	defer func() { s.ledger.end(record, body, v.outcome) }()
	req := asked.request()
	if !v.refuse(faults, &req) {
		v.serve(r.Header.Get(RunHeader), req)
	}
}

// refuse answers the faults that are no reply at all.
func (v *serving) refuse(faults *Faults, req *llm.Request) bool {
	switch v.fault.Kind {
	case FaultRateLimit:
		v.status = http.StatusTooManyRequests
		writeRateLimited(v.w, faults.retryAfter())
	case FaultStatus:
		v.status = v.fault.Status
		v.asked.refuse(v.w, v.status, "server_error", "The simulated server failed as it was told to.")
	case FaultHTML:
		v.status = http.StatusBadGateway
		v.w.Header().Set("Content-Type", "text/html")
		v.w.WriteHeader(v.status)
		_, _ = io.WriteString(v.w, "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n")
	case FaultNoModel:
		v.status = http.StatusNotFound
		v.asked.refuse(v.w, v.status, "model_not_found", "The model `"+req.Model+"` does not exist or you do not have access to it.")
	case FaultNoTools:
		if len(req.Tools) == 0 {
			return false
		}
		v.status = http.StatusBadRequest
		v.asked.refuse(v.w, v.status, "", req.Model+" does not support tools")
	default:
		return false
	}
	v.happened()
	return true
}

// happened notes that the fault drawn for the request has taken place.
func (v *serving) happened() { v.outcome.fault = v.fault.name() }

// serve plays the reply and sends it.
func (v *serving) serve(run string, req llm.Request) {
	s := v.server
	reply := s.model.Reply(req)
	v.asked.finish(&reply, accountOf(v.r.Header))
	if spoil(&reply, v.fault.Kind) {
		v.happened()
	}
	cut := s.model.chunks(reply)
	v.pace = s.model.pace(v.start, req, reply, cut)
	defer v.pace.stop()
	if v.fault.Kind == FaultSlow {
		v.happened()
		v.pace.first += v.fault.For
	}
	v.status, v.usage, v.chunks, v.flex = http.StatusOK, usage(req, reply), cut, v.asked.tier() == tierFlex
	v.planned = v.pace.due(max(len(cut)-1, 0))
	s.ledger.begin(v.record, run, req, reply, callsDue(v.pace, cut))
	if v.asked.streams() {
		v.whole = v.stream(v.asked.render(v.record.Number, reply, cut, v.usage))
	} else {
		v.whole = v.once(v.asked.renderWhole(v.record.Number, reply, v.usage), len(cut))
	}
}

// callsDue gives for each call of a reply when it has streamed whole.
func callsDue(pace *pacer, cut []chunk) []time.Duration {
	var due []time.Duration
	for i, c := range cut {
		if c.ends {
			due = append(due, pace.due(i))
		}
	}
	return due
}

// stream sends the chunks when they are due and reports whether all went out.
func (v *serving) stream(r *rendering) bool {
	v.w.Header().Set("Content-Type", "text/event-stream")
	v.w.Header().Set("Cache-Control", "no-cache")
	n := len(r.chunks)
	middle := v.server.model.options.middle(v.record.Number, n)
	for i := 0; i < n; i++ {
		if i == middle && v.breakOff() {
			return false
		}
		if v.pace.wait(v.r.Context(), i) != nil {
			return false
		}
		b := r.chunks[i]
		for v.server.model.options.Coalesce && i+1 < n && i+1 != middle && v.isDue(i+1) {
			i++
			b = append(b, r.chunks[i]...)
		}
		send := v.send
		if i == n-1 {
			b, send = append(b, r.tail...), v.sendLast
		}
		if !send(b) {
			return false
		}
		v.sent = i + 1
	}
	return n > 0 || v.pace.wait(v.r.Context(), 0) == nil && v.sendLast(r.tail)
}

func (v *serving) isDue(i int) bool { return time.Since(v.start) >= v.pace.due(i) }

// send writes and flushes.
func (v *serving) send(b []byte) bool {
	if _, err := v.w.Write(b); err != nil {
		return false
	}
	if http.NewResponseController(v.w).Flush() != nil {
		return false
	}
	v.server.ledger.sent(v.record, time.Since(v.start))
	return true
}

// sendLast sends what a client may take for the end of the reply.
func (v *serving) sendLast(b []byte) bool {
	v.server.ledger.leave(v.record)
	return v.send(b)
}

// once sends a reply that is not streamed, when its last chunk is due.
func (v *serving) once(body []byte, chunks int) bool {
	v.w.Header().Set("Content-Type", "application/json")
	if v.breakOff() {
		if v.fault.Kind == FaultCut {
			v.send(body[:len(body)/2])
		}
		return false
	}
	return v.pace.wait(v.r.Context(), max(chunks-1, 0)) == nil && v.sendLast(body)
}

// breakOff does what is ordered for the middle of a reply, and reports whether that
// was its end.
func (v *serving) breakOff() bool {
	switch v.fault.Kind {
	case FaultStall:
		v.pace.first += v.fault.For
		v.planned += v.fault.For
	case FaultCut:
	case FaultErrorEvent:
		v.sendError()
	case FaultReset:
		defer v.reset()
	default:
		return false
	}
	v.happened()
	return v.fault.Kind != FaultStall
}

// sendError sends an error under the status 200.
func (v *serving) sendError() {
	if v.asked.streams() {
		v.sendLast([]byte("event: error\ndata: " + string(v.asked.fail()) + "\n\n"))
		return
	}
	v.sendLast(v.asked.fail())
}

// reset closes the connection so that the client sees it reset.
func (v *serving) reset() {
	v.server.ledger.leave(v.record)
	conn, _, err := http.NewResponseController(v.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // no connection of its own: the server aborts the stream
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
