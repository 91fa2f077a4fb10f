package wire

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// More requests than the provider keeps together under one key go under several, about as many
// under each, and those of a run under the same; when there are fewer again, one is enough.
func TestLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lanes{perMinute: 15}
		send := func(runs, turns int) (keys map[string]int, moved int) {
			keys = map[string]int{}
			last := map[int]string{}
			for range turns {
				for run := range runs {
					key := l.key(&llm.Request{Model: "m", CacheKey: "team", Run: events.RunID(fmt.Sprint("run", run))})
					require.True(t, strings.HasPrefix(key, "team"))
					if last[run] != "" && last[run] != key {
						moved++
					}
					keys[key]++
					last[run] = key
				}
			}
			return keys, moved
		}
		keys, _ := send(3, 5)
		require.Equal(t, map[string]int{"team": 15}, keys, "few requests share one cache")
		require.Equal(t, "team", l.key(&llm.Request{Model: "other", CacheKey: "team", Run: "run1"}), "each model has its own")

		time.Sleep(time.Minute)
		send(40, 6)
		time.Sleep(time.Minute)
		keys, moved := send(40, 6)
		require.Zero(t, moved, "a run stays where what it sent before is")
		require.Len(t, keys, 16, "240 requests a minute")

		for range 12 {
			time.Sleep(time.Minute)
			send(1, 1)
		}
		keys, _ = send(3, 4)
		require.Len(t, keys, 1)

		send(2000, 10)
		keys, _ = send(2000, 1)
		require.Len(t, keys, maxLanes)
	})
}

// Where nothing is known of the provider, and without a key, none is made up.
func TestLanesAreOnlyThoseOfTheProvider(t *testing.T) {
	for _, l := range []*lanes{{}, {perMinute: 1}} {
		for range 9 {
			require.Empty(t, l.key(&llm.Request{Run: "r"}))
		}
	}
	l := &lanes{}
	for i := range 99 {
		require.Equal(t, "team", l.key(&llm.Request{CacheKey: "team", Run: events.RunID(fmt.Sprint(i))}))
	}
	l.perMinute = 15
	for i := range 2 * maxLaned {
		l.key(&llm.Request{CacheKey: fmt.Sprint(i)})
		require.LessOrEqual(t, len(l.of), maxLaned)
	}
}
