package events_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
)

// Checksums are in stores, which are read for ever: they never change.
func TestChecksum(t *testing.T) {
	first := events.FirstChecksum(events.ThreadKey{Tenant: "local", Thread: "t"})
	second := first.Next([]byte(`{"v":1}`))
	require.Equal(t, "5d805cfa39adb87b65832af0cb0102d9", hex.EncodeToString(first[:]))
	require.Equal(t, "4f497e1f693010645e140a774a05ae25", hex.EncodeToString(second[:]))
	require.NotEqual(t, second, first.Next([]byte(`{"v":2}`)), "another event")
	require.NotEqual(t, second, second.Next([]byte(`{"v":1}`)), "another place")
	require.NotEqual(t, events.FirstChecksum(events.ThreadKey{Tenant: "ab", Thread: "c"}),
		events.FirstChecksum(events.ThreadKey{Tenant: "a", Thread: "bc"}), "another thread")
}

func BenchmarkChecksum(b *testing.B) {
	body := make([]byte, 1000)
	var sum events.Checksum
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		sum = sum.Next(body)
	}
}
