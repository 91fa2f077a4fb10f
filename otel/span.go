package otel

import (
	"crypto/sha256"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/convene-run/convene/events"
)

// span is one that has ended, as the log tells it.
type span struct {
	id, parent trace.SpanID
	name       string
	kind       trace.SpanKind
	start, end time.Time
	attributes []attribute.KeyValue
	// failed is the error.type of what went wrong, "" where nothing did.
	failed string
	events []spanEvent
}

// spanEvent is something that happened within a span.
type spanEvent struct {
	name       string
	at         time.Time
	attributes []attribute.KeyValue
}

// set adds an attribute, or replaces the one of its name.
func (s *span) set(a attribute.KeyValue) {
	for i := range s.attributes {
		if s.attributes[i].Key == a.Key {
			s.attributes[i] = a
			return
		}
	}
	s.attributes = append(s.attributes, a)
}

// status gives the span's status. It has no words: those may be somebody's.
func (s *span) status() codes.Code {
	if s.failed != "" {
		return codes.Error
	}
	return codes.Unset
}

// traceOf gives the id of a run's trace where nobody else began one. It is a hash, since
// samplers take the last bytes of a trace id for random, which those of a run id are not.
func traceOf(run events.RunID) trace.TraceID {
	sum := sha256.Sum256([]byte("trace/" + run))
	return trace.TraceID(sum[:16])
}

// spanOf gives the id of the span of what the parts name within a run.
func spanOf(run events.RunID, parts ...string) trace.SpanID {
	var room [128]byte
	text := append(append(append(room[:0], "span/"...), run...), '/')
	for i, part := range parts {
		if i > 0 {
			text = append(text, ' ')
		}
		text = append(text, part...)
	}
	sum := sha256.Sum256(text)
	return trace.SpanID(sum[:8])
}

func rootSpan(run events.RunID) trace.SpanID { return spanOf(run, "run") }

func agentSpan(run events.RunID, actor string) trace.SpanID { return spanOf(run, "agent", actor) }

func callSpan(run events.RunID, seq events.Seq) trace.SpanID {
	return spanOf(run, "call", strconv.FormatInt(int64(seq), 10))
}

// toolSpan is known before the call has its result.
func toolSpan(run events.RunID, call events.CallRef) trace.SpanID {
	return spanOf(run, "tool", string(call.ModelCall), strconv.Itoa(call.Index))
}
