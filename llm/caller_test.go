package llm_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/prices"
)

// script is a client that plays one step per request, the last one forever.
type script struct {
	steps []step
	asked []llm.Request
	// open counts the streams that have not returned.
	open int
}

type step struct {
	deltas []llm.Delta
	err    error
}

func (s *script) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		s.open++
		defer func() { s.open-- }()
		step := s.steps[min(len(s.asked), len(s.steps)-1)]
		s.asked = append(s.asked, req)
		for _, d := range step.deltas {
			if !yield(d, nil) {
				return
			}
		}
		if step.err != nil {
			yield(llm.Delta{}, step.err)
		}
	}
}

func says(text string) step {
	return step{deltas: []llm.Delta{{Text: text}, {Done: &llm.Completion{
		Reply: events.Reply{Text: text, FinishReason: events.FinishStop},
		Usage: events.Usage{InputTokens: 1_000_000, CachedInputTokens: 400_000, OutputTokens: 100_000},
		Total: time.Second, FirstToken: time.Millisecond, Attempts: 1,
	}}}}
}

func fails(kind llm.ErrorKind, change ...func(*llm.Error)) step {
	e := &llm.Error{Kind: kind, Provider: "p", Model: "m", Message: "no"}
	for _, c := range change {
		c(e)
	}
	return step{deltas: []llm.Delta{{Text: "half a repl"}}, err: e}
}

func status(code int, after time.Duration) func(*llm.Error) {
	return func(e *llm.Error) { e.Status, e.RetryAfter = code, after }
}

func route(clients ...*script) llm.Route {
	var r llm.Route
	for i, c := range clients {
		name := string(rune('a' + i))
		r = append(r, llm.Target{Endpoint: &llm.Endpoint{Name: "p" + name, Client: c}, Model: "m" + name})
	}
	return r
}

// heard is what a consumer of a call saw.
type heard struct {
	text    string // since the last Retry
	retries []llm.Retry
	done    *llm.Completion
	err     error
	took    time.Duration
}

func listen(ctx context.Context, c *llm.Caller, r llm.Route) heard {
	var h heard
	start := time.Now()
	for d, err := range c.Stream(ctx, r, llm.Request{Run: "r1", Call: "f.1"}) {
		switch {
		case err != nil:
			h.err = err
		case d.Retry != nil:
			h.retries, h.text = append(h.retries, *d.Retry), ""
		case d.Done != nil:
			h.done = d.Done
		default:
			h.text += d.Text
		}
	}
	h.took = time.Since(start)
	return h
}

// Proves R74.
func TestCallerRetriesWhatMayPass(t *testing.T) {
	for _, kind := range []llm.ErrorKind{llm.ErrRateLimited, llm.ErrServer, llm.ErrTimeout, llm.ErrUnreachable, llm.ErrBrokenStream} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := &script{steps: []step{fails(kind), fails(kind), says("hello")}}
				h := listen(t.Context(), &llm.Caller{}, route(client))
				require.NoError(t, h.err)
				require.Equal(t, "hello", h.text)
				require.Equal(t, 3, h.done.Attempts)
				require.Len(t, h.retries, 2)
				require.Equal(t, 1, h.retries[0].Attempt)
				require.Equal(t, "ma", h.retries[0].Model)
				require.Equal(t, kind, llm.KindOf(h.retries[0].Err))
				require.Equal(t, h.retries[0].Wait+h.retries[1].Wait, h.done.Retried)
				require.Equal(t, h.took, h.done.Retried)
				require.Greater(t, h.retries[1].Wait, h.retries[0].Wait/2, "it backs off")
				require.Equal(t, time.Second, h.done.Total, "the last attempt's own")
			})
		})
	}
}

