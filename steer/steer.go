package steer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/web"
)

// DefaultMaxRuns is how many runs are under way at once unasked: more than a team of
// people starts by hand, few enough that neither this machine nor an endpoint is flooded
// by a script.
const DefaultMaxRuns = 64

// Config is what a [Runs] works with. Runner is required.
type Config struct {
	Runner *runner.Runner
	// Model is asked where neither the request nor the team names one. Defaults to that of
	// the runner's models.
	Model string
	// Teams can be chosen by these names in addition to the built-in teams, and take
	// precedence over them. They
	// must not change.
	Teams map[string]*team.Team
	// DefaultTeam is the team of a request that names none. Defaults to [team.DefaultName].
	DefaultTeam string
	// MaxRuns bounds the runs that the runner drives at once, rows of batches aside; a
	// further one is refused with HTTP 429. Defaults to [DefaultMaxRuns].
	MaxRuns int
	// OnInput says what becomes of a run that is driven from here and asks a person for something,
	// Approve who decides on its calls that wait for approval. Both default to parking it.
	OnInput runner.OnInput
	Approve runner.Approve
}

// Runs is a runner as a dashboard sees it. It is safe for concurrent use. What it starts
// goes on until [runner.Runner.Shutdown].
type Runs struct {
	config Config

	mu sync.Mutex // guards beginning
	// beginning counts the runs that are about to begin.
	beginning int
}

var _ web.Runs = (*Runs)(nil)

// New gives the runs of a runner.
func New(config Config) *Runs {
	if config.DefaultTeam == "" {
		config.DefaultTeam = team.DefaultName
	}
	if config.MaxRuns == 0 {
		config.MaxRuns = DefaultMaxRuns
	}
	return &Runs{config: config}
}

// Start implements [web.Runs].
func (s *Runs) Start(ctx context.Context, by access.Identity, job web.Job) (web.Started, error) {
	t, err := s.team(job.Team)
	if err != nil {
		return web.Started{}, err
	}
	model := job.Model
	if model == "" {
		model = s.config.Model
	}
	return s.begin(ctx, func(ctx context.Context) (*runner.Run, error) {
		return s.config.Runner.Start(ctx, runner.Job{
			Tenant: by.Tenant, By: callerOf(by), Thread: job.Thread, Request: job.Request, Vars: job.Vars, Team: t, Model: model, Solo: job.Solo,
			Traceparent: job.Traceparent, OnInput: s.config.OnInput, Approve: s.config.Approve,
		})
	})
}

// callerOf is on whose behalf agents work for an identity.
func callerOf(by access.Identity) conversation.Caller {
	return conversation.Caller{UserID: by.User, Grants: by.Grants, Actor: by.Actor()}
}

func (s *Runs) team(name string) (*team.Team, error) {
	if name == "" {
		name = s.config.DefaultTeam
	}
	if t := s.config.Teams[name]; t != nil {
		return t, nil
	}
	// A path of a caller's choice must not be read: built-in teams only.
	t, err := team.Builtin(name)
	if err != nil {
		return nil, &web.Refusal{Status: http.StatusUnprocessableEntity, Detail: err.Error()}
	}
	return t, nil
}

// begin starts or takes up a run, if there is room for it. The run outlives the request
// that asked for it.
func (s *Runs) begin(ctx context.Context, start func(context.Context) (*runner.Run, error)) (web.Started, error) {
	if err := s.reserve(); err != nil {
		return web.Started{}, err
	}
	run, err := start(context.WithoutCancel(ctx))
	s.begun()
	if err != nil {
		return web.Started{}, refusal(err)
	}
	return web.Started{Run: run.ID(), Thread: run.Key().Thread}, nil
}

// reserve keeps room for a run that is about to begin, or refuses it.
func (s *Runs) reserve() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	under := s.beginning
	for _, run := range s.config.Runner.Runs() {
		if run.Row() == nil {
			under++
		}
	}
	if under >= s.config.MaxRuns {
		return &web.Refusal{Status: http.StatusTooManyRequests, Detail: fmt.Sprintf(
			"%d runs are under way, and this server drives at most %d at once: try again when one has ended, or stop one", under, s.config.MaxRuns)}
	}
	s.beginning++
	return nil
}

