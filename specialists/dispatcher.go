package specialists

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// Config is what a [Dispatcher] needs of its run.
type Config struct {
	Run      events.RunID
	Priority llm.Priority
	Team     *team.Team
	// Specs are the specialists by id, as they were when the run started; Asked are
	// the same where they only answer a question.
	Specs map[events.AgentID]*loop.Spec
	Asked map[events.AgentID]*loop.Spec
	// Supervisor is the specialist that reads exchanges, nil for none.
	Supervisor *loop.Spec
	Journal    loop.Journal
	Caller     loop.Caller
	// Files keeps what the results of tools bring beside text; nil for nothing.
	Files loop.Files
	// FilesRoot is that of [loop.Loop].
	FilesRoot string
	// Governor gives the governor of a dispatch that has spent so much so far.
	Governor func(spent events.Usage, costUSD *float64) loop.Governor
	// Functions are the specialists that are Go functions.
	Functions map[events.AgentID]Function
	// Decide is the decision on calls that wait for leave where no person is asked, nil where
	// one is.
	Decide *events.Approval
	// Watch is told when a dispatch begins to be driven, and of the timeout that it has
	// beside the team's, 0 for none: it returns where to show what the agent does, a
	// context that ends when the dispatch must, and a function to call when it has ended.
	Watch func(ctx context.Context, spec *loop.Spec, id events.DispatchID, timeout time.Duration) (context.Context, *agent.Live, func())
}

// Dispatcher drives the dispatches of one run in this process. It is safe for
// concurrent use.
type Dispatcher struct {
	config Config
	places *semaphore.Weighted
}

// NewDispatcher gives the dispatcher of one run.
func NewDispatcher(config Config) *Dispatcher {
	return &Dispatcher{config, semaphore.NewWeighted(int64(config.Team.Limits.MaxParallelDispatches))}
}

// Dispatch drives a dispatch that agent_started opened, from wherever the log says
// it is, to its agent_finished. It waits while max_parallel_dispatches others of
// the run are driven. The error is [loop.ErrSuspended] or the store's.
func (d *Dispatcher) Dispatch(ctx context.Context, id events.DispatchID, timeout time.Duration) error {
	var (
		who   events.AgentID
		asked bool
		reads bool // the exchange
		spent events.Usage
		cost  *float64
	)
	err := d.config.Journal.Do(func(tx *thread.Tx) {
		if dispatch := tx.Run.Dispatch(id); dispatch != nil {
			who, asked, reads = dispatch.Start.Agent, dispatch.Start.Asked, dispatch.Start.Tool == events.SuperviseTool
			spent, cost = dispatch.Usage, dispatch.CostUSD
		}
	})
	if err != nil {
		return err
	}
	specs := d.config.Specs
	if asked {
		specs = d.config.Asked
	}
	limits := d.config.Team.Limits
	spec := specs[who]
	if reads {
		spec, limits.MaxSpecialistTurns = d.config.Supervisor, min(limits.MaxSpecialistTurns, maxSupervisorTurns)
	}
	if spec == nil {
		return fmt.Errorf("drive dispatch %s: the team has no specialist %q", id, who)
	}
	role := &role{id: id, agent: who, displayName: spec.DisplayName, limits: limits}
	if err := d.places.Acquire(ctx, 1); err == nil {
		defer d.places.Release(1)
	}
	ctx, live, done := d.config.Watch(ctx, spec, id, timeout)
	defer done()
	if f := d.config.Functions[who]; f != nil && !reads {
		return f.drive(ctx, &d.config, role, live)
	}
	l := &loop.Loop{
		Spec: spec, Role: role, ID: thread.ActorOf(id), Run: d.config.Run, Priority: d.config.Priority,
		Journal: d.config.Journal, Caller: d.config.Caller, Governor: d.config.Governor(spent, cost), Decide: d.config.Decide, Live: live, Files: d.config.Files, FilesRoot: d.config.FilesRoot,
	}
	return l.Drive(ctx)
}
