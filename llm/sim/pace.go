package sim

import (
	"context"
	"time"
)

// pacer waits for absolute deadlines: chunk i is due at start + first + i*per,
// however late the chunks before it were.
type pacer struct {
	start time.Time
	first time.Duration
	per   time.Duration
	timer *time.Timer
}

func newPacer(start time.Time, first, per time.Duration) *pacer {
	return &pacer{start: start, first: first, per: per}
}

// due gives the time of chunk i since the start.
func (p *pacer) due(i int) time.Duration { return p.first + time.Duration(i)*p.per }

// wait returns when chunk i is due, or ctx's error if that ends before.
func (p *pacer) wait(ctx context.Context, i int) error {
	return p.until(ctx, p.start.Add(p.due(i)))
}

func (p *pacer) until(ctx context.Context, due time.Time) error {
	left := time.Until(due)
	if left <= 0 {
		return ctx.Err()
	}
	if p.timer == nil {
		p.timer = time.NewTimer(left)
	} else {
		p.timer.Reset(left)
	}
	select {
	case <-p.timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pacer) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}
