package openai

import (
	"strings"
	"sync"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/wire"
)

// stream is the reply of one call under way. It lives on the goroutine of its
// consumer.
type stream struct {
	wire.Call
	client *Client

	calls callSet
	think thinkSplitter
	extra extraFields
	// refused are the fields that the model is known to refuse.
	refused wire.Fields
	// tag says whose what is kept is; reasoningField is the field that reasoning came in.
	tag            llm.Kept
	reasoningField string
	finish         events.FinishReason
	// news is what the newest chunk brought.
	news news
	// finalUsage is set while the newest chunk was usage alone, after content.
	finalUsage bool
}

var _ wire.Protocol = (*stream)(nil)

// streams are those that are over: their memory serves others.
var streams = sync.Pool{New: func() any { return new(stream) }}

// newStream gives the stream of a call. [stream.release] takes it back.
func newStream(c *Client, req *llm.Request, yield func(llm.Delta, error) bool) *stream {
	s := streams.Get().(*stream)
	s.Of(c.Conn, req, yield)
	s.client, s.tag, s.refused = c, llm.KeptFrom(events.APIChat, c.Provider(), req.Model), c.refusals.Of(req.Model)
	s.calls.call, s.think.call, s.calls.history = &s.Call, &s.Call, req.Messages
	return s
}

// release makes the stream, which must be over, one for another call. Nothing of it is
// reachable from what it handed on.
func (s *stream) release() {
	s.calls.release()
	*s = stream{}
	streams.Put(s)
}

// Encode writes the request.
func (s *stream) Encode(dst []byte) []byte {
	return appendRequest(dst, s.Request(), s.client.beginnings.of(s.Request()), &s.client.cfg, s.tag, s.refused)
}

// State says that a reply did not break off (WIRE 1) once it has a finish reason, or
// [DONE], or ends with usage after content.
func (s *stream) State() wire.State {
	switch {
	case s.finish != "":
		return wire.StateFinished
	case s.Done || s.finalUsage:
		return wire.StateMayEnd
	}
	return wire.StateOpen
}

// Refused looks for the API that the endpoint wants instead, and for a parameter that
// it takes the request without.
func (s *stream) Refused(e *llm.Error, param string) error {
	if (e.Status == 400 || e.Status == 404) && strings.Contains(e.Message, "v1/responses") {
		e.Instead = events.APIResponses
		return e
	}
	if refusesImages(s.Request(), e) {
		return s.client.refusals.Without(fieldImages, e)
	}
	return s.client.refusals.Look(s.Request(), e, param)
}

// Reply hands on what is still held and gives the whole reply.
func (s *stream) Reply() (events.Reply, error) {
	reply := events.Reply{FinishReason: s.finish}
	reopened, err := s.think.finish()
	if err != nil {
		return reply, err
	}
	if reopened != "" {
		s.Unthink(reopened[strings.IndexByte(reopened, '>')+1:])
		if err := s.AddText(reopened); err != nil {
			return reply, err
		}
	}
	s.calls.finish()
	if err := s.Err(); err != nil {
		return reply, err
	}
	reply.ToolCalls, err = s.allCalls()
	reply.Extra = s.keepReply()
	return reply, err
}

// announce hands on the calls that have become whole.
func (s *stream) announce() error {
	for c := s.calls.ready(); c != nil; c = s.calls.ready() {
		final := s.calls.announce(c, s.keepCall(c.extra.object()))
		if err := s.AddCall(c.index, final, s.keepReply()); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) allCalls() ([]events.ToolCall, error) {
	if err := s.announce(); err != nil {
		return nil, err
	}
	return s.calls.announced, nil
}
