package llm

import "github.com/convene-run/convene/events"

// bytesPerToken is the rule of thumb for English text and JSON. Estimates serve
// reservations and calls whose endpoint counts nothing; they are marked as such.
const bytesPerToken = 4

// messageOverheadTokens is what a message costs beside its text.
const messageOverheadTokens = 4

// EstimateInput guesses the input tokens of a request.
func EstimateInput(req *Request) int64 {
	var bytes, overhead int64
	for i := range req.Messages {
		m := &req.Messages[i]
		bytes += int64(len(m.Content) + len(m.Extra))
		overhead += messageOverheadTokens
		for j := range m.ToolCalls {
			bytes += int64(len(m.ToolCalls[j].Name) + len(m.ToolCalls[j].Arguments))
			overhead += messageOverheadTokens
		}
	}
	for i := range req.Tools {
		bytes += int64(len(req.Tools[i].Name) + len(req.Tools[i].Description) + len(req.Tools[i].Parameters))
	}
	return tokens(bytes) + overhead
}

// EstimateOutput guesses the output tokens of a reply.
func EstimateOutput(reply *events.Reply) int64 {
	bytes := int64(len(reply.Text) + len(reply.Reasoning))
	for i := range reply.ToolCalls {
		bytes += int64(len(reply.ToolCalls[i].Name) + len(reply.ToolCalls[i].Arguments))
	}
	return tokens(bytes)
}

// EstimateUsage guesses the usage of a call whose endpoint reported none.
func EstimateUsage(req *Request, reply *events.Reply) events.Usage {
	return events.Usage{
		InputTokens:     EstimateInput(req),
		OutputTokens:    EstimateOutput(reply),
		ReasoningTokens: tokens(int64(len(reply.Reasoning))),
		Estimated:       true,
	}
}

func tokens(bytes int64) int64 { return (bytes + bytesPerToken - 1) / bytesPerToken }
