package events_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
)

func TestTraceparent(t *testing.T) {
	const valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	require.Equal(t, valid, events.Traceparent(valid))
	for _, wrong := range []string{
		"", "00", strings.ToUpper(valid), valid + "\n", valid + "-x", "ff" + valid[2:],
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
	} {
		require.Empty(t, events.Traceparent(wrong), "%q", wrong)
	}
}
