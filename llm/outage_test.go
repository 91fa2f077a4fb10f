package llm_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/llm"
)

// world is an endpoint that a test breaks and repairs. It counts the requests.
type world struct {
	mu     sync.Mutex // guards broken
	broken func(req llm.Request) error
	asked  atomic.Int64
	takes  time.Duration
}

func (w *world) breaks(why func(llm.Request) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = why
}

func (w *world) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		w.asked.Add(1)
		w.mu.Lock()
		broken, takes := w.broken, w.takes
		w.mu.Unlock()
		if takes > 0 {
			select {
			case <-time.After(takes):
			case <-ctx.Done():
				yield(llm.Delta{}, ctx.Err())
				return
			}
		}
		if broken != nil {
			if err := broken(req); err != nil {
				yield(llm.Delta{}, err)
				return
			}
		}
		if yield(llm.Delta{Text: "hello"}, nil) {
			yield(llm.Delta{Done: &llm.Completion{}}, nil)
		}
	}
}

func always(kind llm.ErrorKind, status int) func(llm.Request) error {
	return func(llm.Request) error {
		return &llm.Error{Kind: kind, Status: status, Provider: "p", Model: "m", Message: "no"}
	}
}

func at(w *world, model string) llm.Target {
	return llm.Target{Model: model, Endpoint: &llm.Endpoint{Name: "p", Address: "http://host/v1", Client: w, Health: &llm.Health{}}}
}

// waits is a call that waits so long for its endpoint.
func waits(ctx context.Context, most time.Duration, route ...llm.Target) (aways, backs int, err error) {
	for d, failure := range (&llm.Caller{}).Stream(ctx, route, llm.Request{Run: "r1", Call: "f.1", MaxWait: most}) {
		if failure != nil {
			return aways, backs, failure
		}
		if d.Away != nil {
			aways++
		}
		if d.Back {
			backs++
		}
	}
	return aways, backs, nil
}

// Proves R22: calls outlast an outage. One at a time asks whether it is over, and all are
// answered once it is.
func TestCallsOutlastAnOutage(t *testing.T) {
	for name, broken := range map[string]func(llm.Request) error{
		"unreachable": always(llm.ErrUnreachable, 0), "server": always(llm.ErrServer, 503), "timeout": always(llm.ErrTimeout, 0),
		"refused": always(llm.ErrRateLimited, 429),
	} {
		for _, away := range []time.Duration{time.Second, 10 * time.Second, time.Minute, 3 * time.Hour} {
			t.Run(name+" "+away.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const calls = 40
					w := &world{broken: broken}
					target := at(w, "m")
					var wg sync.WaitGroup
					for range calls {
						wg.Go(func() {
							aways, backs, err := waits(t.Context(), -1, target)
							if err != nil || (aways > 0) != (backs == 1) {
								t.Errorf("aways=%d backs=%d err=%v", aways, backs, err)
							}
						})
					}
					time.Sleep(away)
					before := w.asked.Load()
					w.breaks(nil)
					wg.Wait()
					require.LessOrEqual(t, int(before), calls*llm.DefaultMaxRefusals+10+int(away/(20*time.Second)), "one probe at a time")
					require.LessOrEqual(t, w.asked.Load()-before, int64(calls+1), "nobody is asked twice")
					require.Nil(t, target.Endpoint.Health.Trouble("m"))
				})
			})
		}
	}
}

// A call whose patience ends says which endpoint it waited for, and what was wrong.
func TestPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{broken: always(llm.ErrUnreachable, 0)}
		begun := time.Now()
		_, _, err := waits(t.Context(), 10*time.Minute, at(w, "m"))
		var outage *llm.OutageError
		require.ErrorAs(t, err, &outage)
		require.Equal(t, "http://host/v1", outage.Trouble.Address)
		require.Equal(t, llm.ErrUnreachable, outage.Trouble.Kind)
		require.Equal(t, llm.ErrUnreachable, llm.KindOf(err))
		require.Equal(t, 10*time.Minute, outage.Waited)
		require.InDelta(t, (10*time.Minute + 4*time.Second).Seconds(), time.Since(begun).Seconds(), 3)
		require.ErrorContains(t, err, "p at http://host/v1")
		require.ErrorContains(t, err, "(waited 10m0s)")
		require.NotEmpty(t, llm.FailedCall(err).Attempts)

		busy := &world{broken: func(llm.Request) error {
			return &llm.Error{Kind: llm.ErrRateLimited, Status: 429, RetryAfter: 3 * time.Hour, Message: "no"}
		}}
		begun = time.Now()
		_, _, err = waits(t.Context(), 10*time.Minute, at(busy, "m"))
		require.ErrorAs(t, err, &outage)
		require.ErrorContains(t, err, "asks to wait 3h0m0s")
		require.Less(t, time.Since(begun), time.Second, "longer than it may wait: it does not begin")
		_, _, err = waits(t.Context(), 0, at(w, "m"))
		require.False(t, errors.As(err, &outage), "a call that does not wait fails as it is")
	})
}

