package llm

import (
	"errors"

	"github.com/convene-run/convene/events"
)

// lose counts what the attempt that has just failed used, and tells the consumer. The
// error is the attempt's, or errConsumerStopped.
func (c *call) lose(target Target, came streamed, failure error) error {
	used := c.usedBy(target, came, failure)
	if used == nil {
		return failure
	}
	c.used = &events.Spent{Usage: used.Usage, CostUSD: c.price(target, used)}
	c.spent = c.spent.Plus(c.used)
	if !c.yield(Delta{Lost: c.used}, nil) {
		return errConsumerStopped
	}
	return failure
}

// staleReport is how many times our estimate of the output must be what the endpoint
// reported for the report to be one from the beginning of the stream.
const staleReport = 2

// usedBy gives what a failed attempt is taken to have used, in which tier, nil for
// nothing: its input, and the output that streamed. What the endpoint reported comes before our estimate,
// but for output that streamed behind the report.
func (c *call) usedBy(target Target, came streamed, failure error) *Completion {
	var said *Error
	known := errors.As(failure, &said)
	if known && said.Usage == nil && came == (streamed{}) && !said.charged() {
		return nil
	}
	used := &Completion{Model: target.Model, Usage: c.caller.gauges.estimate(target, c.req, came.bytes+came.arguments)}
	if !known {
		return used
	}
	used.Tier = said.Tier
	if said.Usage != nil {
		reported := *said.Usage
		if used.Usage.OutputTokens > staleReport*reported.OutputTokens {
			reported.OutputTokens, reported.Estimated = used.Usage.OutputTokens, true
		}
		used.Usage = reported
	}
	return used
}

// charged reports whether an attempt that failed before anything streamed is taken to
// have cost its input: the endpoint had accepted the request, or was left alone with it
// for as long as a reply may take. A refusal costs nothing, nor does an endpoint that
// could not be reached or hung up.
func (e *Error) charged() bool {
	switch e.Kind {
	case ErrTimeout:
		return true
	case ErrBrokenStream, ErrReplyTooLarge:
		return e.Answered
	}
	return false
}

// streamed counts what has come of a reply.
type streamed struct {
	bytes int
	// arguments is of the call that is not whole yet.
	arguments int
}

func (s *streamed) add(d *Delta) {
	s.bytes += len(d.Text) + len(d.Reasoning)
	s.arguments += len(d.Fragment)
	if d.Call != nil { // whose arguments may have come at once
		s.bytes += len(d.Call.Name) + max(s.arguments, len(d.Call.Arguments))
		s.arguments = 0
	}
}
