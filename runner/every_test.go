package runner

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestALookIsRepeatedUntilItIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks []time.Duration
		began := time.Now()
		done := every(time.Second, func(now time.Time) { looks = append(looks, now.Sub(began)) })
		time.Sleep(3*time.Second + time.Millisecond)
		done()
		time.Sleep(time.Minute)
		require.Equal(t, []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}, looks)
	})
}
