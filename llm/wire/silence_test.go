package wire

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/llm"
)

// The flex tier queues: where the provider has it, its first byte is waited for longer,
// unless somebody set how long. The reply behind it has as much time as any other.
func TestFlexIsWaitedForLonger(t *testing.T) {
	has := NewConn(Config{Tiers: map[llm.Tier]string{llm.TierFlex: "flex"}})
	flex := &llm.Request{Tier: llm.TierFlex}
	require.Equal(t, llm.Silence{First: llm.FlexSilence, Next: llm.DefaultSilence.Next}, has.silence(flex))
	require.Equal(t, DefaultTotalTimeout+llm.FlexSilence-llm.DefaultSilence.First, has.totalTimeout(has.silence(flex)))

	usual := llm.DefaultSilence
	require.Equal(t, usual, has.silence(&llm.Request{}))
	require.Equal(t, usual, NewConn(Config{}).silence(flex))
	require.Equal(t, DefaultTotalTimeout, has.totalTimeout(usual))

	flex.Silence = llm.Silence{First: time.Minute, Next: time.Second}
	require.Equal(t, flex.Silence, has.silence(flex))
}