// begun gives the room back that was kept: what has begun is counted by the runner.
func (s *Runs) begun() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beginning--
}

// refusal tells an error of the caller's from one of the server's: a store that fails.
func refusal(err error) error {
	var path *os.PathError
	var store *events.StoreError
	var quota *runner.QuotaError
	switch {
	case errors.As(err, &quota):
		met := &web.Refusal{Status: http.StatusTooManyRequests, Detail: quota.Error()}
		if !quota.Until.IsZero() {
			met.RetryAfter = time.Until(quota.Until)
		}
		return met
	case errors.Is(err, events.ErrHeld), errors.Is(err, events.ErrNotFound), errors.Is(err, events.ErrClosed), errors.As(err, &path), errors.As(err, &store):
		return err
	case errors.Is(err, events.ErrRunOver):
		return &web.Refusal{Status: http.StatusConflict, Detail: err.Error()}
	case errors.Is(err, runner.ErrShutDown):
		return &web.Refusal{Status: http.StatusServiceUnavailable, Detail: "this server is about to end and begins no more runs"}
	}
	return &web.Refusal{Status: http.StatusUnprocessableEntity, Detail: err.Error()}
}

// Cancel implements [web.Runs].
func (s *Runs) Cancel(ctx context.Context, by access.Identity, run events.RunID, reason string) error {
	err := s.config.Runner.CancelBy(ctx, by.Tenant, run, by.Actor(), reason)
	if errors.Is(err, events.ErrRunOver) {
		return refusal(err)
	}
	return err
}

// Stop implements [web.Runs].
func (s *Runs) Stop(_ context.Context, by access.Identity, id events.RunID) error {
	for _, run := range s.config.Runner.Runs() {
		if run.ID() == id && run.Key().Tenant == by.Tenant {
			run.SuspendBy(by.Actor())
			return nil
		}
	}
	return &web.Refusal{Status: http.StatusConflict, Detail: fmt.Sprintf("this process does not drive run %s: stop it where it runs, or cancel it", id)}
}

// Resume implements [web.Runs].
func (s *Runs) Resume(ctx context.Context, by access.Identity, run events.RunID) error {
	_, err := s.begin(ctx, func(ctx context.Context) (*runner.Run, error) {
		return s.config.Runner.Resume(ctx, by.Tenant, run, runner.Terms{OnInput: s.config.OnInput, Approve: s.config.Approve, By: by.Actor()})
	})
	return err
}

// Fork implements [web.Runs].
func (s *Runs) Fork(ctx context.Context, by access.Identity, run events.RunID, fork web.Fork) (web.Started, error) {
	return s.begin(ctx, func(ctx context.Context) (*runner.Run, error) {
		return s.config.Runner.Fork(ctx, by.Tenant, run, runner.Change{By: callerOf(by), At: fork.At, Model: fork.Model, Instruction: fork.Instruction})
	})
}

// Teams implements [web.Runs]: those of every tenant.
func (s *Runs) Teams(events.TenantID) []web.TeamInfo {
	var infos []web.TeamInfo
	for name, t := range s.config.Teams {
		infos = append(infos, s.teamInfo(name, t))
	}
	for _, name := range team.BuiltinNames() {
		t, err := team.Builtin(name)
		if err != nil {
			continue // a built-in team that does not parse fails its own test
		}
		infos = append(infos, s.teamInfo(name, t))
	}
	return infos
}

func (s *Runs) teamInfo(name string, t *team.Team) web.TeamInfo {
	info := web.TeamInfo{Name: name, Description: t.Description, Default: name == s.config.DefaultTeam, Specialists: []events.AgentID{}}
	for _, specialist := range t.Specialists {
		info.Specialists = append(info.Specialists, specialist.ID)
	}
	return info
}
