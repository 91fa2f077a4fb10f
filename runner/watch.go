package runner

import (
	"context"
	"sync"
	"time"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
)

// watchInterval is how often a run looks after its agents: often
// enough for bounds that are given in seconds, seldom enough to cost nothing.
const watchInterval = time.Second

// every calls look again and again, that long after it returned, until done is called, which
// waits for a call under way. Between two calls it has no goroutine, whose stack thousands of
// runs would have.
func every(interval time.Duration, look func(now time.Time)) (done func()) {
	var (
		mu    sync.Mutex // held during a call; guards what follows
		over  bool
		timer *time.Timer
	)
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(interval, func() {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return
		}
		look(time.Now())
		timer.Reset(interval)
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		timer.Stop()
	}
}

// Signal says that an agent is silent: that it works on, or that it takes longer
// than expected. Signals are lossy and never in the log.
type Signal struct {
	Run         events.RunID
	Agent       events.AgentID
	DisplayName string
	Dispatch    events.DispatchID
	// Silent is how long nothing has come from the agent.
	Silent time.Duration
	// Slow is set from silence_slow on.
	Slow bool
	// Notice is what the team tells the user of a conversation then; "" before.
	Notice string
}

// watcher looks after the agents that a run drives.
type watcher struct {
	run    events.RunID
	limits team.Limits
	slow   string // what the user is told of an agent that takes longer than expected
	signal func(Signal)

	mu     sync.Mutex // guards agents
	agents []*watched
}

// watched is one agent under way.
type watched struct {
	live *agent.Live
	stop context.CancelCauseFunc
	// timeout bounds the agent's time at work.
	timeout time.Duration
	// silence is how long nothing may come of the agent's model, or of its tools.
	silence llm.Silence
	// told is the silence that was last signalled.
	told time.Duration
}

// add begins to watch an agent, which has a timeout of its own beside that of all
// specialists if it is not 0. The context ends, with a cause, when the agent must; done
// ends the watching.
func (w *watcher) add(ctx context.Context, spec *loop.Spec, id events.DispatchID, timeout time.Duration) (_ context.Context, _ *agent.Live, done func()) {
	ctx, stop := context.WithCancelCause(ctx)
	live := &agent.Live{Agent: spec.ID, DisplayName: spec.DisplayName, Dispatch: id, Queues: spec.Tier == llm.TierFlex}
	if timeout == 0 || timeout > w.limits.SpecialistTimeout {
		timeout = w.limits.SpecialistTimeout
	}
	a := &watched{live: live, stop: stop, timeout: timeout, silence: watchedSilence(spec)}
	w.mu.Lock()
	w.agents = append(w.agents, a)
	w.mu.Unlock()
	return ctx, live, func() {
		w.remove(a)
		stop(nil)
	}
}

// silenceGrace is how much longer than a model may be silent its specialist is let live:
// the endpoint's client comes first, which breaks the reply off and asks again.
const silenceGrace = 2 * watchInterval

// watchedSilence is how long nothing may come of an agent: of its tools in First, of its
// model in Next. Where nobody set it a model may be silent for as long as its client lets
// it at any time.
func watchedSilence(spec *loop.Spec) llm.Silence {
	s := spec.Silence
	if s.First == 0 {
		s.First = llm.DefaultSilence.First
	}
	if s.Next == 0 {
		s.Next = llm.DefaultSilence.Next
		if spec.Tier == llm.TierFlex {
			s.Next = max(s.Next, llm.FlexSilence)
		}
	}
	return s
}

func (w *watcher) remove(a *watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.agents {
		if w.agents[i] == a {
			w.agents = append(w.agents[:i], w.agents[i+1:]...)
			return
		}
	}
}

// lives gives the agents under way, in the order in which they started.
func (w *watcher) lives() []*agent.Live {
	w.mu.Lock()
	defer w.mu.Unlock()
	lives := make([]*agent.Live, len(w.agents))
	for i, a := range w.agents {
		lives[i] = a.live
	}
	return lives
}

// look checks every agent once.
func (w *watcher) look(now time.Time) {
	var signals []Signal
	w.mu.Lock()
	for _, a := range w.agents {
		if s, tell := w.check(a, now); tell {
			signals = append(signals, s)
		}
	}
	w.mu.Unlock()
	for _, s := range signals {
		if w.signal != nil {
			w.signal(s)
		}
	}
}

// check ends a specialist that has worked for too long, or has been silent for too
// long: its tools, or its model where no client of an endpoint watches that. Waiting for the endpoint is neither work nor silence.
func (w *watcher) check(a *watched, now time.Time) (Signal, bool) {
	state := a.live.Pulse()
	if !state.AtWork {
		a.told = 0
		return Signal{}, false
	}
	silent := now.Sub(state.Heard)
	if silent < a.told {
		a.told = 0
	}
	if a.live.Dispatch != "" {
		bound, grace := a.silence.Next, silenceGrace
		if state.Phase == agent.PhaseTools {
			bound, grace = a.silence.First, 0
		}
		switch {
		case silent >= bound+grace:
			a.stop(timeLimit(events.LimitSilenceTimeout, bound, silent))
		case state.Active >= a.timeout:
			a.stop(timeLimit(events.LimitSpecialistTimeout, a.timeout, state.Active))
		}
	}
	if silent < w.limits.SilenceNotice || silent-a.told < w.limits.SilenceNotice {
		return Signal{}, false
	}
	a.told = silent
	s := Signal{Run: w.run, Agent: a.live.Agent, DisplayName: a.live.DisplayName, Dispatch: a.live.Dispatch, Silent: silent}
	if silent >= w.limits.SilenceSlow {
		s.Slow, s.Notice = true, w.slow
	}
	return s, true
}

func timeLimit(limit events.Limit, bound, used time.Duration) *events.LimitError {
	return &events.LimitError{Limit: limit, Value: bound.Seconds(), Used: used.Seconds()}
}
