package lifetime

import (
	"context"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/tenants"
)

// sweepEvery is how often what is too old is looked for: ages count days.
const sweepEvery = time.Hour

// Retained gives the rules of a file of tenants, as of a time.
func Retained(file *tenants.File, now time.Time) Rules {
	return Rules{
		Of:     func(tenant events.TenantID) Ages { return ages(file.Of(tenant).Retention, now) },
		Newest: ages(file.Shortest(), now),
	}
}

func ages(kept tenants.Retention, now time.Time) Ages {
	before := func(time time.Duration) (at time.Time) {
		if time > 0 {
			at = now.Add(-time)
		}
		return at
	}
	return Ages{Runs: before(kept.Runs), Conversations: before(kept.Conversations), Batches: before(kept.Batches), SavedState: before(kept.SavedState)}
}

// Sweep prunes by a file of tenants, now and every hour, until ctx ends. told gets what each
// prune removed, and its error, which does not end the sweeping.
func Sweep(ctx context.Context, log events.Log, file *tenants.File, told func(map[events.TenantID]Pruned, error)) {
	ticks := time.NewTicker(sweepEvery)
	defer ticks.Stop()
	for ctx.Err() == nil {
		gone, err := Prune(ctx, log, Retained(file, time.Now()), false)
		if ctx.Err() != nil {
			err = nil
		}
		told(gone, err)
		select {
		case <-ctx.Done():
		case <-ticks.C:
		}
	}
}
