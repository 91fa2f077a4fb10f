package llm_test

import (
	"context"
	"fmt"
	"iter"
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
	// failEvery makes one call in so many end with a 503; 0 for none.
	failEvery int
	// atRandom is the share of calls that are refused whatever the load.
	atRandom float64
	// tells gives what replies say of the limits; nil for nothing.
	tells func(now time.Time) *llm.RateLimits
	call  func() time.Duration

	counting          bool
	accepted, refused int
	busy              time.Duration // slot time used while counting
	since             time.Time
}

func (s *modelServer) enter(now time.Time) (time.Duration, *llm.RateLimits, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rand.Float64() < s.atRandom {
		s.count(&s.refused)
		return s.slotWait, nil, false
	}
	if s.slots > 0 && s.inFlight >= s.slots {
		s.count(&s.refused)
		return s.slotWait, nil, false
	}
	if s.take != nil {
		if after, ok := s.take(now); !ok {
			s.count(&s.refused)
			if !s.say {
				after = 0
			}
			return after, nil, false
		}
	}
	s.inFlight++
	s.count(&s.accepted)
	if s.tells != nil {
		return 0, s.tells(now), true
	}
	return 0, nil, true
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

// Stream implements [llm.Client]: a call that takes as long as call says.
func (s *modelServer) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		time.Sleep(time.Millisecond) // the way there
		started := time.Now()
		after, limits, ok := s.enter(started)
		if !ok {
			time.Sleep(time.Millisecond)
			yield(llm.Delta{}, &llm.Error{Kind: llm.ErrRateLimited, Status: 429, RetryAfter: after})
			return
		}
		yield(llm.Delta{Reasoning: "…"}, nil)
		sleep(ctx, s.call())
		ended := time.Now()
		if s.frees == nil {
			s.leave(started, ended)
		} else {
			time.AfterFunc(time.Millisecond+s.frees(), func() { s.leave(started, ended) })
		}
		time.Sleep(time.Millisecond)
		if s.failEvery > 0 && rand.N(s.failEvery) == 0 {
			yield(llm.Delta{}, &llm.Error{Kind: llm.ErrServer, Status: 503})
			return
		}
		yield(llm.Delta{Done: &llm.Completion{Limits: limits}}, nil)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// load lets callers call the server through the limiter, as [llm.Caller] does: first
// unmeasured, then measured.
func load(t *testing.T, s *modelServer, l llm.Limiter, callers int, call func() time.Duration, warm, measured time.Duration) {
	s.call = call
	ctx, cancel := context.WithTimeout(t.Context(), warm+measured)
	defer cancel()
	route := llm.Route{{Endpoint: &llm.Endpoint{Name: "x", Client: s, Limiter: l}, Model: "m"}}
	caller := &llm.Caller{MaxAttempts: 1000, MaxRefusals: 1000}
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			for ctx.Err() == nil {
				req := llm.Request{Run: events.RunID(fmt.Sprintf("%06d", i)), Priority: llm.PriorityBatch}
				for range caller.Stream(ctx, route, req) { // the server counts
				}
			}
		})
	}
	time.Sleep(warm)
	s.startCounting()
	group.Wait()
}

func oneToThreeSeconds() time.Duration { return time.Second + rand.N(2*time.Second) }

func almostNoTime() time.Duration { return rand.N(20 * time.Millisecond) }

// Proves R74: an endpoint that counts calls and tells nothing is used well, and
// refuses few, whatever kind of window it has and whether it sends Retry-After.
func TestLimiterLivesWithARateNobodyTold(t *testing.T) {
	const perMinute, minutes = 600, 10
	type limit func(time.Time) (time.Duration, bool)
	for name, limit := range map[string]func() limit{
		"bucket of a second": func() limit { return tokenBucket(perMinute/60, perMinute/60) },
		"bucket of a minute": func() limit { return tokenBucket(perMinute/60, perMinute) },
		"sliding window":     func() limit { return slidingWindow(perMinute) },
		"fixed window":       func() limit { return fixedWindow(perMinute) },
	} {
		for _, says := range []bool{true, false} {
			for length, call := range map[string]func() time.Duration{"seconds": oneToThreeSeconds, "no time": almostNoTime} {
				t.Run(fmt.Sprintf("%s, Retry-After %t, calls of %s", name, says, length), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := &modelServer{take: limit(), say: says}
						load(t, s, llm.NewLimiter(llm.LimiterConfig{}), 300, call, 30*time.Second, minutes*time.Minute)
						used := float64(s.accepted) / (minutes * perMinute)
						t.Logf("used %.1f %%, refused %.2f %%", 100*used, 100*s.refusedShare())
						require.GreaterOrEqual(t, used, 0.70, "of the allowed rate used")
						require.LessOrEqual(t, s.refusedShare(), 0.10)
					})
				})
			}
		}
	}
}