func TestCallerFailsAtOnceWhereRetryingIsNoUse(t *testing.T) {
	for _, kind := range []llm.ErrorKind{llm.ErrAuthentication, llm.ErrModelNotFound, llm.ErrNoTools, llm.ErrContextLength,
		llm.ErrBadRequest, llm.ErrQuota, llm.ErrReplyTooLarge} {
		synctest.Test(t, func(t *testing.T) {
			client := &script{steps: []step{fails(kind)}}
			h := listen(t.Context(), &llm.Caller{}, route(client))
			require.Equal(t, kind, llm.KindOf(h.err))
			require.Len(t, client.asked, 1)
			require.Zero(t, h.took)
			require.Empty(t, h.retries)
		})
	}
}

func TestCallerBoundsItsAttempts(t *testing.T) {
	for _, c := range []struct {
		step     step
		attempts int
	}{
		{fails(llm.ErrServer), llm.DefaultMaxAttempts},
		{fails(llm.ErrUnreachable), 4},
		{fails(llm.ErrUnreachable, func(e *llm.Error) { e.Permanent = true }), 1},
		{fails(llm.ErrRateLimited, status(429, 0)), llm.DefaultMaxRefusals},
		{fails(llm.ErrRateLimited, status(409, 0)), llm.DefaultMaxAttempts},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := &script{steps: []step{c.step}}
			h := listen(t.Context(), &llm.Caller{}, route(client))
			require.Len(t, client.asked, c.attempts)
			var e *llm.Error
			require.ErrorAs(t, h.err, &e)
			require.Equal(t, c.attempts, e.Attempts)
			require.Less(t, h.took, 5*time.Minute)
		})
	}
}

func TestCallerHonoursRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &script{steps: []step{fails(llm.ErrServer, status(503, 30*time.Second)), says("x")}}
		h := listen(t.Context(), &llm.Caller{}, route(client))
		require.NoError(t, h.err)
		require.GreaterOrEqual(t, h.took, 30*time.Second)
		require.LessOrEqual(t, h.took, 32*time.Second)
	})
	synctest.Test(t, func(t *testing.T) {
		client := &script{steps: []step{fails(llm.ErrRateLimited, status(429, 3*time.Hour)), says("x")}}
		h := listen(t.Context(), &llm.Caller{}, route(client))
		require.ErrorContains(t, h.err, "asks to wait 3h0m0s")
		require.Zero(t, h.took, "waiting for hours would look like hanging")
	})
}

func TestCallerFallsBackAlongTheRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := &script{steps: []step{fails(llm.ErrModelNotFound)}}
		second := &script{steps: []step{fails(llm.ErrServer), says("from the second")}}
		h := listen(t.Context(), &llm.Caller{}, route(first, second))
		require.NoError(t, h.err)
		require.Equal(t, "from the second", h.text)
		require.Equal(t, "mb", h.retries[0].Model)
		require.Zero(t, h.retries[0].Wait)
		require.Equal(t, 3, h.done.Attempts)
		require.Equal(t, "pb", h.done.Provider)
		require.Equal(t, "mb", second.asked[0].Model)
	})
	synctest.Test(t, func(t *testing.T) {
		first := &script{steps: []step{fails(llm.ErrQuota)}}
		second := &script{steps: []step{fails(llm.ErrBadRequest)}}
		h := listen(t.Context(), &llm.Caller{}, route(first, second))
		require.Equal(t, llm.ErrBadRequest, llm.KindOf(h.err), "the last target's failure")
		var e *llm.Error
		require.ErrorAs(t, h.err, &e)
		require.Equal(t, 2, e.Attempts)
		require.ErrorAs(t, e.Cause, &e)
		require.Equal(t, llm.ErrQuota, e.Kind, "the earlier one is its cause")
	})
	t.Run("a refused key is no matter for a fallback", func(t *testing.T) {
		second := &script{steps: []step{says("x")}}
		h := listen(t.Context(), &llm.Caller{}, route(&script{steps: []step{fails(llm.ErrAuthentication)}}, second))
		require.Equal(t, llm.ErrAuthentication, llm.KindOf(h.err))
		require.Empty(t, second.asked)
	})
}

