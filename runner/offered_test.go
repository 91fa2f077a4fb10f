package runner_test

import (
	"context"
	"iter"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/thread"
)

// overheard keeps what a client is sent, by call of a run.
type overheard struct {
	llm.Client
	mu   sync.Mutex // guards sent
	sent map[string]llm.Request
}

func (r *overheard) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	r.mu.Lock()
	r.sent[string(req.Run)+string(req.Call)] = req
	r.mu.Unlock()
	return r.Client.Stream(ctx, req)
}

// Proves R71: the log alone tells what every model was sent beside the conversation: the
// facilitator's, a specialist's at work, when asked, with the conversation and as supervisor.
func TestOfferedToIsWhatWasSent(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	client := &overheard{sent: map[string]llm.Request{}, Client: llmtest.Script(t,
		llmtest.Agent(boss,
			llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)),
			llmtest.Calls("", llmtest.Call("ask_specialists", args{"question": "Which half?", "specialists": []string{"beta"}})),
			llmtest.Calls("", handoff("alpha"))),
		llmtest.Agent(alphaTalks, llmtest.Says("Which skill?")),
		llmtest.Agent(alpha, llmtest.Calls("", write("A", "Text."), complete(1)), llmtest.Says("Done.")),
		llmtest.Agent(beta, llmtest.Says("The second.")),
		llmtest.Agent(gammaWatches, llmtest.Says("Fine.")))}
	result := k.sayTo(client, watched(), "Write about both halves", runner.Message{})
	require.Equal(t, "Which skill?", result.Answer, result.Reason)

	th, compared := thread.New(), map[string]bool{}
	for _, env := range k.envs() {
		require.NoError(t, th.Apply(env))
		call, ok := env.Data.(events.ModelCalled)
		if !ok {
			continue
		}
		offered, err := runner.OfferedTo(th.Current(), env.Agent, env.Dispatch)
		require.NoError(t, err)
		sent := client.sent[string(env.Run)+string(call.ID)]
		require.Equal(t, sent.Messages[0].Content, offered.System, "%s of %s", call.ID, env.Agent)
		require.Equal(t, sent.Tools, offered.Tools, "%s of %s", call.ID, env.Agent)
		compared[offered.System] = true
	}
	require.Len(t, client.sent, 9)
	require.Len(t, compared, 5, "an agent of each kind")

	nobody, err := runner.OfferedTo(th.Current(), "nobody", "")
	require.NoError(t, err)
	require.Empty(t, nobody)
}
