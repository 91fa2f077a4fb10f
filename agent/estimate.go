package agent

import (
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// bytesPerToken is the usual rule of thumb for English; other scripts use more
// tokens, which a settled call then corrects.
const bytesPerToken = 4

// expectedOutputTokens is what a call reserves for its reply while nobody knows
// how long it will be: above the usual turn, far below the longest.
const expectedOutputTokens = 1000

// estimateUsage guesses what a call uses. Without a reply it expects one.
func estimateUsage(req llm.Request, reply events.Reply) events.Usage {
	usage := events.Usage{InputTokens: tokens(requestBytes(req)), OutputTokens: expectedOutputTokens, Estimated: true}
	if bytes := replyBytes(reply); bytes > 0 {
		usage.OutputTokens = tokens(bytes)
	}
	return usage
}

func tokens(bytes int) int64 { return int64(bytes+bytesPerToken-1) / bytesPerToken }

func requestBytes(req llm.Request) int {
	bytes := 0
	for i := range req.Messages {
		m := &req.Messages[i]
		bytes += len(m.Content) + len(m.Reasoning)
		for j := range m.ToolCalls {
			bytes += len(m.ToolCalls[j].Name) + len(m.ToolCalls[j].Arguments)
		}
	}
	for i := range req.Tools {
		bytes += len(req.Tools[i].Name) + len(req.Tools[i].Description) + len(req.Tools[i].Parameters)
	}
	return bytes
}

func replyBytes(reply events.Reply) int {
	bytes := len(reply.Text) + len(reply.Reasoning)
	for i := range reply.ToolCalls {
		bytes += len(reply.ToolCalls[i].Name) + len(reply.ToolCalls[i].Arguments)
	}
	return bytes
}

// brokenUsage is what a call without a reply is taken to have used: its input, and
// the output that streamed.
func brokenUsage(req llm.Request, t *turn) events.Usage {
	bytes := t.text.Len() + t.reasoning.Len()
	for i := range t.calls {
		bytes += len(t.calls[i].Arguments)
	}
	if bytes == 0 {
		return events.Usage{}
	}
	return events.Usage{InputTokens: tokens(requestBytes(req)), OutputTokens: tokens(bytes), Estimated: true}
}

// settleBroken settles a call that brought no reply.
func (l *Loop) settleBroken(reservation Reservation, req llm.Request, t *turn) {
	usage := brokenUsage(req, t)
	reservation.Settle(usage, l.Governor.Cost(l.target(), usage))
}

// interrupted is the completion of a stream that broke after calls of it started.
func (l *Loop) interrupted(req llm.Request, t *turn) *llm.Completion {
	reply := events.Reply{
		Text: t.text.String(), Reasoning: t.reasoning.String(),
		ToolCalls: t.calls[:t.named], FinishReason: events.FinishToolCalls,
	}
	usage, target := estimateUsage(req, reply), l.target()
	return &llm.Completion{
		Reply: reply, Usage: usage, CostUSD: l.Governor.Cost(target, usage),
		Model: target.Model, Provider: target.Endpoint.Name, Attempts: 1,
	}
}

// unwritten is what the document is expected to grow by before a last turn reads it,
// in bytes: what specialists under way may still write.
const unwritten = 8000

// lastTurn guesses what the turn that wraps the run up would use: the history so
// far, the document, an answer.
func lastTurn(req llm.Request, documentBytes int) *events.Usage {
	return &events.Usage{
		InputTokens: tokens(requestBytes(req) + documentBytes + unwritten), OutputTokens: expectedOutputTokens, Estimated: true,
	}
}
