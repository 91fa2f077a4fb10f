package wire

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unsafe"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// errStopped says that the consumer broke out of its loop.
var errStopped = errors.New("consumer stopped")

var (
	errSilent   = errors.New("endpoint was silent for too long")
	errOverTime = errors.New("call took too long")
	// errNothingThere says that the address has no API of this kind.
	errNothingThere = errors.New("nothing is there")
	errNotJSON      = errors.New("chunk is not valid JSON")
	byteOrderMark   = []byte("\xef\xbb\xbf")
	errorPrefix     = []byte("error")
	doneMark        = []byte("[DONE]")
)

// State says how far a reply has come.
type State int

// The states of a reply, in their order.
const (
	// StateOpen: a body that ends here is a broken stream.
	StateOpen State = iota
	// StateMayEnd: a body may end here, and more may come.
	StateMayEnd
	// StateFinished: the reply is whole; only what is about it may follow.
	StateFinished
	// StateOver: nothing that follows is read.
	StateOver
)

// Protocol writes the request of one call and reads its reply, in the JSON of one API.
type Protocol interface {
	encoder
	// Document takes one JSON object: an event of the stream, or the whole answer of
	// an endpoint that did not stream. root and its strings are valid until it returns.
	Document(root Value) error
	// Again takes the text of a document that repeats the newest one but for it, where
	// [Call.Repeats] allows that. It is valid until Again returns.
	Again(text string) error
	// State says how far the reply has come.
	State() State
	// Reply hands on what is still held back and gives the whole reply.
	Reply() (events.Reply, error)
	// Refused looks at an answer that is no 200; param is the parameter that it names.
	// It gives the error of the call.
	Refused(e *llm.Error, param string) error
}

// Call is one call under way. It lives on the goroutine of its consumer. The zero value is for
// any call.
type Call struct {
	conn     *Conn
	req      *llm.Request
	protocol Protocol
	to       *url.URL
	parent   context.Context
	ctx      context.Context
	yield    func(llm.Delta, error) bool
	// refusal is the answer that was no 200, with the parameter that it names.
	refusal      *llm.Error
	refusedParam string
	// emitErr is the consumer's first failure.
	emitErr error

	idle    *time.Timer
	timeout time.Duration // what idle is armed with
	phase   string        // what is waited for, for the message of a timeout
	total   time.Duration // what the whole call may take
	sent    time.Time
	first   time.Duration

	// answered is set once the request was accepted.
	answered bool
	// Done is set at [DONE].
	Done bool
	// Content is set once the reply has brought anything.
	Content bool

	lines     lineReader
	text      strings.Builder
	reasoning strings.Builder
	size      int
	held      held
	model     string
	usage     events.Usage
	usageSeen bool
	tier      string
	charged   *float64
	// limits are what the headers of the answer said of the endpoint's limits.
	limits *llm.RateLimits

	// buffers are there while a reply is read.
	*buffers
	// reading is the newest document, which the pattern is of where repeats is set.
	reading []byte
	repeats bool

	// pending is data that is not yet valid JSON: an event of several data lines, of
	// which pendingLines have come.
	pending      []byte
	pendingLines int
	// failing is set behind an "event: error" line.
	failing bool
	// stray is the last line that was no part of the format; it may explain the end.
	stray string
}

// Of makes it the call of a request, whose deltas go to yield.
func (s *Call) Of(conn *Conn, req *llm.Request, yield func(llm.Delta, error) bool) {
	s.conn, s.req, s.yield = conn, req, yield
}

// Request is what is asked.
func (s *Call) Request() *llm.Request { return s.req }

// Run makes the call and yields its deltas. A failure says whether the endpoint had
// begun to answer, and carries what it had reported by then: usage, tier and limits.
//
// path is that of the API below the base URL; where nothing is there it is looked for
// with and without /v1.
func (s *Call) Run(ctx context.Context, path string, protocol Protocol) error {
	s.parent, s.protocol = ctx, protocol
	base := int(s.conn.at.Load())
	s.to = s.conn.below(base, path)
	err := s.run()
	for errors.Is(err, errNothingThere) {
		next := s.conn.elsewhere(base, path)
		if next == nil {
			err = protocol.Refused(s.refusal, s.refusedParam)
			break
		}
		base, s.to = base+1, next
		if err = s.run(); !errors.Is(err, errNothingThere) {
			s.conn.at.Store(int32(base))
		}
	}
	var failure *llm.Error
	if !errors.As(err, &failure) {
		return err
	}
	failure.Answered, failure.Limits, failure.Tier = s.answered, s.limits, s.tier
	if s.usageSeen {
		usage := s.usage
		failure.Usage = &usage
	}
	return err
}

