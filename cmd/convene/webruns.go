package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/web"
)

// webRuns is the runner as the dashboard sees it.
type webRuns struct {
	runner *runner.Runner
	// model is asked where neither the request nor the team names one.
	model string
	// files are team files that can be chosen beside the built-in teams.
	files map[string]*team.Team
	// defaultTeam is the team of a request that names none.
	defaultTeam string

	mu sync.Mutex // guards driven
	// driven are the runs that were started here, or added.
	driven map[events.ThreadKey]*runner.Run
	ending sync.WaitGroup
}

func newWebRuns(r *runner.Runner) *webRuns {
	return &webRuns{runner: r, driven: map[events.ThreadKey]*runner.Run{}, defaultTeam: team.DefaultName}
}

// add has a run that this process drives parked with the others.
func (w *webRuns) add(run *runner.Run) {
	w.mu.Lock()
	w.driven[run.Key()] = run
	w.mu.Unlock()
	w.ending.Go(func() {
		_, _ = run.Wait() // whoever started it gives its error; the log has what there is
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.driven[run.Key()] == run {
			delete(w.driven, run.Key())
		}
	})
}

// Start implements [web.Runs].
func (w *webRuns) Start(_ context.Context, job web.Job) (web.Started, error) {
	t, err := w.team(job.Team)
	if err != nil {
		return web.Started{}, err
	}
	model := job.Model
	if model == "" {
		model = w.model
	}
	// The run outlives the request that asked for it.
	run, err := w.runner.Start(context.Background(), runner.Job{
		Thread: job.Thread, Request: job.Request, Vars: job.Vars, Team: t, Model: model, Solo: job.Solo,
	})
	return w.started(run, err)
}

func (w *webRuns) team(name string) (*team.Team, error) {
	if name == "" {
		name = w.defaultTeam
	}
	if t := w.files[name]; t != nil {
		return t, nil
	}
	// A path of a caller's choice must not be read: built-in teams only.
	t, err := team.Builtin(name)
	if err != nil {
		return nil, &web.Refusal{Status: http.StatusUnprocessableEntity, Detail: err.Error()}
	}
	return t, nil
}

func (w *webRuns) started(run *runner.Run, err error) (web.Started, error) {
	if err != nil {
		return web.Started{}, refusal(err)
	}
	w.add(run)
	return web.Started{Run: run.ID(), Thread: run.Key().Thread}, nil
}

// refusal tells an error of the caller's from one of the server's: a store that fails.
func refusal(err error) error {
	var path *os.PathError
	switch {
	case errors.Is(err, events.ErrHeld), errors.Is(err, events.ErrNotFound), errors.Is(err, events.ErrClosed), errors.As(err, &path):
		return err
	case errors.Is(err, runner.ErrOver):
		return &web.Refusal{Status: http.StatusConflict, Detail: err.Error()}
	}
	return &web.Refusal{Status: http.StatusUnprocessableEntity, Detail: err.Error()}
}

// Cancel implements [web.Runs].
func (w *webRuns) Cancel(ctx context.Context, run events.RunID, reason string) error {
	err := w.runner.Cancel(ctx, events.LocalTenant, string(run), reason)
	if errors.Is(err, runner.ErrOver) {
		return refusal(err)
	}
	return err
}

// Resume implements [web.Runs].
func (w *webRuns) Resume(_ context.Context, run events.RunID) error {
	_, err := w.started(w.runner.Resume(context.Background(), events.LocalTenant, string(run)))
	return err
}

// Fork implements [web.Runs].
func (w *webRuns) Fork(_ context.Context, run events.RunID, fork web.Fork) (web.Started, error) {
	return w.started(w.runner.Fork(context.Background(), events.LocalTenant, string(run), runner.Change{
		At: fork.At, Model: fork.Model, Instruction: fork.Instruction,
	}))
}

// Teams implements [web.Runs].
func (w *webRuns) Teams() []web.TeamInfo {
	var infos []web.TeamInfo
	for name, t := range w.files {
		infos = append(infos, teamInfo(name, t))
	}
	for _, name := range team.BuiltinNames() {
		t, err := team.Builtin(name)
		if err != nil {
			continue // a built-in team that does not parse fails its own test
		}
		infos = append(infos, teamInfo(name, t))
	}
	for i := range infos {
		infos[i].Default = infos[i].Name == w.defaultTeam
	}
	return infos
}

func teamInfo(name string, t *team.Team) web.TeamInfo {
	info := web.TeamInfo{Name: name, Description: t.Description, Specialists: []events.AgentID{}}
	for _, s := range t.Specialists {
		info.Specialists = append(info.Specialists, s.ID)
	}
	return info
}

// Live implements [web.Runs].
func (w *webRuns) Live(key events.ThreadKey) ([]web.LiveAgent, bool) {
	run := w.runner.Driven(key) // a batch's too
	if run == nil {
		return nil, false
	}
	var agents []web.LiveAgent
	for _, live := range run.Live() {
		agents = append(agents, liveAgent(live))
	}
	return agents, true
}

func liveAgent(live *agent.Live) web.LiveAgent {
	state, pieces := live.Stream()
	a := web.LiveAgent{
		Agent: live.Agent, DisplayName: live.DisplayName, Dispatch: live.Dispatch, Phase: string(state.Phase),
		Since: state.Since.UTC(), Heard: state.Heard.UTC(), Call: state.Call, Attempt: state.Attempt,
		RetryReason: state.RetryReason,
	}
	for _, piece := range pieces {
		a.Stream = append(a.Stream, web.LivePiece(piece))
	}
	if !state.RetryAt.IsZero() {
		at := state.RetryAt.UTC()
		a.RetryAt = &at
	}
	return a
}

// park lets the calls in flight of every run end, stops what takes too long, and
// returns when nothing is driven any more.
func (w *webRuns) park(within time.Duration) {
	w.each((*runner.Run).Suspend)
	late := time.AfterFunc(within, func() { w.each((*runner.Run).Stop) })
	defer late.Stop()
	w.ending.Wait()
}

func (w *webRuns) each(do func(*runner.Run)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, run := range w.driven {
		do(run)
	}
}
