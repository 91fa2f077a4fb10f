package llm_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// A tenant with a thousand calls that wait keeps nobody from theirs, and is not kept from its own
// by one that asks again and again.
func TestTenantsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := llm.NewLimiter(llm.LimiterConfig{MaxInFlight: 1})
		for range 1000 {
			go call(context.Background(), l, "acme", func() {})
		}
		time.Sleep(100 * time.Second)
		before := l.State().Waiting
		for range 100 { // one after the other
			since := time.Now()
			call(context.Background(), l, "globex", func() {
				require.LessOrEqual(t, time.Since(since), 2*time.Second, "that under way, and one more")
			})
		}
		require.InDelta(t, 100, before-l.State().Waiting, 2, "of acme's meanwhile")
		time.Sleep(time.Hour)
		require.Equal(t, llm.LimiterState{Limit: 1}, l.State())
	})
}

// Who has been first in a round of turns is not last in the next.
func TestTurnsKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := llm.NewLimiter(llm.LimiterConfig{MaxInFlight: 1})
		go call(context.Background(), l, "under way", func() {})
		synctest.Wait()
		first := make(chan struct{})
		go call(context.Background(), l, "acme", func() { close(first) })
		synctest.Wait()
		for _, other := range []events.TenantID{"globex", "initech", "umbrella"} {
			for range 3 {
				go call(context.Background(), l, other, func() {})
				synctest.Wait()
			}
		}
		<-first
		since := time.Now()
		call(context.Background(), l, "acme", func() {
			require.Equal(t, 4*time.Second, time.Since(since), "its own, and one of each other")
		})
		time.Sleep(time.Hour)
	})
}

// Whatever tenants ask, leave or wait: a call never waits for more than one call of each other
// tenant, plus one under way, for each call of its own tenant before it.
func TestWaitsAreBoundedByShares(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		tenants := rapid.IntRange(2, 5).Draw(r, "tenants")
		asked := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) [2]int {
			return [2]int{rapid.IntRange(0, tenants-1).Draw(r, "tenant"), rapid.IntRange(0, 3).Draw(r, "seconds before")}
		}), 1, 60).Draw(r, "calls")
		gone := rapid.IntRange(0, 59).Draw(r, "gives up")
		synctest.Test(t, func(t *testing.T) {
			l := llm.NewLimiter(llm.LimiterConfig{MaxInFlight: 1})
			for range 40 { // a crowd
				go call(context.Background(), l, "crowd", func() {})
			}
			synctest.Wait()
			var mu sync.Mutex // guards waiting
			waiting := map[int]int{}
			for i, c := range asked {
				time.Sleep(time.Duration(c[1]) * time.Second)
				mu.Lock()
				waiting[c[0]]++
				ahead, since := waiting[c[0]], time.Now()
				mu.Unlock()
				ctx, cancel := context.WithCancel(context.Background())
				if i == gone {
					time.AfterFunc(1500*time.Millisecond, cancel)
				}
				go func() {
					defer cancel()
					call(ctx, l, events.TenantID(fmt.Sprint(c[0])), func() {
						mu.Lock()
						defer mu.Unlock()
						waiting[c[0]]--
						if most := time.Duration(ahead*(tenants+1)+1) * time.Second; time.Since(since) > most {
							t.Errorf("call %d of tenant %d waited %s, with %d of its own; at most %s", i, c[0], time.Since(since), ahead, most)
						}
					})
				}()
				synctest.Wait()
			}
			time.Sleep(time.Hour)
			require.Equal(t, llm.LimiterState{Limit: 1}, l.State())
		})
	})
}

// call makes a call of a second, and tells when it may go or has given up.
func call(ctx context.Context, l *llm.LocalLimiter, tenant events.TenantID, goes func()) {
	p, err := l.Acquire(ctx, &llm.Request{Tenant: tenant})
	goes()
	if err == nil {
		time.Sleep(time.Second)
		p.Settle(&llm.Completion{}, nil)
	}
}