func (s *Call) run() error {
	ctx, cancel := context.WithCancelCause(s.parent)
	defer cancel(nil)
	s.ctx = ctx
	silence := s.conn.silence(s.req)
	s.timeout, s.phase = silence.First, "the first byte"
	s.idle = time.AfterFunc(s.timeout, func() { cancel(errSilent) })
	defer s.idle.Stop()
	s.total = s.conn.totalTimeout(silence)
	total := time.AfterFunc(s.total, func() { cancel(errOverTime) })
	defer total.Stop()

	s.sent = time.Now()
	response, err := s.conn.send(ctx, s.to, s.protocol)
	if err != nil {
		return s.transportError(err)
	}
	defer response.Body.Close()
	s.limits = rateLimits(response.Header, time.Now())
	if response.StatusCode != http.StatusOK {
		s.refusal, s.refusedParam = s.conn.statusError(s.req.Model, s.to, response)
		if NothingThere(s.refusal) {
			return errNothingThere
		}
		return s.protocol.Refused(s.refusal, s.refusedParam)
	}
	s.answered = true
	s.lines = newLineReader(response.Body, maxLineBytes(s.conn.cfg.MaxReplyBytes), s)
	s.buffers = readBuffers.Get().(*buffers)
	defer s.stopReading()
	if err := s.read(response.Header.Get("Content-Type"), silence.Next); err != nil {
		return cmp.Or(s.handOn(), err)
	}
	return s.complete()
}

// stopReading gives back what the reply was read with.
func (s *Call) stopReading() {
	s.lines.release()
	s.buffers.empty()
	readBuffers.Put(s.buffers)
	s.buffers = nil
}

// wait implements [waiter]: what is held must not wait for what has not come.
func (s *Call) wait() error { return s.handOn() }

// heard implements [waiter].
func (s *Call) heard() { s.idle.Reset(s.timeout) }

// maxLineBytes bounds one line: a whole reply in a single chunk with every byte
// escaped as \u00XX is the longest that can be legal.
func maxLineBytes(maxReplyBytes int) int { return 6*maxReplyBytes + lineBufferBytes }

// read takes the body to its end.
func (s *Call) read(contentType string, idle time.Duration) error {
	if first, ok := s.lines.peek(); ok {
		s.timeout, s.phase = idle, "the next byte"
		s.idle.Reset(s.timeout)
		if first == '{' && !strings.Contains(contentType, "event-stream") {
			return s.readWhole()
		}
	}
	for !s.Done {
		line, err := s.lines.next()
		if err != nil {
			return s.end(err)
		}
		if err := s.line(line); err != nil {
			return err
		}
		state := s.protocol.State()
		if state == StateOver {
			return nil
		}
		if state == StateFinished && s.timeout > finishedTimeout {
			s.timeout, s.phase = finishedTimeout, "the end of a finished reply"
			s.idle.Reset(s.timeout)
		}
	}
	if s.protocol.State() == StateOpen {
		return s.end(io.EOF)
	}
	return nil
}

// readWhole takes the body of an endpoint that ignored "stream": one JSON document.
func (s *Call) readWhole() error {
	body, err := s.lines.rest()
	if err != nil {
		return s.end(err)
	}
	body = bytes.TrimSpace(bytes.TrimPrefix(body, byteOrderMark))
	if err := s.document(body); !errors.Is(err, errNotJSON) {
		if err == nil && s.protocol.State() < StateFinished && !s.Content {
			return s.Broken("the answer is JSON without a reply: " + clip(body))
		}
		return err
	}
	for line := range bytes.SplitSeq(body, []byte{'\n'}) {
		if err := s.line(bytes.TrimSuffix(line, []byte{'\r'})); err != nil {
			return err
		}
	}
	return s.end(io.EOF)
}

