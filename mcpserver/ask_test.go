package mcpserver_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/web"
)

// asksBack is a request that the team has a question about.
const asksBack = "Plan a trip for two"

// user is a client whose user is asked, and what the user does then.
func user(asked chan<- string, action string, content map[string]any) *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked <- req.Params.Message
		return &mcp.ElicitResult{Action: action, Content: content}, nil
	}}
}

// What a run asks is asked of the client's user, and the run goes on with the answer.
func TestUserIsAsked(t *testing.T) {
	h := newHost(t, sim.Options{}).served(t)
	for _, version := range versions {
		asked := make(chan string, 1)
		session := h.client(t, version, user(asked, "accept", map[string]any{"answer": "Kyoto, two days"}))
		run, _ := call[seen](t, session, "run_team", map[string]any{"request": asksBack})
		require.Contains(t, <-asked, "Where should it go")
		require.Equal(t, events.StatusCompleted, run.Status, version)
		require.Contains(t, run.Answer, "Kyoto")
	}
	require.Len(t, runsOf(t, h), len(versions), "an answer starts no run of its own")
}

// Where nobody can be asked, or would not say, the result says what the run waits for, and
// get_run shows it until it was answered elsewhere.
func TestRunWaits(t *testing.T) {
	h := newHost(t, sim.Options{}).served(t)
	for _, version := range versions {
		asked := make(chan string, 1)
		for _, options := range []*mcp.ClientOptions{nil, user(asked, "decline", map[string]any{"answer": "Never mind"})} {
			session := h.client(t, version, options)
			run, result := call[seen](t, session, "run_team", map[string]any{"request": asksBack})
			require.Equal(t, events.StatusAwaitingInput, run.Status)
			require.Len(t, run.WaitsFor, 1)
			require.Equal(t, events.InputQuestion, run.WaitsFor[0].For)
			require.Contains(t, textOf(result), "Where should it go")
			require.Contains(t, textOf(result), "convene chat --thread "+string(run.Thread))
			if options != nil {
				require.Contains(t, <-asked, "Where should it go")
				continue
			}
			_, err := h.runs().Send(t.Context(), access.Operator(events.LocalTenant), web.Said{Thread: run.Thread, Content: "Kyoto, two days"})
			require.NoError(t, err)
			h.over(t, run.Run)
			again, _ := call[seen](t, session, "get_run", map[string]any{"run_id": run.Run})
			require.Equal(t, events.StatusCompleted, again.Status)
			require.Empty(t, again.WaitsFor)
		}
	}
}

// An answer must be one to a run that is served, and that waits for it.
func TestForgedAnswers(t *testing.T) {
	h := newHost(t, sim.Options{}).served(t)
	session := h.client(t, versions[1], nil)
	over, _ := call[seen](t, session, "run_team", map[string]any{"request": request})
	answer := func(state string) *mcp.CallToolResult {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "run_team", Arguments: map[string]any{"request": asksBack}, RequestState: state,
			InputResponses: mcp.InputResponseMap{"i1": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "Kyoto"}}},
		})
		require.NoError(t, err)
		return result
	}
	require.Contains(t, textOf(answer("no such run")), "there is no run")
	require.Contains(t, textOf(answer(string(over.Run[:8]))), "there is no run", "an id is given whole: nobody guesses one")
	require.Contains(t, textOf(answer(string(over.Run))), "does not wait for this answer")
	require.Len(t, runsOf(t, h), 1)
}

// A call that waits for approval is not decided by the client, whatever it can: it may be the
// model that wants the call.
func TestApprovalIsNotAsked(t *testing.T) {
	sent := false
	mail := agent.Func(llm.Tool{Name: "send_mail", Description: "Sends mail."}, events.EffectEffectful,
		func(context.Context, agent.Invocation, struct{}) (agent.Result, error) {
			sent = true
			return agent.Result{Text: "sent"}, nil
		})
	post := &team.Team{
		Name: "post", Document: document.Free(), Request: "For {{name}}: {{request}}", Approve: map[string]team.Approve{"send_mail": team.ApproveAlways},
		Specialists: []team.Specialist{{ID: "clerk", Description: "Writes letters.", Prompt: "First of all send_mail {}."}},
	}
	h := newHostOf(t, sim.Options{}, post, mail).served(t)
	session := h.client(t, versions[1], user(nil, "accept", map[string]any{"answer": "approve", "decision": "approve"}))
	require.Contains(t, refused(t, session, "run_team", map[string]any{"request": "Write a letter"}), "name", "its template needs a value")
	run, result := call[seen](t, session, "run_team", map[string]any{"request": "Write a letter", "vars": map[string]any{"name": "Ann"}})
	require.Equal(t, events.StatusAwaitingInput, run.Status)
	require.Equal(t, events.InputApproval, run.WaitsFor[0].For)
	require.Contains(t, textOf(result), "send_mail")
	require.False(t, sent)
}
