package llm

import "github.com/convene-run/convene/events"

// BytesPerToken is the rule of thumb for English text and JSON. Other scripts take more
// tokens, which the usage that an endpoint reports then corrects.
const BytesPerToken = 4

const (
	// messageOverheadTokens is what a message, or a tool call, costs beside its text.
	messageOverheadTokens = 4
	// imageTokens is what an image costs at the size to which providers scale it down.
	imageTokens = 1600
	// documentTokens is what a PDF of some eight pages costs: providers give models the text
	// and a picture of each.
	documentTokens = 16_000
	// expectedOutputTokens is reserved for a reply while nobody knows how long it will be:
	// above the usual turn, far below the longest.
	expectedOutputTokens = 1000
)

// EstimateUsage estimates what a call uses of which no endpoint has reported it: before it
// is made, with a nil reply, or because its endpoint reports nothing. The usage is marked
// as estimated.
func EstimateUsage(req *Request, reply *events.Reply) events.Usage {
	usage := events.Usage{InputTokens: estimateInput(req), OutputTokens: expectedOutputTokens, Estimated: true}
	if reply != nil {
		usage.OutputTokens = estimateOutput(reply)
		usage.ReasoningTokens = tokens(len(reply.Reasoning))
	}
	return usage
}

// estimateInput estimates the input tokens of a request.
func estimateInput(req *Request) int64 {
	var bytes int
	var beside int64
	for i := range req.Messages {
		m := &req.Messages[i]
		// What the model thought goes back as text or within Extra, not as both.
		bytes += len(m.Content) + max(len(m.Reasoning), len(m.Extra)) + callBytes(m.ToolCalls)
		beside += messageOverheadTokens * int64(1+len(m.ToolCalls))
		for j := range m.ToolCalls {
			bytes += len(m.ToolCalls[j].Extra)
		}
		for j := range m.Parts { // Content has the texts of the others
			switch m.Parts[j].Type {
			case events.PartImage:
				beside += imageTokens
			case events.PartDocument:
				beside += documentTokens
			}
		}
	}
	for i := range req.Tools {
		bytes += len(req.Tools[i].Name) + len(req.Tools[i].Description) + len(req.Tools[i].Parameters)
	}
	return tokens(bytes) + beside
}

// estimateOutput estimates the output tokens of a reply.
func estimateOutput(reply *events.Reply) int64 {
	return tokens(len(reply.Text) + len(reply.Reasoning) + callBytes(reply.ToolCalls))
}

func callBytes(calls []events.ToolCall) int {
	bytes := 0
	for i := range calls {
		bytes += len(calls[i].Name) + len(calls[i].Arguments)
	}
	return bytes
}

func tokens(bytes int) int64 { return int64((bytes + BytesPerToken - 1) / BytesPerToken) }
