package loop

import (
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// modelCalled is the fact of a model call: what came of it, after so many attempts in all,
// and what of it failed.
func modelCalled(id events.ModelCallID, done *llm.Completion, failed events.FailedCall) events.ModelCalled {
	return events.ModelCalled{
		ID: id, Provider: done.Provider, Model: done.Model, API: done.API, KeptDropped: done.KeptDropped, Reply: done.Reply,
		Usage: done.Usage, Tier: done.Tier, CostUSD: done.CostUSD, Attempts: done.Attempts,
		QueuedMS: milliseconds(done.Queued), RetriedMS: milliseconds(done.Retried),
		FirstTokenMS: milliseconds(done.FirstToken), TotalMS: milliseconds(done.Total),
		Retries: failed.Attempts, Lost: failed.Lost,
	}
}

func milliseconds(d time.Duration) int64 { return d.Round(time.Millisecond).Milliseconds() }

// called gives the turn's model call as the log has it.
func (t *turn) called() events.ModelCalled {
	done := *t.done
	failures, earlier := t.call.all(done.Failures, done.Attempts-1-len(done.Failures))
	done.Attempts = 1 + len(failures) + earlier
	return modelCalled(t.id, &done, events.FailedCall{Attempts: llm.Recorded(failures), Lost: t.call.lost})
}

// brokenOff is the completion of a stream that broke after calls of it had started.
func (l *Loop) brokenOff(req *llm.Request, t *turn) *llm.Completion {
	done := l.interrupted(req, events.Reply{
		Text: t.text.String(), Reasoning: t.reasoning.String(), Extra: t.extra,
		ToolCalls: t.calls[:t.named], FinishReason: events.FinishToolCalls,
	})
	if last := t.call.last; last != nil { // of all that streamed
		done.Usage, done.CostUSD = last.Usage, last.CostUSD
	}
	return done
}

// interrupted is the completion of a call of whose reply only this is left, paid for by
// estimate.
func (l *Loop) interrupted(req *llm.Request, reply events.Reply) *llm.Completion {
	usage, target := llm.EstimateUsage(req, &reply), l.target()
	return &llm.Completion{
		Reply: reply, Usage: usage, CostUSD: l.Governor.Cost(target, usage),
		Model: target.Model, Provider: target.Endpoint.Name, Attempts: 1,
	}
}

// unwrittenBytes is what the document is expected to grow by before a last turn reads it:
// what specialists under way may still write.
const unwrittenBytes = 8000

// lastTurn estimates what the turn that wraps the run up would use: the history so far,
// the document, an answer.
func lastTurn(req *llm.Request, documentBytes int) *events.Usage {
	usage := llm.EstimateUsage(req, nil)
	usage.InputTokens += int64(documentBytes+unwrittenBytes) / llm.BytesPerToken
	return &usage
}
