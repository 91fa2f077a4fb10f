package llm_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// modelServer is an endpoint with limits, in the time of a synctest bubble.
type modelServer struct {
	mu       sync.Mutex
	slots    int // 0: no limit
	inFlight int
	// take decides by the rate limit; nil for none.
	take func(now time.Time) (retryAfter time.Duration, ok bool)
	// say is whether refusals carry a Retry-After.
	say      bool
	slotWait time.Duration // the Retry-After of a refusal for want of a slot
	// frees is how much later than the client sees the end of a call its slot is free.
	frees func() time.Duration
	// failEvery makes every so-manieth call of a caller end with a 503; 0 for none.
	failEvery int

	counting          bool
	accepted, refused int
	busy              time.Duration // slot time used while counting
	since             time.Time
}

func (s *modelServer) enter(now time.Time) (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slots > 0 && s.inFlight >= s.slots {
		s.count(&s.refused)
		return s.slotWait, false
	}
	if s.take != nil {
		if after, ok := s.take(now); !ok {
			s.count(&s.refused)
			if !s.say {
				after = 0
			}
			return after, false
		}
	}
	s.inFlight++
	s.count(&s.accepted)
	return 0, true
}

func (s *modelServer) count(n *int) {
	if s.counting {
		*n++
	}
}

func (s *modelServer) leave(started, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
	if s.counting {
		if started.Before(s.since) {
			started = s.since
		}
		s.busy += now.Sub(started)
	}
}

func (s *modelServer) startCounting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counting, s.since = true, time.Now()
}

// busyShare is how much of so many slots was used in so long a time.
func (s *modelServer) busyShare(slots int, measured time.Duration) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The calls that the end of the test cuts off would count beyond it.
	return float64(s.busy) / float64(time.Duration(slots)*(measured+time.Second))
}

func (s *modelServer) refusedShare() float64 {
	return float64(s.refused) / float64(s.accepted+s.refused)
}

// tokenBucket refuses what a bucket of the given size, refilled perSecond, does not hold.
func tokenBucket(perSecond, size float64) func(time.Time) (time.Duration, bool) {
	level, at := size, time.Now()
	return func(now time.Time) (time.Duration, bool) {
		level = min(size, level+now.Sub(at).Seconds()*perSecond)
		at = now
		if level < 1 {
			return wholeSeconds((1 - level) / perSecond), false
		}
		level--
		return 0, true
	}
}

// slidingWindow allows n in any minute.
func slidingWindow(n int) func(time.Time) (time.Duration, bool) {
	var taken []time.Time
	return func(now time.Time) (time.Duration, bool) {
		for len(taken) > 0 && now.Sub(taken[0]) >= time.Minute {
			taken = taken[1:]
		}
		if len(taken) >= n {
			return wholeSeconds((time.Minute - now.Sub(taken[0])).Seconds()), false
		}
		taken = append(taken, now)
		return 0, true
	}
}

// fixedWindow allows n in each minute of the clock.
func fixedWindow(n int) func(time.Time) (time.Duration, bool) {
	start, used := time.Now().Add(-20*time.Second), 0
	return func(now time.Time) (time.Duration, bool) {
		for now.Sub(start) >= time.Minute {
			start, used = start.Add(time.Minute), 0
		}
		if used >= n {
			return wholeSeconds((time.Minute - now.Sub(start)).Seconds()), false
		}
		used++
		return 0, true
	}
}

func wholeSeconds(s float64) time.Duration { return time.Duration(int(s)+1) * time.Second }

// load runs callers against the server through the limiter: first unmeasured, then
// measured.
func load(t *testing.T, s *modelServer, l *llm.LocalLimiter, callers int, call func() time.Duration, warm, measured time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), warm+measured)
	defer cancel()
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			for n := 0; ; n++ {
				req := &llm.Request{Run: events.RunID(fmt.Sprintf("%06d", i)), Priority: llm.PriorityBatch}
				permit, err := l.Acquire(ctx, req)
				if err != nil {
					return
				}
				time.Sleep(time.Millisecond) // the way there
				started := time.Now()
				after, ok := s.enter(started)
				if !ok {
					time.Sleep(time.Millisecond)
					permit.Settle(nil, &llm.Error{Kind: llm.ErrRateLimited, Status: 429, RetryAfter: after})
					continue
				}
				time.Sleep(call())
				ended := time.Now()
				if s.frees == nil {
					s.leave(started, ended)
				} else {
					time.AfterFunc(time.Millisecond+s.frees(), func() { s.leave(started, ended) })
				}
				time.Sleep(time.Millisecond)
				if s.failEvery > 0 && n%s.failEvery == 0 {
					permit.Settle(nil, &llm.Error{Kind: llm.ErrServer, Status: 503})
					continue
				}
				permit.Settle(&llm.Completion{}, nil)
			}
		})
	}
	time.Sleep(warm)
	s.startCounting()
	group.Wait()
}

func oneToThreeSeconds() time.Duration { return time.Second + rand.N(2*time.Second) }

func almostNoTime() time.Duration { return rand.N(20 * time.Millisecond) }