// slow is a client whose every request takes so long.
type slow struct {
	llm.Client
	takes time.Duration
}

func (s slow) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		time.Sleep(s.takes)
		s.Client.Stream(ctx, req)(yield)
	}
}

// Proves R74: a completion tells of every attempt that failed before it: when it
// went out, how long it ran, why it failed, and how long the next one waited for
// the pause and the limiter together.
func TestCallerTellsOfFailedAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		used := events.Usage{InputTokens: 40, OutputTokens: 2}
		first := &script{steps: []step{
			fails(llm.ErrRateLimited, status(429, 8*time.Second)),
			fails(llm.ErrBrokenStream, func(e *llm.Error) {
				e.Usage, e.Message = &used, "it broke\x1b[31m\n\tin  the middle"+strings.Repeat(" and", 100)
			}),
			fails(llm.ErrBadRequest, status(400, 0)),
		}}
		r := route(first, &script{steps: []step{says("hello")}})
		r[0].Endpoint.Client, r[1].Endpoint.Client = slow{first, time.Second}, slow{r[1].Endpoint.Client, 3 * time.Second}
		r[0].Endpoint.Limiter = &countingLimiter{wait: 2 * time.Second}
		h := listen(t.Context(), &llm.Caller{}, r)
		require.NoError(t, h.err)
		require.Equal(t, 4, h.done.Attempts)
		require.Len(t, h.done.Failures, 3)
		var kinds []llm.ErrorKind
		at := 2 * time.Second // the limiter's, before the first
		for i, f := range h.done.Failures {
			require.Equal(t, at, f.Sent, "attempt %d", i+1)
			require.Equal(t, time.Second, f.Ran)
			require.Equal(t, "ma", f.Model)
			at += f.Ran + f.Wait
			kinds = append(kinds, f.Err.Kind)
		}
		require.Equal(t, h.took, at+3*time.Second, "nothing of the call is left out")
		require.Equal(t, []llm.ErrorKind{llm.ErrRateLimited, llm.ErrBrokenStream, llm.ErrBadRequest}, kinds)
		require.GreaterOrEqual(t, h.done.Failures[0].Wait, 10*time.Second, "what it asked for, and the limiter")
		require.Greater(t, h.done.Failures[1].Wait, 2*time.Second, "pause and limiter")
		require.Zero(t, h.done.Failures[2].Wait, "a fallback is asked at once")

		recorded := h.done.Failures[1].Recorded()
		require.Equal(t, events.FailedAttempt{
			StartMS: h.done.Failures[1].Sent.Milliseconds(), RanMS: 1000, WaitMS: recorded.WaitMS, Error: "broken_stream", Model: "ma", Usage: &used, Message: recorded.Message,
		}, recorded)
		require.InDelta(t, h.done.Failures[1].Wait.Milliseconds(), recorded.WaitMS, 1)
		require.True(t, strings.HasPrefix(recorded.Message, "it broke[31m in the middle and and"), recorded.Message)
		require.Equal(t, 160, utf8.RuneCountInString(recorded.Message))
		require.Equal(t, 429, func() int { f := h.done.Failures[0].Recorded(); return f.Status }())
	})
	synctest.Test(t, func(t *testing.T) {
		steps := []step{}
		for range 3 * events.MaxRetries {
			steps = append(steps, fails(llm.ErrServer))
		}
		h := listen(t.Context(), &llm.Caller{MaxAttempts: 1000}, route(&script{steps: append(steps, says("hello"))}))
		require.NoError(t, h.err)
		require.Equal(t, 3*events.MaxRetries+1, h.done.Attempts)
		require.Len(t, h.done.Failures, events.MaxRetries)
		last := h.done.Failures[events.MaxRetries-1]
		require.Equal(t, h.took, last.Sent+last.Ran+last.Wait, "the newest are kept")
	})
}