// What a person may have set wrong is waited for only where it was right before.
func TestWhatMayBeMistaken(t *testing.T) {
	dns := func(llm.Request) error {
		return &llm.Error{Kind: llm.ErrUnreachable, Permanent: true, Message: "no such host"}
	}
	for name, broken := range map[string]func(llm.Request) error{
		"key": always(llm.ErrAuthentication, 401), "forbidden": always(llm.ErrAuthentication, 403),
		"quota": always(llm.ErrQuota, 402), "model": always(llm.ErrModelNotFound, 404), "host": dns,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{broken: broken}
				target := at(w, "m")
				begun := time.Now()
				var outage *llm.OutageError
				aways, _, err := waits(t.Context(), -1, target)
				require.ErrorAs(t, err, &outage)
				require.Zero(t, aways)
				require.Zero(t, time.Since(begun), "no call was ever answered there")
				require.Equal(t, int64(1), w.asked.Load())

				w.breaks(nil)
				_, _, err = waits(t.Context(), -1, target)
				require.NoError(t, err, "who comes later tries again")
				w.breaks(broken)
				time.AfterFunc(time.Hour, func() { w.breaks(nil) })
				aways, backs, err := waits(t.Context(), -1, target)
				require.NoError(t, err)
				require.Positive(t, aways)
				require.Equal(t, 1, backs)

				w.breaks(broken)
				other := target
				other.Model = "mistyped"
				before := w.asked.Load()
				_, _, err = waits(t.Context(), time.Minute, other)
				require.ErrorAs(t, err, &outage)
				require.Equal(t, name == "model", w.asked.Load() == before+1, "a name is of one model")
			})
		})
	}
}

// A sick endpoint costs a route with another one nothing, and one model's trouble is not
// that of others.
func TestFallbackComesBeforeWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down, up := &world{broken: always(llm.ErrUnreachable, 0), takes: time.Second}, &world{}
		first, second := at(down, "m"), at(up, "m")
		aways, _, err := waits(t.Context(), -1, first, second)
		require.NoError(t, err)
		require.Zero(t, aways)
		before := down.asked.Load()
		for range 5 {
			begun := time.Now()
			_, _, err = waits(t.Context(), -1, first, second)
			require.NoError(t, err)
			require.LessOrEqual(t, time.Since(begun), time.Second)
		}
		require.LessOrEqual(t, down.asked.Load(), before+1, "known to be down")

		up.breaks(always(llm.ErrServer, 500))
		time.AfterFunc(5*time.Minute, func() { up.breaks(nil) }) // longer than the attempts of a call
		aways, backs, err := waits(t.Context(), -1, first, second)
		require.NoError(t, err, "whichever is back first")
		require.Positive(t, aways)
		require.Equal(t, 1, backs)
	})
	synctest.Test(t, func(t *testing.T) {
		w := &world{broken: func(req llm.Request) error {
			if req.Model == "busy" {
				return always(llm.ErrServer, 503)(req)
			}
			return nil
		}}
		busy := at(w, "busy")
		fine := busy
		fine.Model = "fine"
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, _, err := waits(ctx, -1, busy)
			ended <- err
		}()
		time.Sleep(10 * time.Minute)
		begun := time.Now()
		_, _, err := waits(t.Context(), -1, fine)
		require.NoError(t, err)
		require.Zero(t, time.Since(begun))
		require.True(t, busy.Endpoint.Health.Trouble("busy").Attended)
		require.Nil(t, busy.Endpoint.Health.Trouble("fine"))
		stop()
		require.ErrorIs(t, <-ended, context.Canceled)
		require.False(t, busy.Endpoint.Health.Trouble("busy").Attended, "nobody waits for it any more")
	})
}

