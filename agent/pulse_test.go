package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/llm"
)

// What is looked at to find agents that hang is the state as it is shown, but for the text.
func TestThePulseIsTheStateWithoutItsTail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := &agent.Live{}
		for _, phase := range []agent.Phase{agent.PhaseWaiting, agent.PhaseThinking, agent.PhaseWriting, agent.PhaseTools} {
			live.Take(&llm.Delta{Text: "a text"})
			live.Enter(phase)
			time.Sleep(time.Second)
			state := live.State()
			require.NotEmpty(t, state.Tail)
			state.Tail = ""
			require.Equal(t, state, live.Pulse(), phase)
		}
		_, done := live.Work()
		time.Sleep(time.Second)
		require.True(t, live.Pulse().AtWork)
		done()
		require.False(t, live.Pulse().AtWork)
	})
}
