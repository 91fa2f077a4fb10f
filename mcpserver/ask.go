package mcpserver

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// maxAsked bounds how many questions are asked at once: a run rarely has more than one open.
const maxAsked = 8

// multiRound is the first version of the protocol in which a client may be asked again and
// again for one call; before it, the SDK asks once.
const multiRound = "2026-07-28"

// asks has the client ask its user what the run asks, where the client can. It gives nil where
// the run asks nothing that a text answers, or the user would not answer. Approval of tool
// calls is not asked for here: a client may answer by itself, and the call may be its own idea.
func asks(req *mcp.CallToolRequest, v view) *mcp.CallToolResult {
	if v.Status != events.StatusAwaitingInput || !elicits(req) || req.Params.RequestState != "" && (req.ProtocolVersion() < multiRound) {
		return nil
	}
	questions := mcp.InputRequestMap{}
	for _, a := range v.WaitsFor {
		if a.Kind == events.InputQuestion && len(questions) < maxAsked {
			questions[string(a.InputID)] = &mcp.ElicitParams{Mode: "form", Message: a.Question, RequestedSchema: answerSchema}
		}
	}
	if len(questions) == 0 {
		return nil
	}
	// The state is the run's id: it allows nothing that get_run and cancel_run do not.
	return &mcp.CallToolResult{InputRequests: questions, RequestState: string(v.Run)}
}

// answerSchema is what a user fills in.
var answerSchema = &jsonschema.Schema{
	Type: "object", Required: []string{answerField},
	Properties: map[string]*jsonschema.Schema{answerField: {Type: "string", Title: "Answer", MinLength: jsonschema.Ptr(1)}},
}

const answerField = "answer"

// elicits reports whether the client asks its user for what servers want to know.
func elicits(req *mcp.CallToolRequest) bool {
	can := req.ClientCapabilities()
	return can != nil && can.Elicitation != nil && (can.Elicitation.Form != nil || can.Elicitation.URL == nil)
}

// answered reports whether the request brings an answer of the user's.
func answered(req *mcp.CallToolRequest) bool {
	for _, response := range req.Params.InputResponses {
		if textOf(response) != "" {
			return true
		}
	}
	return false
}

// textOf is the answer that the user gave, "" for none.
func textOf(response mcp.InputResponse) string {
	given, ok := response.(*mcp.ElicitResult)
	if !ok || given.Action != "accept" {
		return ""
	}
	text, _ := given.Content[answerField].(string)
	return text
}

// answer gives a run the user's answers, so that it goes on.
func (s *Server) answer(ctx context.Context, c *call) (key events.ThreadKey, run events.RunID, after events.Seq, err error) {
	if err := s.admit(ctx, c, answering); err != nil {
		return key, run, 0, err
	}
	c.door = answering
	found, err := s.find(ctx, c, c.Params.RequestState)
	if err != nil {
		return key, run, 0, err
	}
	key, run, after = c.key(found.Thread), found.Run, found.LastSeq
	taken := false
	for _, a := range found.Asks {
		text := textOf(c.Params.InputResponses[string(a.InputID)])
		if text == "" {
			continue
		}
		receipt, err := s.config.Runs.Send(ctx, c.who.Identity, web.Said{Thread: found.Thread, Content: text, InputID: a.InputID, Delivery: events.DeliveryAnswer})
		if err != nil {
			return key, run, 0, refuse("the answer to %q was not taken: %w", a.Question, s.told(ctx, err))
		}
		if receipt.Stalled != "" {
			return key, run, 0, refuse("the answer is kept, but the run cannot go on for now: %s", receipt.Stalled)
		}
		taken = true
	}
	if !taken {
		return key, run, 0, refuse("run %s does not wait for this answer, or no longer: get_run tells how it stands", run)
	}
	return key, run, after, nil
}
