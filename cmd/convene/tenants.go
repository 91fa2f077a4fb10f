package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/tenants"
	"github.com/convene-run/convene/web"
)

// tenantsFile opens the file of --tenants, nil where there is none.
func tenantsFile(path string) (*tenants.File, error) {
	if path == "" {
		return nil, nil
	}
	file, err := tenants.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--tenants: %w", err)
	}
	return file, nil
}

// followTenants has changes of the file count until stop is called, and says what is wrong
// with them, and which quotas are below what is in use, now and after each change.
func (a *app) followTenants(ctx context.Context, r *runner.Runner, file *tenants.File) (stop func()) {
	if file == nil {
		return func() {}
	}
	a.sayOver(ctx, r)
	following, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		file.Follow(following, func(err error) {
			if err != nil {
				a.say(termview.Text(err.Error() + "\nwhat the file of tenants said before still holds"))
				return
			}
			a.say("the file of tenants has changed, and holds from now on")
			a.sayOver(following, r)
		})
	}()
	return func() {
		cancel()
		<-ended
	}
}

// sayOver names the quotas that are below what their tenants use.
func (a *app) sayOver(ctx context.Context, r *runner.Runner) {
	over, err := r.Over(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		a.say(termview.Line("note: what the tenants use is not known: " + err.Error()))
	}
	for _, quota := range over {
		a.say(termview.Line("note: " + overQuota(quota)))
	}
}

// overQuota says what becomes of a quota that is below what is in use.
func overQuota(q *runner.QuotaError) string {
	value, used := events.Amount(q.Limit, q.Value), events.Amount(q.Limit, q.Used)
	if q.Limit == events.LimitTenantRuns {
		return fmt.Sprintf("%s runs %s now; %s %s takes effect as they end. Above %s, further ones can begin now", q.Tenant, used, q.Limit, value, used)
	}
	return fmt.Sprintf("%s has used %s today; %s %s holds its runs back until 00:00 UTC. Above %s, they go on now", q.Tenant, used, q.Limit, value, used)
}

// loads tells /metrics what is done here for each tenant.
func loads(r *runner.Runner) func() map[events.TenantID]web.TenantLoad {
	return func() map[events.TenantID]web.TenantLoad {
		all := map[events.TenantID]web.TenantLoad{}
		for tenant, load := range r.Loads() {
			all[tenant] = web.TenantLoad{Runs: load.Runs, ModelCalls: load.ModelCalls, Tokens: load.Tokens, CostUSD: load.CostUSD}
		}
		return all
	}
}
