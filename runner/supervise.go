package runner

import (
	"context"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/thread"
)

// supervisionTimeout bounds what a supervisor takes: the user's next message waits for it.
const supervisionTimeout = 2 * time.Minute

// answered ends the run behind its answer, or has the supervisor read the exchange first.
func (r *Run) answered(tx *thread.Tx) {
	if !specialists.Supervise(tx, &r.plan.config.Team) {
		facilitator.Finish(tx, facilitator.Ending{})
	}
}

// supervised drives the supervisor of a run that has its answer, and then ends the run. What
// becomes of the supervisor changes nothing of the answer.
func (r *Run) supervised(ctx context.Context, id events.DispatchID, dispatcher loop.Dispatcher) error {
	if err := dispatcher.Dispatch(ctx, id, supervisionTimeout); err != nil {
		return err
	}
	return r.journal.Do(func(tx *thread.Tx) {
		switch {
		case tx.Run.Status.Over():
		case tx.Run.Cancelled:
			facilitator.Cancel(tx, "")
		default:
			facilitator.Finish(tx, facilitator.Ending{})
		}
	})
}
