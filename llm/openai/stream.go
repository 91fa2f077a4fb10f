package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

var (
	errStopped    = errors.New("consumer stopped")
	errSilent     = errors.New("endpoint was silent for too long")
	errOverTime   = errors.New("call took too long")
	byteOrderMark = []byte("\xef\xbb\xbf")
	errorPrefix   = []byte("error")
	doneMark      = []byte("[DONE]")
)

// stream is one call under way. It lives on the goroutine of its consumer.
type stream struct {
	client *Client
	req    *llm.Request
	parent context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	yield  func(llm.Delta, error) bool
	// emitErr is the first failure of emit inside a callback without error.
	emitErr error

	idle    *time.Timer
	timeout time.Duration // what idle is armed with
	phase   string        // what is waited for, for the message of a timeout
	sent    time.Time
	first   time.Duration

	calls     callSet
	think     thinkSplitter
	extra     extraFields
	text      strings.Builder
	reasoning strings.Builder
	size      int
	model     string
	finish    events.FinishReason
	usage     events.Usage
	usageSeen bool
	// content is set once the reply has brought anything; done at [DONE]; finalUsage
	// while the newest chunk was usage alone, after content. See whole.
	content, done, finalUsage bool

	// pending is data that is not yet valid JSON: an event of several data lines, of
	// which pendingLines have come.
	pending      []byte
	pendingLines int
	// failing is set behind an "event: error" line.
	failing bool
	// stray is the last line that was no part of the format; it may explain the end.
	stray string
}

// run makes the call and yields its deltas. A failure carries the usage that the
// endpoint had reported.
func (s *stream) run(body *requestBody) error {
	err := s.call(body)
	var failure *llm.Error
	if s.usageSeen && errors.As(err, &failure) {
		usage := s.usage
		failure.Usage = &usage
	}
	return err
}