// line takes one line of the event stream.
// https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
func (s *Call) line(line []byte) error {
	if len(line) > 0 && line[0] == byteOrderMark[0] {
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	switch {
	case len(line) == 0:
		s.failing = false
		if len(s.pending) > 0 {
			return s.Broken("a chunk is not valid JSON: " + clip(s.pending))
		}
		return nil
	case line[0] == ':':
		return nil
	case line[0] == '{':
		return s.data(line) // an error, or a server that leaves the framing out
	}
	name, value, found := bytes.Cut(line, []byte{':'})
	if !found {
		s.stray = clip(line)
		return nil
	}
	switch string(name) {
	case "data":
		return s.data(bytes.TrimSpace(value))
	case "event":
		s.failing = bytes.Equal(bytes.TrimSpace(value), errorPrefix)
	case "id", "retry":
	default:
		s.stray = clip(line)
	}
	return nil
}

func (s *Call) data(data []byte) error {
	if len(s.pending) > 0 {
		s.pending = append(append(s.pending, '\n'), data...)
		data = s.pending
	}
	switch {
	case len(data) == 0:
		return nil
	case bytes.Equal(data, doneMark):
		s.Done = true
		return nil
	case s.failing:
		return s.errorText(data)
	case data[0] != '{':
		s.stray = clip(data)
		return nil
	}
	if s.repeats && len(s.pending) == 0 {
		if text, ok := s.pattern.match(data); ok {
			return s.protocol.Again(text)
		}
	}
	err := s.document(data)
	if !errors.Is(err, errNotJSON) {
		s.pending, s.pendingLines = nil, 0
		return err
	}
	if len(s.pending) > maxLineBytes(s.conn.cfg.MaxReplyBytes) {
		return s.tooLarge()
	}
	if s.pendingLines++; s.pendingLines > maxEventLines {
		return s.Broken("a chunk is not valid JSON: " + clip(s.pending))
	}
	if len(s.pending) == 0 {
		s.pending = bytes.Clone(data)
	}
	return nil
}

// document takes one JSON document.
func (s *Call) document(data []byte) error {
	s.repeats, s.reading = false, data
	// The strings below share data's memory; whatever outlives this call is cloned.
	root, ok := s.parsed.parse(unsafe.String(unsafe.SliceData(data), len(data)))
	switch {
	case !ok:
		return errNotJSON
	case !root.IsObject():
		return nil
	}
	return s.protocol.Document(root)
}

// Repeats says that the document that is being read brings nothing but text: of one that
// differs from it only there, and in idle values, which mean nothing, the text is given to
// [Protocol.Again] instead of all to [Protocol.Document].
func (s *Call) Repeats(text Place, idle ...Place) {
	s.repeats = s.pattern.learn(s.reading, text, idle...)
}

// maxEventLines bounds the data lines of one event: enough for a chunk that is
// printed prettily, few enough to reread it with each.
const maxEventLines = 256

// end judges the end of the body: the reply may be whole anyway.
func (s *Call) end(err error) error {
	switch {
	case s.emitErr != nil:
		return s.emitErr
	case s.parent.Err() != nil:
		return s.transportError(err)
	case errors.Is(err, errLineTooLong):
		return s.tooLarge()
	case s.protocol.State() != StateOpen && len(s.pending) == 0:
		return nil
	case !errors.Is(err, io.EOF) && (s.Content || context.Cause(s.ctx) != nil):
		return s.transportError(err)
	case len(s.pending) > 0:
		return s.Broken("the stream ended inside a chunk")
	case s.stray != "" && !s.Content:
		return s.Broken("the endpoint sent no chunks, but: " + s.stray)
	}
	return s.Broken("the stream ended without a finish reason or [DONE]")
}

// complete closes the reply.
func (s *Call) complete() error {
	reply, err := s.protocol.Reply()
	if err = cmp.Or(s.giveHeld(err == nil), err); err != nil {
		return err
	}
	reply.Text = strings.ToValidUTF8(s.text.String(), "\uFFFD")
	reply.Reasoning = strings.ToValidUTF8(s.reasoning.String(), "\uFFFD")
	s.idle.Stop()
	done := &llm.Completion{
		Reply: reply, Usage: s.usage, Model: s.model, Provider: s.conn.cfg.Provider,
		Tier: s.tier, CostUSD: s.charged, FirstToken: s.first, Total: time.Since(s.sent), Attempts: 1, Limits: s.limits,
	}
	if done.Model == "" {
		done.Model = s.req.Model
	}
	if s.first == 0 {
		done.FirstToken = done.Total
	}
	if !s.usageSeen {
		done.Usage = llm.EstimateUsage(s.req, &reply)
	}
	s.yield(llm.Delta{Done: done}, nil)
	s.timeout = drainTimeout
	s.idle.Reset(s.timeout)
	s.lines.drain()
	return nil
}
