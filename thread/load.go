package thread

import (
	"context"
	"fmt"

	"github.com/convene-run/convene/events"
)

// CatchUp folds what the log has behind the state.
func (t *Thread) CatchUp(ctx context.Context, log events.Reader) error {
	for {
		envs, err := log.Read(ctx, t.Key, t.Seq, loadPage)
		if err != nil {
			return fmt.Errorf("read thread %s: %w", t.Key.Thread, err)
		}
		for _, env := range envs {
			if err := t.Apply(env); err != nil {
				return fmt.Errorf("read thread %s: %w", t.Key.Thread, err)
			}
		}
		if len(envs) < loadPage {
			return nil
		}
	}
}

// loadPage is how many events [Load] reads at once: few round trips, little memory.
const loadPage = 512

// Load folds a thread from its log, up to the event with seq through; 0 is all there is.
// A thread without events is that of [New]. One that ends before through, or whose events
// are damaged, is an [*events.DamagedError].
func Load(ctx context.Context, log events.Reader, key events.ThreadKey, through events.Seq) (*Thread, error) {
	th := New()
	for through == 0 || th.Seq < through {
		limit := loadPage
		if through > 0 {
			limit = min(limit, int(through-th.Seq))
		}
		envs, err := log.Read(ctx, key, th.Seq, limit)
		if err != nil {
			return nil, fmt.Errorf("read thread %s: %w", key.Thread, err)
		}
		for _, env := range envs {
			if err := th.Apply(env); err != nil {
				return nil, fmt.Errorf("read thread %s: %w", key.Thread, err)
			}
		}
		switch {
		case len(envs) == limit:
		case through == 0:
			return th, nil
		default:
			return nil, &events.DamagedError{Key: key, Seq: th.Seq + 1, Problem: "the log tells of this event and does not have it"}
		}
	}
	return th, nil
}