// Proves R74: a rate limit that nobody told is used and not run into.
func TestLimiterLearnsARate(t *testing.T) {
	const perMinute = 600
	type limit func(time.Time) (time.Duration, bool)
	for _, c := range []struct {
		name  string
		limit func() limit
		// says is whether the endpoint sends Retry-After.
		says          bool
		used, refused float64
	}{
		{"bucket of a second", func() limit { return tokenBucket(perMinute/60, perMinute/60) }, true, 0.95, 0.02},
		{"bucket of a minute", func() limit { return tokenBucket(perMinute/60, perMinute) }, true, 0.95, 0.02},
		{"sliding window", func() limit { return slidingWindow(perMinute) }, true, 0.95, 0.02},
		{"fixed window", func() limit { return fixedWindow(perMinute) }, true, 0.95, 0.02},
		{"silent bucket of a second", func() limit { return tokenBucket(perMinute/60, perMinute/60) }, false, 0.95, 0.02},
		{"silent bucket of a minute", func() limit { return tokenBucket(perMinute/60, perMinute) }, false, 0.95, 0.02},
		// Nothing tells when such a window opens: the pauses overshoot.
		{"silent sliding window", func() limit { return slidingWindow(perMinute) }, false, 0.6, 0.03},
		{"silent fixed window", func() limit { return fixedWindow(perMinute) }, false, 0.6, 0.03},
	} {
		// Calls of no time use a window up at once: what it lets in again a minute later
		// has to be used, too.
		for name, call := range map[string]func() time.Duration{"calls of seconds": oneToThreeSeconds, "calls of no time": almostNoTime} {
			t.Run(c.name+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &modelServer{take: c.limit(), say: c.says}
					l := llm.NewLimiter(llm.LimiterConfig{})
					load(t, s, l, 300, call, 30*time.Second, 3*time.Minute)
					used := float64(s.accepted) / (3 * perMinute)
					require.GreaterOrEqual(t, used, c.used, "of the allowed rate used")
					require.Less(t, s.refusedShare(), c.refused)
					t.Logf("used %.1f %%, refused %.2f %%", 100*used, 100*s.refusedShare())
				})
			})
		}
	}
}

// Proves R74: a published limit is used and not run into, from the first minute.
func TestLimiterKeepsAPublishedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &modelServer{take: slidingWindow(600), say: true}
		l := llm.NewLimiter(llm.LimiterConfig{RequestsPerMinute: 600})
		s.startCounting()
		load(t, s, l, 300, oneToThreeSeconds, 0, 3*time.Minute)
		require.GreaterOrEqual(t, s.accepted, 1710)
		require.Zero(t, s.refused)
	})
}

// Proves R74: slots are found and kept busy.
func TestLimiterFillsTheSlots(t *testing.T) {
	for _, wait := range []time.Duration{0, time.Second} {
		t.Run("Retry-After "+wait.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &modelServer{slots: 64, slotWait: wait}
				l := llm.NewLimiter(llm.LimiterConfig{})
				load(t, s, l, 300, oneToThreeSeconds, 30*time.Second, 3*time.Minute)
				busy := s.busyShare(64, 3*time.Minute)
				require.GreaterOrEqual(t, busy, 0.97)
				require.Less(t, s.refusedShare(), 0.02)
				t.Logf("busy %.2f %%, refused %.2f %%", 100*busy, 100*s.refusedShare())
			})
		})
	}
}

// Proves R74: an endpoint that frees a slot a moment after its client sees the end
// refuses now and then at its limit. That is not taken for a rate.
func TestLimiterForgivesASlotFreedLate(t *testing.T) {
	for name, frees := range map[string]func() time.Duration{
		"a few milliseconds": func() time.Duration { return rand.N(8 * time.Millisecond) },
		"seldom much later": func() time.Duration {
			if rand.N(1000) == 0 {
				return 100 * time.Millisecond
			}
			return rand.N(3 * time.Millisecond)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &modelServer{slots: 64, slotWait: time.Second, frees: frees}
				l := llm.NewLimiter(llm.LimiterConfig{MaxInFlight: 800})
				load(t, s, l, 300, oneToThreeSeconds, 30*time.Second, 3*time.Minute)
				busy := s.busyShare(64, 3*time.Minute)
				require.GreaterOrEqual(t, busy, 0.97)
				require.Less(t, s.refusedShare(), 0.02)
				require.Zero(t, l.State().RequestsPerMinute, "no rate is learned")
				t.Logf("busy %.2f %%, refused %.2f %%", 100*busy, 100*s.refusedShare())
			})
		})
	}
}

// Proves R74: an endpoint that loses places, to another of its clients perhaps, is met
// there, and that is not taken for a rate.
func TestLimiterFollowsALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &modelServer{slots: 64, slotWait: time.Second}
		l := llm.NewLimiter(llm.LimiterConfig{})
		go func() {
			time.Sleep(time.Minute)
			s.mu.Lock()
			s.slots = 32
			s.mu.Unlock()
		}()
		load(t, s, l, 300, oneToThreeSeconds, 90*time.Second, 3*time.Minute)
		busy := s.busyShare(32, 3*time.Minute)
		require.GreaterOrEqual(t, busy, 0.95)
		require.Less(t, s.refusedShare(), 0.02)
		require.Zero(t, l.State().RequestsPerMinute, "no rate is learned")
		t.Logf("busy %.2f %%, refused %.2f %%", 100*busy, 100*s.refusedShare())
	})
}

// The new room is found, though one call in ten fails for other reasons.
func TestLimiterFollowsAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &modelServer{slots: 8, failEvery: 10}
		l := llm.NewLimiter(llm.LimiterConfig{})
		go func() {
			time.Sleep(30 * time.Second)
			s.mu.Lock()
			s.slots = 32
			s.mu.Unlock()
		}()
		load(t, s, l, 100, oneToThreeSeconds, 3*time.Minute, time.Minute)
		require.GreaterOrEqual(t, l.State().Limit, 28)
	})
}
