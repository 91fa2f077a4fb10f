package runner

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/convene-run/convene/events"
)

// ErrShutDown is for a runner that was shut down: it takes no more runs.
var ErrShutDown = errors.New("the runner was shut down")

// registry is what a runner has claimed, and the runs that it drives.
type registry struct {
	mu sync.Mutex // guards what follows
	// tenures are the threads that are claimed here; a thread has one run at a time.
	tenures map[events.ThreadKey]*tenure
	// parking is what a runner that was shut down does with its runs, those included that
	// are just beginning.
	parking parking
	// ending counts the runs from their claim to their release, and those who attend.
	ending sync.WaitGroup
	// attending are the threads that another process holds and that have messages of this
	// one; closing ends when the runner is shut down.
	attending map[events.ThreadKey]bool
	closing   context.Context
	close     context.CancelFunc
	broken    error
}

// tenure is a thread that is claimed here.
type tenure struct {
	since time.Time
	// run is the run that the thread was claimed for, nil where it was for something else.
	run *Run
	// driven is set while the run is driven.
	driven bool
	// knocked is set where somebody of this runner wanted the thread meanwhile.
	knocked bool
}

// parking is how runs are parked.
type parking int

const (
	runOn   parking = iota
	suspend         // after the calls under way
	halt            // at once
)

func (p parking) apply(run *Run) {
	switch p {
	case suspend:
		run.Suspend()
	case halt:
		run.Halt()
	}
}

// occupy keeps a thread for one claim of this runner: in the log a second claim of the
// same owner would take it from the first.
func (g *registry) occupy(key events.ThreadKey, owner events.Owner, run *Run) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.tenures[key]; t != nil {
		t.knocked = true
		return &events.HeldError{Owner: owner, Since: t.since}
	}
	if g.parking != runOn {
		return ErrShutDown
	}
	g.tenures[key] = &tenure{since: time.Now().UTC(), run: run}
	if run != nil {
		g.ending.Add(1)
	}
	return nil
}

// vacate gives the thread back, and reports whether somebody knocked.
func (g *registry) vacate(key events.ThreadKey) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.tenures[key]
	delete(g.tenures, key)
	if t.run == nil {
		return t.knocked
	}
	if g.parking != runOn {
		g.broken = errors.Join(g.broken, t.run.err)
	}
	g.ending.Done()
	return t.knocked
}

// drives notes that the run is driven from now on, or no longer. One that begins while
// the runner is shut down is parked.
func (g *registry) drives(run *Run, driven bool) {
	g.mu.Lock()
	g.tenures[run.key].driven = driven
	how := g.parking
	g.mu.Unlock()
	if driven {
		how.apply(run)
	}
}

// attend notes that a thread of another process is attended, and reports whether it was not
// yet. One that is held here is not: who drives it carries on.
func (g *registry) attend(key events.ThreadKey) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.parking != runOn || g.attending[key] || g.tenures[key] != nil {
		return false
	}
	g.attending[key] = true
	g.ending.Add(1)
	return true
}

func (g *registry) attended(key events.ThreadKey) {
	g.mu.Lock()
	delete(g.attending, key)
	g.mu.Unlock()
	g.ending.Done()
}

func (g *registry) runs() (runs []*Run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range g.tenures {
		if t.driven {
			runs = append(runs, t.run)
		}
	}
	return runs
}

func (g *registry) park(how parking) {
	g.mu.Lock()
	g.parking = max(g.parking, how)
	g.mu.Unlock()
	g.close()
	for _, run := range g.runs() {
		how.apply(run)
	}
}

// Claim keeps a thread for whoever calls, such as a batch: for others, of this runner
// too, the error is an [*events.HeldError] until [Runner.Release].
func (r *Runner) Claim(ctx context.Context, key events.ThreadKey) (events.Epoch, error) {
	return r.claim(ctx, key, nil)
}

func (r *Runner) claim(ctx context.Context, key events.ThreadKey, run *Run) (events.Epoch, error) {
	if err := r.registry.occupy(key, r.config.Owner, run); err != nil {
		return 0, err
	}
	epoch, err := r.config.Log.Claim(ctx, key, r.config.Owner, false)
	if err != nil {
		r.registry.vacate(key)
	}
	return epoch, err
}

// Release gives back what [Runner.Claim] gave.
func (r *Runner) Release(key events.ThreadKey, epoch events.Epoch) {
	_ = r.config.Log.Release(context.Background(), key, epoch) // the claim dies with the process at the latest
	r.registry.vacate(key)
}

// Runs gives the runs that are driven here now, in no order.
func (r *Runner) Runs() []*Run { return r.registry.runs() }

// Driven gives the run that is driven here in the thread, nil where none is.
func (r *Runner) Driven(key events.ThreadKey) *Run {
	r.registry.mu.Lock()
	defer r.registry.mu.Unlock()
	if t := r.registry.tenures[key]; t != nil && t.driven {
		return t.run
	}
	return nil
}

// Shutdown takes no more runs, has those that are driven here parked, to be resumed, and
// returns when none is left: their model calls under way end first, unless ctx does,
// which gives them up, and hooks are told of all that they did. The log can be closed then. Twice is fine. The error is that of a
// store which could not take in how a run was parked.
//
// From then on what would begin or take up a run fails with [ErrShutDown]; a batch that
// is under way stops for that, too.
func (r *Runner) Shutdown(ctx context.Context) error {
	r.registry.park(suspend)
	defer context.AfterFunc(ctx, func() { r.registry.park(halt) })()
	r.registry.ending.Wait()
	r.hooks.wait(ctx)
	r.registry.mu.Lock()
	defer r.registry.mu.Unlock()
	return r.registry.broken
}
