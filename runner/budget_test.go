package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
)

// budgetServer is a process that holds a budget for others.
type budgetServer struct{ *runner.LocalBudget }

type budgetMessage struct {
	Reserved, Spent runner.Amount
	WrapUp          bool
}

func (s budgetServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m budgetMessage
	_ = json.NewDecoder(r.Body).Decode(&m) // the test's own client wrote it
	if r.URL.Path == "/settle" {
		s.Settle(m.Reserved, m.Spent)
		return
	}
	if err := s.Reserve(r.Context(), m.Reserved, m.WrapUp); err != nil {
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(err)
	}
}

// remoteBudget asks that process.
type remoteBudget struct{ url string }

func (b remoteBudget) BoundsCost() bool { return false }

func (b remoteBudget) post(ctx context.Context, path string, m budgetMessage) (*http.Response, error) {
	body, _ := json.Marshal(m)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(request)
}

func (b remoteBudget) Reserve(ctx context.Context, most runner.Amount, wrapUp bool) error {
	response, err := b.post(ctx, "/reserve", budgetMessage{Reserved: most, WrapUp: wrapUp})
	if err != nil {
		return fmt.Errorf("reserve: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	var limit events.LimitError
	if err := json.NewDecoder(response.Body).Decode(&limit); err != nil {
		return err
	}
	return &limit
}

func (b remoteBudget) Settle(reserved, spent runner.Amount) {
	if response, err := b.post(context.Background(), "/settle", budgetMessage{Reserved: reserved, Spent: spent}); err == nil {
		_ = response.Body.Close()
	}
}

// Runs of several processes share a budget that another one holds: all that they use is
// counted there, none begins at its bound, and while it cannot be asked they are parked.
func TestBudgetThatAnotherProcessHolds(t *testing.T) {
	held := runner.NewBudget(runner.BudgetLimits{MaxTokens: 1_000_000})
	server := httptest.NewServer(budgetServer{held})
	defer server.Close()
	run := func() (*runner.Runner, runner.Result) {
		r := owned(t, events.NewMemory(), sim.New(sim.Options{}), "one of several")
		result, err := r.Run(t.Context(), runner.Job{Request: "Write about both halves", Team: pair(), Budget: remoteBudget{server.URL}})
		require.NoError(t, err)
		return r, result
	}
	_, first := run()
	_, second := run()
	require.Equal(t, events.StatusCompleted, first.Status, first.Reason)
	tokens, _ := held.Spent()
	require.Equal(t, first.Usage.Total()+second.Usage.Total(), tokens)

	held.Spend(events.Usage{InputTokens: 1_000_000}, nil)
	_, third := run()
	require.Equal(t, events.StatusSuspended, third.Status, "it has made no call, and may under a higher bound")

	server.Close()
	r, fourth := run()
	require.Equal(t, events.StatusSuspended, fourth.Status)
	require.Contains(t, fourth.Reason, "the budget that the run shares cannot be asked: reserve: ")
	resumed, err := r.Resume(t.Context(), "", fourth.Run, runner.Terms{})
	require.NoError(t, err)
	result, err := resumed.Wait()
	require.NoError(t, err)
	require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
}

// waitingBudget never has room.
type waitingBudget struct{ asked chan struct{} }

func (b waitingBudget) BoundsCost() bool          { return false }
func (b waitingBudget) Settle(_, _ runner.Amount) {}
func (b waitingBudget) Reserve(ctx context.Context, _ runner.Amount, _ bool) error {
	b.asked <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

// Who waits for room in a budget is parked at once: nothing is under way that could end.
func TestStopOfARunThatWaitsForItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := waitingBudget{make(chan struct{}, 1)}
		run, err := owned(t, events.NewMemory(), llmtest.Script(t), "driver").Start(t.Context(), runner.Job{
			Request: "Write about both halves", Team: pair(), Budget: budget,
		})
		require.NoError(t, err)
		<-budget.asked
		begun := time.Now()
		require.NoError(t, run.Stop(t.Context()))
		require.Zero(t, time.Since(begun))
		result, err := run.Wait()
		require.NoError(t, err)
		require.Equal(t, events.StatusSuspended, result.Status)
		require.Zero(t, result.ModelCalls)
	})
}
