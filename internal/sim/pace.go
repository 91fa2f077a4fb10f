package sim

import (
	"context"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// pacer waits for absolute deadlines, however late the chunks before were: chunk i
// is due at start + first + i*per, and later by what the chunks up to it are slowed.
type pacer struct {
	start time.Time
	first time.Duration
	per   time.Duration
	// slowed is how much later than by the even pace each chunk is due, nil for none.
	slowed []time.Duration
	timer  *time.Timer
}

// pace gives the pacer of a reply.
func (m *Model) pace(start time.Time, req llm.Request, reply events.Reply, cut []chunk) *pacer {
	p := &pacer{start: start, first: m.options.FirstToken, per: m.options.PerChunk}
	if m.options.SlowDispatch <= 1 {
		return p
	}
	if nth := workerNumber(req); nth > 1 {
		p.first, p.per = p.first/time.Duration(nth), p.per/time.Duration(nth)
	}
	slow := p.per * time.Duration(m.options.SlowDispatch-1)
	var late time.Duration
	for _, c := range cut {
		if c.fragment != "" && strings.HasPrefix(reply.ToolCalls[c.call].Name, dispatchPrefix) {
			late += slow
		}
		p.slowed = append(p.slowed, late)
	}
	return p
}

// workerNumber says the how many-th specialist of the plan a request is of, by its
// first task; 0 for the facilitator.
func workerNumber(req llm.Request) int {
	for _, tool := range req.Tools {
		if tool.Name == toolCreateTasks {
			return 0
		}
	}
	for _, m := range req.Messages {
		if ids := parseAssigned(m.Content); m.Role == events.RoleUser && len(ids) > 0 {
			return (ids[0]-1)/tasksPerSpecialist + 1
		}
	}
	return 0
}

// due gives the time of chunk i since the start.
func (p *pacer) due(i int) time.Duration {
	due := p.first + time.Duration(i)*p.per
	if i < len(p.slowed) {
		due += p.slowed[i]
	}
	return due
}

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
