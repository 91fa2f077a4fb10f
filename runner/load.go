package runner

import (
	"maps"

	"github.com/convene-run/convene/events"
)

// Load is what this process does for a tenant.
type Load struct {
	// Runs are those that it drives now.
	Runs int
	// ModelCalls are those that were answered since the runner was made; Amount is what they
	// used, with what failed calls were charged for.
	ModelCalls int64
	Amount
}

// Loads gives what this process does for each tenant for which it has done something.
func (r *Runner) Loads() map[events.TenantID]Load {
	r.mu.Lock()
	all := maps.Clone(r.loads)
	r.mu.Unlock()
	r.quotas.mu.Lock()
	defer r.quotas.mu.Unlock()
	for tenant, runs := range r.quotas.places {
		load := all[tenant]
		load.Runs = runs
		all[tenant] = load
	}
	return all
}

// loaded counts what an event says was used; r.mu is held.
func (r *Runner) loaded(env events.Envelope) {
	_, answered := env.Data.(events.ModelCalled)
	used := usedIn(env.Data)
	if !answered && used == (Amount{}) {
		return
	}
	load := r.loads[env.Tenant]
	load.add(used)
	if answered {
		load.ModelCalls++
	}
	r.loads[env.Tenant] = load
}