// Proves R74: so does the error of a call that got no reply, the last attempt
// included, however it ended.
func TestCallerTellsOfALostCall(t *testing.T) {
	tried := func(h heard) (list []string, end time.Duration) {
		var lost *llm.CallError
		require.ErrorAs(t, h.err, &lost)
		require.Equal(t, lost.Err.Error(), h.err.Error())
		require.Equal(t, events.ModelCallID("f.1"), lost.Call)
		for _, f := range lost.Failures {
			list = append(list, fmt.Sprint(f.Err.Kind, " ", f.Err.Message, " ", f.Model, " ", f.Ran))
			require.Equal(t, end, f.Sent, "nothing of the call is left out")
			end += f.Ran + f.Wait
		}
		return list, end
	}
	synctest.Test(t, func(t *testing.T) {
		first, second := &script{steps: []step{fails(llm.ErrServer), fails(llm.ErrBadRequest)}}, &script{steps: []step{fails(llm.ErrAuthentication)}}
		r := route(first, second)
		r[0].Endpoint.Client, r[1].Endpoint.Client = slow{first, time.Second}, slow{second, 2 * time.Second}
		h := listen(t.Context(), &llm.Caller{}, r)
		list, end := tried(h)
		require.Equal(t, []string{"server no ma 1s", "bad_request no ma 1s", "authentication no mb 2s"}, list)
		require.Equal(t, h.took, end)
		require.Equal(t, llm.ErrAuthentication, llm.KindOf(h.err))
		recorded := llm.FailedCall(h.err)
		require.Equal(t, events.ModelCallID("f.1"), recorded.ModelCall)
		require.Len(t, recorded.Attempts, 3)
		require.Zero(t, recorded.Attempts[2].WaitMS)
		require.Zero(t, recorded.EarlierAttempts)
	})
	synctest.Test(t, func(t *testing.T) { // stopped while it waits for another
		ctx, stop := context.WithTimeoutCause(t.Context(), 4*time.Second, errors.New("enough"))
		defer stop()
		client := &script{steps: []step{fails(llm.ErrServer, status(503, time.Minute))}}
		r := route(client)
		r[0].Endpoint.Client = slow{client, time.Second}
		h := listen(ctx, &llm.Caller{}, r)
		list, end := tried(h)
		require.Equal(t, []string{"server no ma 1s"}, list)
		require.Equal(t, 4*time.Second, end)
		require.ErrorIs(t, h.err, context.DeadlineExceeded)
	})
	synctest.Test(t, func(t *testing.T) { // stopped in an attempt
		ctx, stop := context.WithTimeoutCause(t.Context(), 4*time.Second, errors.New("enough"))
		defer stop()
		r := route(&script{})
		r[0].Endpoint.Client = endless{}
		list, end := tried(listen(ctx, &llm.Caller{}, r))
		require.Equal(t, []string{"stopped enough ma 4s"}, list)
		require.Equal(t, 4*time.Second, end)
	})
	synctest.Test(t, func(t *testing.T) { // stopped before the first
		ctx, stop := context.WithCancel(t.Context())
		stop()
		r := route(&script{steps: []step{says("hello")}})
		r[0].Endpoint.Limiter = closed{}
		h := listen(ctx, &llm.Caller{}, r)
		require.ErrorIs(t, h.err, context.Canceled)
		require.Zero(t, llm.FailedCall(h.err))
	})
	synctest.Test(t, func(t *testing.T) {
		h := listen(t.Context(), &llm.Caller{MaxAttempts: 3 * events.MaxRetries}, route(&script{steps: []step{fails(llm.ErrServer)}}))
		recorded := llm.FailedCall(fmt.Errorf("summarize: %w", h.err))
		require.Len(t, recorded.Attempts, events.MaxRetries)
		require.Equal(t, 2*events.MaxRetries, recorded.EarlierAttempts)
		last := recorded.Attempts[events.MaxRetries-1]
		require.Equal(t, h.took.Milliseconds(), last.StartMS+last.RanMS, "the newest are kept")
	})
}

