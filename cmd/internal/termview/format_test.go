package termview_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/cmd/internal/termview"
)

func TestFormats(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0:00", 7900 * time.Millisecond: "0:07", 102 * time.Second: "1:42", time.Hour + 5*time.Second: "1:00:05",
	} {
		require.Equal(t, want, termview.Duration(d))
	}
	for d, want := range map[time.Duration]string{
		12 * time.Second: "12s", 5 * time.Minute: "5m", 30 * time.Hour: "30h", 49 * time.Hour: "2d",
	} {
		require.Equal(t, want, termview.Age(d))
	}
	for n, want := range map[int64]string{812: "812", 3449: "3.4k", 9949: "9.9k", 9950: "10k", 38_400: "38k", 999_499: "999k", 1_234_000: "1.2M"} {
		require.Equal(t, want, termview.Count(n))
	}
	cost := func(usd float64) *float64 { return &usd }
	for want, usd := range map[string]*float64{
		"unknown": nil, "$0": cost(0), "<$0.001": cost(0.0001), "$0.021": cost(0.0214), "$12.35": cost(12.345678),
	} {
		require.Equal(t, want, termview.Money(usd))
	}
	require.Equal(t, "01a1fcb3-141a-723e", termview.ShortID("01a1fcb3-141a-723e-b77a-1ac53b01b6d5"))
	require.Equal(t, "short", termview.ShortID("short"))
}

// Proves R23: silence is announced, and that it lasts longer than expected.
func TestHeartbeatWords(t *testing.T) {
	require.Equal(t, "Food: still working (0:12)", termview.Heartbeat("Food", 12*time.Second, false))
	require.Equal(t, "Food: taking longer than expected (0:31)", termview.Heartbeat("Food", 31*time.Second, true))
	require.Equal(t, "Food: retry in 0:08 (429)", termview.Retrying("Food", 7500*time.Millisecond, "429"))
}
