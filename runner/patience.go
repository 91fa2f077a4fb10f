package runner

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/thread"
)

// DefaultMaxWait is how long a run waits for an endpoint that cannot be used: most
// outages are shorter, and a person who watches a longer one wants to know.
const DefaultMaxWait = 10 * time.Minute

// Forever is a MaxWait without end.
const Forever time.Duration = -1

// patience makes the model calls of a run. They wait for endpoints that cannot be used,
// and the run is parked when one gives up. It is safe for concurrent use.
type patience struct {
	caller  loop.Caller
	journal loop.Journal
	// tenant and maxWait are those of [llm.Request].
	tenant  events.TenantID
	maxWait time.Duration
	// park has the run parked, once the calls under way have ended.
	park func()

	mu sync.Mutex // guards what follows
	// waiting counts the calls that wait, since is when the first of them began; waited
	// sums the times before.
	waiting int
	trouble llm.Away
	since   time.Time
	waited  time.Duration
	gaveUp  *llm.OutageError
}

// Stream implements [loop.Caller].
func (p *patience) Stream(ctx context.Context, route llm.Route, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		req.Tenant, req.MaxWait = p.tenant, p.maxWait
		away := false
		defer func() {
			if away {
				p.back()
			}
		}()
		for delta, err := range p.caller.Stream(ctx, route, req) {
			switch {
			case delta.Away != nil && !away:
				away = true
				p.away(delta.Away)
			case delta.Back && away:
				away = false
				p.back()
			}
			if !yield(delta, p.judge(err)) || err != nil {
				return
			}
		}
	}
}

// judge has the run parked where a call gave up waiting.
func (p *patience) judge(err error) error {
	if err == nil {
		return nil
	}
	var outage *llm.OutageError
	if !errors.As(err, &outage) {
		return err
	}
	p.mu.Lock()
	if p.gaveUp == nil {
		p.gaveUp = outage
	}
	p.mu.Unlock()
	p.park()
	var call *llm.CallError
	if !errors.As(err, &call) {
		return fmt.Errorf("%w: %w", loop.ErrSuspended, err)
	}
	tried := *call
	tried.Err = fmt.Errorf("%w: %w", loop.ErrSuspended, call.Err)
	return &tried
}

// away notes that a call begins to wait.
func (p *patience) away(a *llm.Away) {
	p.mu.Lock()
	if p.waiting == 0 {
		p.since, p.trouble = time.Now(), *a
	}
	p.waiting++
	p.mu.Unlock()
	p.record()
}

// back notes that a call waits no more.
func (p *patience) back() {
	p.mu.Lock()
	if p.waiting--; p.waiting == 0 {
		p.waited += time.Since(p.since)
	}
	p.mu.Unlock()
	p.record()
}

// record has the log say whether the run waits. Whichever decision comes last finds how
// things are then.
func (p *patience) record() {
	_ = p.journal.Do(func(tx *thread.Tx) { // a store that fails ends the run at its next commit
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case tx.Run.Status.Over() || tx.Run.Cancelled:
		case p.waiting > 0 && tx.Run.Outage == nil:
			tx.Emit("", "", began(&p.trouble))
		case p.waiting == 0 && tx.Run.Outage != nil:
			tx.Emit("", "", events.OutageEnded{WaitedMS: time.Since(p.since).Milliseconds()})
		}
	})
}

func began(a *llm.Away) events.OutageBegan {
	e := events.OutageBegan{Endpoint: a.Trouble.Place(), Code: string(a.Trouble.Kind), Message: a.Trouble.String()}
	if !a.GiveUp.IsZero() {
		e.MaxWaitMS = max(a.GiveUp.Sub(a.Since).Milliseconds(), 1)
	}
	return e
}

// time gives how long the run has waited for endpoints by now: it counts towards no
// bound of time.
func (p *patience) time(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == 0 {
		return p.waited
	}
	return p.waited + max(0, now.Sub(p.since))
}

// suspended is the fact of a run that is parked.
func (p *patience) suspended(cause error) events.RunSuspended {
	if errors.Is(cause, loop.ErrAwaitingInput) {
		return events.RunSuspended{AwaitingInput: true}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gaveUp == nil {
		return events.RunSuspended{Reason: "stopped"}
	}
	t := &p.gaveUp.Trouble
	reason := t.String()
	if p.gaveUp.Waited >= time.Second {
		reason += fmt.Sprintf("; waited %s for it", p.gaveUp.Waited.Round(time.Second))
	}
	return events.RunSuspended{Reason: reason, Code: string(t.Kind), Endpoint: t.Place()}
}

// Away gives what calls of the run wait for at this moment, nil if none does.
func (r *Run) Away() *llm.Trouble {
	r.patience.mu.Lock()
	defer r.patience.mu.Unlock()
	if r.patience.waiting == 0 {
		return nil
	}
	t := r.patience.trouble.Trouble
	return &t
}

// Trouble gives a function that tells what keeps the job, and others of its team and model, from
// being worked on at the moment at which it is called: an endpoint that cannot be used, where one
// of its agents has no other. That gives nil where nothing does, as far as is known. Trouble is
// nil where the job cannot be started, which whoever starts it is told.
func (r *Runner) Trouble(job Job) func() *llm.Trouble {
	p, err := r.plan(job)
	if err != nil {
		return nil
	}
	return func() *llm.Trouble {
		for _, spec := range p.specs {
			if t := troubleOf(spec.Route); t != nil {
				return t
			}
		}
		return nil
	}
}

// troubleOf is that of the first target, if all targets have one.
func troubleOf(route llm.Route) (first *llm.Trouble) {
	for _, target := range route {
		t := target.Endpoint.Health.Trouble(target.Model)
		if t == nil {
			return nil
		}
		if first == nil {
			first = t
		}
	}
	return first
}