// Proves R74: what an endpoint tells of its limits with its replies is used and not
// run into, whether it refills all the time or at the end of a window.
func TestLimiterKeepsToWhatItIsTold(t *testing.T) {
	const perMinute, minutes = 600, 3
	for name, server := range map[string]func() *modelServer{
		"bucket": func() *modelServer {
			level, at := float64(perMinute), time.Now()
			left := func(now time.Time) float64 {
				level = min(perMinute, level+now.Sub(at).Seconds()*perMinute/60)
				at = now
				return level
			}
			s := &modelServer{say: true}
			s.take = func(now time.Time) (time.Duration, bool) {
				if left(now) < 1 {
					return time.Second, false
				}
				level--
				return 0, true
			}
			s.tells = func(now time.Time) *llm.RateLimits {
				remaining := left(now)
				return &llm.RateLimits{Requests: &llm.RateLimit{
					Limit: perMinute, Remaining: int64(remaining), Reset: time.Duration((perMinute - remaining) / (perMinute / 60) * float64(time.Second)),
				}}
			}
			return s
		},
		"fixed window": func() *modelServer {
			start, used := time.Now().Add(-20*time.Second), 0
			roll := func(now time.Time) {
				for now.Sub(start) >= time.Minute {
					start, used = start.Add(time.Minute), 0
				}
			}
			s := &modelServer{say: true}
			s.take = func(now time.Time) (time.Duration, bool) {
				if roll(now); used >= perMinute {
					return wholeSeconds((time.Minute - now.Sub(start)).Seconds()), false
				}
				used++
				return 0, true
			}
			s.tells = func(now time.Time) *llm.RateLimits {
				roll(now)
				return &llm.RateLimits{Requests: &llm.RateLimit{Limit: perMinute, Remaining: int64(perMinute - used), Reset: time.Minute - now.Sub(start)}}
			}
			return s
		},
	} {
		for length, call := range map[string]func() time.Duration{"seconds": oneToThreeSeconds, "no time": almostNoTime} {
			t.Run(name+", calls of "+length, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, l := server(), llm.NewLimiter(llm.LimiterConfig{})
					load(t, s, l, 300, call, 30*time.Second, minutes*time.Minute)
					used := float64(s.accepted) / (minutes * perMinute)
					t.Logf("used %.1f %%, refused %.2f %%", 100*used, 100*s.refusedShare())
					require.GreaterOrEqual(t, used, 0.97, "of the allowed rate used")
					require.LessOrEqual(t, s.refusedShare(), 0.01)
					require.Equal(t, perMinute, l.State().RequestsPerMinute)
				})
			})
		}
	}
}

// Proves R74: an endpoint that refuses a few calls at random, whatever the load, is
// not taken for a full one: 600 calls of 30 callers take about as long as without a
// limiter.
func TestLimiterForgivesRefusalsAtRandom(t *testing.T) {
	const callers, calls = 30, 600
	elapsed := func(t *testing.T, l llm.Limiter, share float64, wait time.Duration) time.Duration {
		s := &modelServer{atRandom: share, slotWait: wait, call: oneToThreeSeconds}
		route := llm.Route{{Endpoint: &llm.Endpoint{Name: "x", Client: s, Limiter: l}, Model: "m"}}
		begun := time.Now()
		var group sync.WaitGroup
		for i := range callers {
			group.Go(func() {
				for range calls / callers {
					for _, err := range new(llm.Caller).Stream(t.Context(), route, llm.Request{Run: events.RunID(fmt.Sprintf("%06d", i))}) {
						if err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		group.Wait()
		return time.Since(begun)
	}
	for _, share := range []float64{0.03, 0.08} {
		for _, wait := range []time.Duration{0, time.Second} {
			t.Run(fmt.Sprintf("%.0f %%, Retry-After %s", 100*share, wait), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var with, without time.Duration
					for range 5 { // chance evens out
						without += elapsed(t, nil, share, wait)
						with += elapsed(t, llm.NewLimiter(llm.LimiterConfig{}), share, wait)
					}
					ratio := without.Seconds() / with.Seconds()
					t.Logf("%.3f of the throughput without a limiter", ratio)
					require.GreaterOrEqual(t, ratio, 0.85)
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
// refuses now and then at its limit.
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
				t.Logf("busy %.2f %%, refused %.2f %%", 100*busy, 100*s.refusedShare())
			})
		})
	}
}

// Proves R74: an endpoint that loses places, to another of its clients perhaps, is met
// there.
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

// Proves R74: an endpoint with fewer places than callers fails no call, though few
// calls tell of it.
func TestLimiterFindsFewPlaces(t *testing.T) {
	for _, c := range []struct{ places, callers int }{{1, 4}, {2, 4}, {2, 8}, {4, 30}} {
		for _, wait := range []time.Duration{0, time.Second} {
			t.Run(fmt.Sprintf("%d of %d, Retry-After %s", c.places, c.callers, wait), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &modelServer{slots: c.places, slotWait: wait, call: oneToThreeSeconds}
					route := llm.Route{{Endpoint: &llm.Endpoint{Name: "x", Client: s, Limiter: llm.NewLimiter(llm.LimiterConfig{})}, Model: "m"}}
					var group sync.WaitGroup
					for range c.callers {
						group.Go(func() {
							for range 20 {
								for _, err := range new(llm.Caller).Stream(t.Context(), route, llm.Request{}) {
									if err != nil {
										t.Error(err)
									}
								}
							}
						})
					}
					group.Wait()
				})
			})
		}
	}
}

// Proves R74: a rate and a number of places, neither of them told, are lived with as either
// is alone.
func TestLimiterLivesWithARateAndPlaces(t *testing.T) {
	const perMinute, places, minutes = 600, 64, 10
	for _, says := range []bool{true, false} {
		t.Run(fmt.Sprintf("Retry-After %t", says), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &modelServer{take: slidingWindow(perMinute), say: says, slots: places}
				if says {
					s.slotWait = time.Second
				}
				load(t, s, llm.NewLimiter(llm.LimiterConfig{}), 300, oneToThreeSeconds, 30*time.Second, minutes*time.Minute)
				used := float64(s.accepted) / (minutes * perMinute)
				t.Logf("used %.1f %%, refused %.2f %%", 100*used, 100*s.refusedShare())
				require.GreaterOrEqual(t, used, 0.70, "of the allowed rate used")
				require.LessOrEqual(t, s.refusedShare(), 0.10)
			})
		})
	}
}
