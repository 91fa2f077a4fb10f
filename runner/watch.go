package runner

import (
	"context"
	"sync"
	"time"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
)

// watchInterval is how often a run looks after its agents and its mail: often
// enough for bounds that are given in seconds, seldom enough to cost nothing.
const watchInterval = time.Second

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
}

// watcher looks after the agents that a run drives.
type watcher struct {
	run    events.RunID
	limits team.Limits
	signal func(Signal)

	mu     sync.Mutex // guards agents
	agents []*watched
}

// watched is one agent under way.
type watched struct {
	live *agent.Live
	stop context.CancelCauseFunc
	// active is the time that counts towards specialist_timeout: waiting for the
	// endpoint's limiter or for a retry does not.
	active time.Duration
	// told is the silence that was last signalled.
	told time.Duration
}

// add begins to watch an agent. The context ends, with a cause, when the agent
// must; done ends the watching.
func (w *watcher) add(ctx context.Context, spec *agent.Spec, id events.DispatchID) (context.Context, *agent.Live, func()) {
	ctx, stop := context.WithCancelCause(ctx)
	live := &agent.Live{Agent: spec.ID, DisplayName: spec.DisplayName, Dispatch: id}
	a := &watched{live: live, stop: stop}
	w.mu.Lock()
	w.agents = append(w.agents, a)
	w.mu.Unlock()
	return ctx, live, func() {
		w.remove(a)
		stop(nil)
	}
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

// stop ends the dispatch, if it is watched.
func (w *watcher) stop(id events.DispatchID, cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.agents {
		if id != "" && a.live.Dispatch == id {
			a.stop(cause)
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

// look checks every agent once; elapsed is the time since the last look.
func (w *watcher) look(now time.Time, elapsed time.Duration) {
	var signals []Signal
	w.mu.Lock()
	for _, a := range w.agents {
		if s, tell := w.check(a, now, elapsed); tell {
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

func (w *watcher) check(a *watched, now time.Time, elapsed time.Duration) (Signal, bool) {
	state := a.live.State()
	switch state.Phase {
	case agent.PhaseWaiting, agent.PhaseThinking, agent.PhaseWriting:
	default:
		a.told = 0
		return Signal{}, false
	}
	a.active += elapsed
	silent := now.Sub(state.Heard)
	if silent < a.told {
		a.told = 0
	}
	if a.live.Dispatch != "" {
		switch {
		case silent >= w.limits.SilenceTimeout:
			a.stop(timeLimit(team.LimitSilenceTimeout, w.limits.SilenceTimeout, silent))
		case a.active >= w.limits.SpecialistTimeout:
			a.stop(timeLimit(team.LimitSpecialistTimeout, w.limits.SpecialistTimeout, a.active))
		}
	}
	if silent < w.limits.SilenceNotice || silent-a.told < w.limits.SilenceNotice {
		return Signal{}, false
	}
	a.told = silent
	return Signal{
		Run: w.run, Agent: a.live.Agent, DisplayName: a.live.DisplayName, Dispatch: a.live.Dispatch,
		Silent: silent, Slow: silent >= w.limits.SilenceSlow,
	}, true
}

func timeLimit(limit events.Limit, bound, used time.Duration) *agent.LimitError {
	return &agent.LimitError{Limit: limit, Value: bound.Seconds(), Used: used.Seconds()}
}