// endless is a client that says nothing until its context ends.
type endless struct{}

func (endless) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		<-ctx.Done()
		yield(llm.Delta{}, ctx.Err())
	}
}

// closed is a limiter that lets nobody in.
type closed struct{}

func (closed) Acquire(ctx context.Context, _ *llm.Request) (llm.Permit, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestCallerStopsWithItsConsumer(t *testing.T) {
	client := &script{steps: []step{fails(llm.ErrServer)}}
	for d, err := range (&llm.Caller{}).Stream(t.Context(), route(client), llm.Request{}) {
		require.NoError(t, err)
		if d.Text != "" {
			break // in mid-reply
		}
	}
	require.Zero(t, client.open)
	for d := range (&llm.Caller{}).Stream(t.Context(), route(client), llm.Request{}) {
		if d.Retry != nil {
			break // rather than wait
		}
	}
	require.Zero(t, client.open)
	require.Len(t, client.asked, 2)
}

func TestCallerEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		client := &script{steps: []step{fails(llm.ErrServer)}}
		h := listen(ctx, &llm.Caller{}, route(client))
		require.ErrorIs(t, h.err, context.DeadlineExceeded)
		require.Equal(t, 100*time.Millisecond, h.took)
		require.Len(t, client.asked, 1)
	})
}

func TestCallerSettlesEveryPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := &countingLimiter{wait: 2 * time.Second}
		r := route(&script{steps: []step{fails(llm.ErrServer), says("x")}})
		r[0].Endpoint.Limiter = limiter
		h := listen(t.Context(), &llm.Caller{}, r)
		require.NoError(t, h.err)
		require.Equal(t, 4*time.Second, h.done.Queued, "two turns were waited for")
		require.Equal(t, []string{"acquire", "error", "acquire", "done"}, limiter.log)

		limiter.log = nil
		for range (&llm.Caller{}).Stream(t.Context(), r, llm.Request{}) {
			break
		}
		require.Equal(t, []string{"acquire", "error"}, limiter.log)

		limiter.log = nil
		require.Panics(t, func() {
			for range (&llm.Caller{}).Stream(t.Context(), r, llm.Request{}) {
				panic("in the consumer")
			}
		})
		require.Equal(t, []string{"acquire", "error"}, limiter.log)

		limiter.err = errors.New("closed")
		require.ErrorIs(t, listen(t.Context(), &llm.Caller{}, r).err, limiter.err)
	})
}

type countingLimiter struct {
	wait time.Duration
	err  error
	log  []string
}

func (l *countingLimiter) Acquire(context.Context, *llm.Request) (llm.Permit, error) {
	time.Sleep(l.wait)
	l.log = append(l.log, "acquire")
	return l, l.err
}

func (l *countingLimiter) Accepted() {}

func (l *countingLimiter) Settle(done *llm.Completion, err error) {
	if (done == nil) == (err == nil) {
		panic("settle wants a completion or an error")
	}
	if err != nil {
		l.log = append(l.log, "error")
		return
	}
	l.log = append(l.log, "done")
}

func TestCallerPricesTheReply(t *testing.T) {
	r := route(&script{steps: []step{says("x")}})
	require.Nil(t, listen(t.Context(), &llm.Caller{}, r).done.CostUSD, "unknown, never 0")
	table, err := prices.Parse([]byte(`{"models":{"pa/ma":{"input":2,"cached_input":0.5,"output":10}}}`))
	require.NoError(t, err)
	require.InDelta(t, 0.6*2+0.4*0.5+0.1*10, *listen(t.Context(), &llm.Caller{Prices: table}, r).done.CostUSD, 1e-9)
}

func TestCallerWithoutATarget(t *testing.T) {
	require.ErrorContains(t, listen(t.Context(), &llm.Caller{}, nil).err, "route is empty")
}
