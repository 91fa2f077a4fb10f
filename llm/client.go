package llm

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"time"
	"unicode"

	"github.com/convene-run/convene/events"
)

// Client streams replies of one endpoint. It is safe for concurrent use.
type Client interface {
	// Stream sends the request and yields what comes back. The last delta of a whole
	// reply has Done set and a nil error; a stream that ends otherwise yields exactly
	// one error, an [*Error] wherever the endpoint is at fault, and nothing behind it.
	// Breaking out of the loop, or the end of ctx, closes the connection.
	Stream(ctx context.Context, req Request) iter.Seq2[Delta, error]
}

// Request is one call of a model.
type Request struct {
	// Model is the name as the endpoint knows it.
	Model    string
	Messages []events.Message
	// Tools are offered in this order, always the same for one agent, so that prompt
	// caches hit.
	Tools      []Tool
	ToolChoice ToolChoice
	// Temperature is sent where it is not nil; zero is a value.
	Temperature *float64
	// MaxOutputTokens bounds the reply; 0 leaves it to the endpoint.
	MaxOutputTokens int

	// Run, Call and Priority are not sent. They tell the limiter whose turn it is
	// and a log line what it is about.
	Run      events.RunID
	Call     events.ModelCallID
	Priority Priority
}

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	// Parameters is a JSON Schema of an object, always the same bytes.
	Parameters json.RawMessage
}

// ToolChoice constrains the use of tools. Endpoints may ignore it (WIRE 20), so
// the caller checks the reply all the same.
type ToolChoice string

// The tool choices. The zero value leaves it to the model.
const (
	ToolChoiceAuto ToolChoice = ""
	ToolChoiceNone ToolChoice = "none"
)

// Priority orders the callers that wait for the limiter: interactive before
// batch, and within a class the oldest run first.
type Priority int

// The priorities. The zero value is interactive.
const (
	PriorityInteractive Priority = iota
	PriorityBatch
)

// Delta is one piece of a reply. Exactly one of its parts is set.
type Delta struct {
	// Sent is the number of the attempt, from 1, whose request goes out now: the wait
	// for the limiter is over. Only [Caller] sends it.
	Sent int
	// Text and Reasoning are new text.
	Text      string
	Reasoning string
	// Fragment is new text of the arguments of the call at Index, for those who
	// watch; Call brings the same call whole.
	Fragment string
	// Call is set as soon as the call at Index has streamed in whole, before the
	// stream ends. Calls come in the order of Index, which counts from 0.
	Call  *events.ToolCall
	Index int
	// Retry announces that the attempt failed and that all deltas so far are void: a
	// new attempt follows after Retry.Wait. Only [Caller] sends it. A consumer that
	// has already acted on a call of the failed attempt breaks out of the loop.
	Retry *Retry
	// Done closes a whole reply.
	Done *Completion
}

// Retry says why an attempt failed and what follows.
type Retry struct {
	// Attempt is the number of the attempt that failed, from 1.
	Attempt int
	Wait    time.Duration
	Err     error
	// Model is the model that the next attempt asks, a fallback perhaps.
	Model string
}

// Completion is a whole reply and what it took.
type Completion struct {
	Reply events.Reply
	Usage events.Usage
	// Model is the model as the endpoint named it, else as it was asked for.
	Model string
	// Provider names the endpoint.
	Provider string
	// CostUSD is nil where the model has no known price.
	CostUSD *float64
	// Queued is the wait for the limiter, Retried the wait between attempts;
	// FirstToken and Total are the last attempt's, from sending the request.
	Queued, Retried, FirstToken, Total time.Duration
	// Attempts counts the requests sent for this reply, from 1.
	Attempts int
	// Failures are the attempts before the one that brought the reply, the newest
	// [events.MaxRetries] of them. Only [Caller] fills it.
	Failures []Failure
}

// Failure is an attempt that failed.
type Failure struct {
	// Sent is when its request went out, counted from the beginning of the call; Ran
	// how long it took to fail; Wait the time until the next request went out, or until
	// the call was stopped, if it was while it waited.
	Sent, Ran, Wait time.Duration
	// Model is the model that was asked.
	Model string
	Err   *Error
}

// Recorded gives the failure as the log has it: in milliseconds that leave no gap
// between one attempt and the next.
func (f *Failure) Recorded() events.FailedAttempt {
	sent, failed, next := f.Sent.Milliseconds(), (f.Sent + f.Ran).Milliseconds(), (f.Sent + f.Ran + f.Wait).Milliseconds()
	return events.FailedAttempt{
		StartMS: sent, RanMS: failed - sent, WaitMS: next - failed,
		Error: string(f.Err.Kind), Status: f.Err.Status, Message: oneLine(f.Err.text()), Model: f.Model, Usage: f.Err.Usage,
	}
}

// recordedMessageRunes bounds what the log keeps of the words of a failure: enough
// to tell failures apart.
const recordedMessageRunes = 160

// oneLine makes a text one line of at most [recordedMessageRunes] characters that
// can be shown.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > recordedMessageRunes {
		return string(runes[:recordedMessageRunes-1]) + "…"
	}
	return string(runes)
}