func (s *stream) call(body *requestBody) error {
	s.ctx, s.cancel = context.WithCancelCause(s.parent)
	defer s.cancel(nil)
	s.timeout, s.phase = s.client.cfg.FirstByteTimeout, "the first byte"
	s.idle = time.AfterFunc(s.timeout, func() { s.cancel(errSilent) })
	defer s.idle.Stop()
	total := time.AfterFunc(s.client.cfg.TotalTimeout, func() { s.cancel(errOverTime) })
	defer total.Stop()

	s.sent = time.Now()
	response, err := s.client.send(s.ctx, body)
	if err != nil {
		return s.transportError(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return s.client.statusError(s.req.Model, response)
	}
	lines := newLineReader(response.Body, maxLineBytes(s.client.cfg.MaxReplyBytes), func() { s.idle.Reset(s.timeout) })
	defer lines.release()
	if err := s.read(lines, response.Header.Get("Content-Type")); err != nil {
		return err
	}
	return s.complete(lines)
}

// maxLineBytes bounds one line: a whole reply in a single chunk with every byte
// escaped as \u00XX is the longest that can be legal.
func maxLineBytes(maxReplyBytes int) int { return 6*maxReplyBytes + lineBufferBytes }

// read takes the body to its end.
func (s *stream) read(lines *lineReader, contentType string) error {
	first, ok := lines.peek()
	s.timeout, s.phase = s.client.cfg.IdleTimeout, "the next byte"
	s.idle.Reset(s.timeout)
	if ok && first == '{' && !strings.Contains(contentType, "event-stream") {
		return s.readWhole(lines)
	}
	for !s.done {
		line, err := lines.next()
		if err != nil {
			return s.end(err)
		}
		if err := s.line(line); err != nil {
			return err
		}
		if s.finish != "" && s.timeout > finishedTimeout {
			s.timeout, s.phase = finishedTimeout, "the end of a finished reply"
			s.idle.Reset(s.timeout)
		}
	}
	return nil
}

// readWhole takes the body of an endpoint that ignored "stream": one JSON document.
func (s *stream) readWhole(lines *lineReader) error {
	body, err := lines.rest()
	if err != nil {
		return s.end(err)
	}
	body = bytes.TrimSpace(bytes.TrimPrefix(body, byteOrderMark))
	if err := s.chunk(body); !errors.Is(err, errNotJSON) {
		if err == nil && s.finish == "" && !s.content {
			return s.broken("the answer is JSON without a reply: " + clip(body))
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
func (s *stream) line(line []byte) error {
	if len(line) > 0 && line[0] == byteOrderMark[0] {
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	switch {
	case len(line) == 0:
		s.failing = false
		if len(s.pending) > 0 {
			return s.broken("a chunk is not valid JSON: " + clip(s.pending))
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

func (s *stream) data(data []byte) error {
	if len(s.pending) > 0 {
		s.pending = append(append(s.pending, '\n'), data...)
		data = s.pending
	}
	switch {
	case len(data) == 0:
		return nil
	case bytes.Equal(data, doneMark):
		s.done = true
		return nil
	case s.failing:
		return s.client.streamErrorText(s.req.Model, data)
	case data[0] != '{':
		s.stray = clip(data)
		return nil
	}
	err := s.chunk(data)
	if !errors.Is(err, errNotJSON) {
		s.pending, s.pendingLines = nil, 0
		return err
	}
	if len(s.pending) > maxLineBytes(s.client.cfg.MaxReplyBytes) {
		return s.tooLarge()
	}
	if s.pendingLines++; s.pendingLines > maxEventLines {
		return s.broken("a chunk is not valid JSON: " + clip(s.pending))
	}
	if len(s.pending) == 0 {
		s.pending = bytes.Clone(data)
	}
	return nil
}

// maxEventLines bounds the data lines of one event: enough for a chunk that is
// printed prettily, few enough to read it anew with each.
const maxEventLines = 256

// end judges the end of the body: the reply may be whole all the same.
func (s *stream) end(err error) error {
	switch {
	case s.parent.Err() != nil:
		return s.transportError(err)
	case errors.Is(err, errLineTooLong):
		return s.tooLarge()
	case s.whole() && len(s.pending) == 0:
		return nil
	case !errors.Is(err, io.EOF) && (s.content || context.Cause(s.ctx) != nil):
		return s.transportError(err)
	case len(s.pending) > 0:
		return s.broken("the stream ended inside a chunk")
	case s.stray != "" && !s.content:
		return s.broken("the endpoint sent no chunks, but: " + s.stray)
	}
	return s.broken("the stream ended without a finish reason or [DONE]")
}

// whole says that a reply did not break off (WIRE 1): it has a finish reason, or
// [DONE], or ends with usage after content.
func (s *stream) whole() bool { return s.finish != "" || s.done || s.finalUsage }

// complete hands on what is still held and closes the reply.
func (s *stream) complete(lines *lineReader) error {
	reopened, err := s.think.finish(s.piece)
	if err != nil {
		return err
	}
	if reopened != "" {
		kept := strings.TrimSuffix(s.reasoning.String(), reopened)
		s.reasoning.Reset()
		s.reasoning.WriteString(kept)
		if err := s.addText(thinkOpen + reopened); err != nil {
			return err
		}
	}
	s.calls.finish()
	if s.emitErr != nil {
		return s.emitErr
	}
	reply := events.Reply{FinishReason: s.finish}
	reply.ToolCalls, err = s.allCalls()
	if err != nil {
		return err
	}
	reply.Text = strings.ToValidUTF8(s.text.String(), "\uFFFD")
	reply.Reasoning = strings.ToValidUTF8(s.reasoning.String(), "\uFFFD")
	reply.Extra = s.extra.object()
	s.idle.Stop()
	done := &llm.Completion{
		Reply: reply, Usage: s.usage, Model: s.model, Provider: s.client.cfg.Provider,
		FirstToken: s.first, Total: time.Since(s.sent), Attempts: 1,
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
	lines.drain()
	return nil
}

// emit hands a delta to the consumer.
func (s *stream) emit(d llm.Delta) error {
	if s.emitErr != nil {
		return s.emitErr
	}
	s.content = true
	if s.first == 0 {
		s.first = time.Since(s.sent)
	}
	if !s.yield(d, nil) {
		s.emitErr = errStopped
	}
	return s.emitErr
}

func (s *stream) piece(text string, reasoning bool) error {
	if reasoning {
		return s.addReasoning(text)
	}
	return s.addText(text)
}

func (s *stream) addText(text string) error {
	if text == "" {
		return nil
	}
	s.size += len(text)
	s.text.WriteString(text)
	if err := s.bounded(); err != nil {
		return err
	}
	return s.emit(llm.Delta{Text: strings.Clone(text)})
}

func (s *stream) addReasoning(text string) error {
	if text == "" {
		return nil
	}
	s.size += len(text)
	s.reasoning.WriteString(text)
	if err := s.bounded(); err != nil {
		return err
	}
	return s.emit(llm.Delta{Reasoning: strings.Clone(text)})
}

// grew hears of new text in a call's arguments.
func (s *stream) grew(index int, text string) {
	_ = s.emit(llm.Delta{Fragment: strings.Clone(text), Index: index}) // kept in emitErr
}

func (s *stream) bounded() error {
	if s.size > s.client.cfg.MaxReplyBytes {
		return s.tooLarge()
	}
	return nil
}

// announce hands on the calls that have become whole.
func (s *stream) announce() error {
	for c := s.calls.ready(); c != nil; c = s.calls.ready() {
		s.calls.announce(c)
		if err := s.emit(llm.Delta{Call: &c.final, Index: c.index}); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) allCalls() ([]events.ToolCall, error) {
	if err := s.announce(); err != nil {
		return nil, err
	}
	if len(s.calls.list) == 0 {
		return nil, nil
	}
	all := make([]events.ToolCall, len(s.calls.list))
	for i, c := range s.calls.list {
		all[i] = c.final
	}
	return all, nil
}

// clip shortens a line for an error message.
func clip(line []byte) string {
	const most = 200
	if len(line) > most {
		return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(string(line[:most]), ""), len(line))
	}
	return strings.ToValidUTF8(string(line), "\uFFFD")
}
