package runner_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/runner"
)

// Proves R22: however many streams are cut, every run comes to its whole end, even
// with a model that dispatches once and never looks at what came of it.
func TestCutTurnsAreMadeWhole(t *testing.T) {
	t.Parallel()
	_, share := race.Every(6, 0)
	for rate, runs := range map[string]int{"5%": 40, "20%": 20, "40%": 6} {
		for _, early := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s early=%v", rate, early), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { cutRuns(t, rate, early, max(2, runs/share)) })
			})
		}
	}
}

func cutRuns(t *testing.T, rate string, early bool, runs int) {
	faults, err := sim.ParseFaults("cut=" + rate)
	require.NoError(t, err)
	served := sim.NewServer(sim.Options{
		Seed: 3, Behaviour: sim.BehaveOnce, EarlyDispatch: early, FirstToken: time.Millisecond, Faults: faults,
	})
	log := events.NewMemory()
	r, err := runner.New(runner.Config{
		Log: log,
		// Of two calls in five that fail, one in 1,500 fails eight times in a row.
		Caller: &llm.Caller{MaxAttempts: 30},
		Models: endpointModels{inMemory(t, served, llm.LimiterConfig{})},
	})
	require.NoError(t, err)
	job := runner.Job{Request: "Plan two days in Kyoto", Team: builtin(t, "trip")}
	var wg sync.WaitGroup
	for range runs {
		wg.Go(func() {
			run, err := r.Start(context.Background(), job)
			if err != nil {
				t.Error(err)
				return
			}
			result, err := run.Wait()
			if err != nil || result.Status != events.StatusCompleted {
				t.Errorf("status=%s reason=%s err=%v", result.Status, result.Reason, err)
				return
			}
			_, _, state := picture(t, log, run.Key())
			for _, problem := range missing(state) {
				t.Error(problem)
			}
		})
	}
	wg.Wait()
	require.Positive(t, served.Report().Faults["cut"])
}

// isRest reports whether a request asks for the rest of a turn.
func isRest(req llm.Request) bool { return strings.HasSuffix(string(req.Call), "r") }

// cutDispatches is a model whose streams break behind the first of several dispatches.
type cutDispatches struct{ llm.Client }

func (c cutDispatches) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		cut := false
		for delta, err := range c.Client.Stream(ctx, req) {
			if cut {
				yield(llm.Delta{}, errBroken)
				return
			}
			if !yield(delta, err) {
				return
			}
			cut = delta.Call != nil && strings.HasPrefix(delta.Call.Name, "call_") && !isRest(req)
		}
	}
}

// cutAfter is a model whose first dispatching stream breaks after so many deltas. It
// checks that every request is one that a strict endpoint takes.
type cutAfter struct {
	llm.Client
	t      *testing.T
	deltas int
	// cut is set once a stream broke, rests counts the requests for a rest.
	cut   atomic.Bool
	rests atomic.Int64
}

func (c *cutAfter) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	strict(c.t, req)
	if isRest(req) {
		c.rests.Add(1)
	}
	return func(yield func(llm.Delta, error) bool) {
		var sent []llm.Delta
		dispatches := false
		for delta, err := range c.Client.Stream(ctx, req) {
			if err != nil {
				yield(delta, err)
				return
			}
			sent = append(sent, delta)
			dispatches = dispatches || delta.Call != nil && strings.HasPrefix(delta.Call.Name, "call_")
		}
		for i, delta := range sent {
			if i == c.deltas && dispatches && !isRest(req) && c.cut.CompareAndSwap(false, true) {
				yield(llm.Delta{}, errBroken)
				return
			}
			if !yield(delta, nil) {
				return
			}
		}
	}
}

// strict checks that every call of the history has one result, right behind its
// message and in order.
func strict(t *testing.T, req llm.Request) {
	var open []events.CallID
	for _, m := range req.Messages {
		if m.Role == events.RoleTool {
			if len(open) == 0 || open[0] != m.ToolCallID {
				t.Errorf("call %s: a result for %q where %q are open", req.Call, m.ToolCallID, open)
				return
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			t.Errorf("call %s: no results for %q", req.Call, open)
			return
		}
		for _, call := range m.ToolCalls {
			open = append(open, call.ID)
		}
	}
	if len(open) > 0 {
		t.Errorf("call %s: no results for %q", req.Call, open)
	}
}

// A turn that breaks off anywhere brings the same work as one that does not.
func TestTurnCutAnywhere(t *testing.T) {
	for _, early := range []bool{false, true} {
		options := sim.Options{EarlyDispatch: early, Behaviour: sim.BehaveOnce, ChunkBytes: 64}
		job := runner.Job{Request: "Plan two days in Kyoto", Team: builtin(t, "trip")}
		var want []string
		rests := int64(0)
		_, step := race.Every(3, 0)
		for deltas := -1; ; deltas += step {
			client := &cutAfter{Client: sim.New(options), t: t, deltas: deltas}
			synctest.Test(t, func(t *testing.T) {
				log := events.NewMemory()
				run, err := newRunner(t, log, client).Start(t.Context(), job)
				require.NoError(t, err)
				p := ended(t, log, run)
				p.completed(t)
				_, document, state := picture(t, log, run.Key())
				require.Empty(t, missing(state), "cut after %d deltas", deltas)
				if want == nil {
					want = document
				}
				require.Equal(t, want, document, "cut after %d deltas", deltas)
			})
			if deltas >= 0 && !client.cut.Load() {
				break
			}
			require.LessOrEqual(t, client.rests.Load(), int64(1), "once for each turn")
			rests += client.rests.Load()
		}
		require.Greater(t, rests, int64(5/step), "many of the cuts came behind the first dispatch")
	}
}