// A request that is refused while others are answered is itself the cause, whatever the
// endpoint says: it fails, and holds nobody up.
func TestOneBadRequestIsNoOutage(t *testing.T) {
	for _, broken := range []func(llm.Request) error{always(llm.ErrServer, 500), always(llm.ErrAuthentication, 403)} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{takes: 100 * time.Millisecond}
			w.breaks(func(req llm.Request) error {
				if req.Call == "bad" {
					return broken(req)
				}
				return nil
			})
			target := at(w, "m")
			_, _, err := waits(t.Context(), -1, target)
			require.NoError(t, err)
			bad := make(chan error, 1)
			go func() {
				var err error
				for _, err = range (&llm.Caller{}).Stream(t.Context(), llm.Route{target}, llm.Request{Call: "bad", MaxWait: -1}) {
				}
				bad <- err
			}()
			for len(bad) == 0 {
				begun := time.Now()
				_, _, err := waits(t.Context(), -1, target)
				require.NoError(t, err)
				require.Less(t, time.Since(begun), 5*time.Second)
			}
			var outage *llm.OutageError
			require.False(t, errors.As(<-bad, &outage))
		})
	}
}

// A call that may not go out any more does not, wherever it waits.
func TestNothingGoesOutWhenItMayNotBegin(t *testing.T) {
	parked := errors.New("parked")
	begun := func(t *testing.T, target llm.Target, after time.Duration) (took time.Duration) {
		begin, end := context.WithCancelCause(t.Context())
		time.AfterFunc(after, func() { end(parked) })
		start := time.Now()
		var err error
		for _, err = range (&llm.Caller{}).Stream(t.Context(), llm.Route{target}, llm.Request{MaxWait: -1, Begin: begin}) {
		}
		require.ErrorIs(t, err, parked)
		return time.Since(start)
	}
	synctest.Test(t, func(t *testing.T) {
		w := &world{broken: always(llm.ErrUnreachable, 0)}
		require.Equal(t, time.Minute, begun(t, at(w, "m"), time.Minute), "waiting for the endpoint")
		require.Equal(t, 100*time.Millisecond, begun(t, at(w, "m"), 100*time.Millisecond), "waiting for another attempt")

		target := at(w, "m")
		limiter := llm.NewLimiter(llm.LimiterConfig{MaxInFlight: 1})
		target.Endpoint.Limiter = limiter
		permit, err := limiter.Acquire(t.Context(), &llm.Request{})
		require.NoError(t, err)
		before := w.asked.Load()
		require.Equal(t, time.Minute, begun(t, target, time.Minute), "waiting for its turn")
		permit.Settle(&llm.Completion{}, nil)
		require.Equal(t, before, w.asked.Load())
		require.Zero(t, limiter.State().InFlight)
	})
}

// The probe that is given up leaves its place to another call.
func TestAnotherCallTakesOverTheProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{broken: always(llm.ErrUnreachable, 0)}
		target := at(w, "m")
		ctx, stop := context.WithCancel(t.Context())
		first, second := make(chan error), make(chan error)
		go func() {
			_, _, err := waits(ctx, -1, target)
			first <- err
		}()
		time.Sleep(time.Minute)
		go func() {
			_, _, err := waits(t.Context(), -1, target)
			second <- err
		}()
		time.Sleep(time.Minute)
		w.mu.Lock()
		w.takes = time.Hour
		w.mu.Unlock()
		time.Sleep(time.Minute) // a probe hangs
		stop()
		<-first
		w.mu.Lock()
		w.takes = 0
		w.mu.Unlock()
		w.breaks(nil)
		require.NoError(t, <-second)
	})
}

// An endpoint without a name is not named twice.
func TestTroubleNamesTheEndpointOnce(t *testing.T) {
	trouble := llm.Trouble{Endpoint: "127.0.0.1:9", Address: "http://127.0.0.1:9/v1", Kind: llm.ErrUnreachable, Message: "cannot reach 127.0.0.1:9"}
	require.Equal(t, "http://127.0.0.1:9/v1: unreachable: cannot reach 127.0.0.1:9", trouble.String())
	trouble.Endpoint = "openai"
	require.Equal(t, "openai at http://127.0.0.1:9/v1: unreachable: cannot reach 127.0.0.1:9", trouble.String())
}
