package batch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
)

// Progress is where a batch stands at one moment.
type Progress struct {
	// Total is the number of rows, 0 where nobody knows.
	Total int `json:"total"`
	events.BatchFigures
	// Stop is set once no more rows are started.
	Stop *StopReason `json:"stop,omitempty"`
}

const (
	// slowestShown is how many rows under way a progress names.
	slowestShown = 3
	// causesShown and causeChars bound what a progress says of failures: it is written
	// down every few seconds. The output has every message whole.
	causesShown = 20
	causeChars  = 300
)

// Progress tells where the batch stands.
func (b *Batch) Progress() Progress {
	b.mu.Lock()
	now := time.Now()
	r := &b.tally.report
	p := Progress{Total: b.config.Total, Stop: b.stop, BatchFigures: events.BatchFigures{
		Done: r.Rows, Completed: r.Completed, Degraded: r.Degraded, Failed: r.Failed, Running: len(b.active),
		Causes: b.tally.shown(),
	}}
	if r.Usage.InputTokens > 0 {
		p.UncachedInputShare = r.Usage.UncachedShare()
	}
	elapsed := time.Duration(0)
	if !b.begun.IsZero() {
		elapsed = now.Sub(b.begun)
	}
	if elapsed > 0 {
		p.RowsPerSecond = float64(b.written) / elapsed.Seconds()
	}
	priced := r.CostUSD != nil
	if priced && p.Done > 0 {
		p.ProjectedUSD = *r.CostUSD / float64(p.Done) * float64(p.Total)
	}
	p.Outages, p.Held = b.outages(now), b.away.held
	slowest := b.slowest()
	b.mu.Unlock()

	tokens, costUSD := b.budget.Spent()
	p.ElapsedMS, p.Tokens = elapsed.Milliseconds(), tokens
	if priced {
		p.CostUSD = &costUSD
	}
	if p.RowsPerSecond > 0 && p.Total > p.Done {
		p.LeftMS = int64(float64(p.Total-p.Done) / p.RowsPerSecond * 1000)
	}
	for _, a := range slowest {
		p.Slowest = append(p.Slowest, a.progress(now))
	}
	p.Limiters = b.limiters(now)
	return p
}

// slowest gives the rows that have been under way for longest. The caller holds mu.
func (b *Batch) slowest() []*active {
	all := make([]*active, 0, len(b.active))
	for _, a := range b.active {
		all = append(all, a)
	}
	slices.SortFunc(all, func(x, y *active) int {
		return cmp.Or(x.since.Compare(y.since), cmp.Compare(x.row.Index, y.row.Index))
	})
	return all[:min(len(all), slowestShown)]
}

func (b *Batch) limiters(now time.Time) (all []events.BatchLimiter) {
	if b.config.Limiters == nil {
		return nil
	}
	for _, s := range b.config.Limiters() {
		all = append(all, s.At(now))
	}
	return all
}

// shown gives the commonest causes, as they are written down.
func (t *tally) shown() (causes []events.BatchCause) {
	for _, c := range t.ranking()[:min(len(t.causes), causesShown)] {
		causes = append(causes, events.BatchCause{
			Code: c.Kind, Status: c.Status, Count: c.Count, Row: c.ID, Line: c.Line, Run: c.RunID, Message: chars.Clip(c.Message, causeChars),
		})
	}
	return causes
}

func (a *active) progress(now time.Time) events.BatchRowUnderWay {
	return events.BatchRowUnderWay{
		Row: a.row.ID, Index: a.row.Index, Line: a.row.nameLine(), Run: a.run.ID(), ElapsedMS: now.Sub(a.since).Milliseconds(), Doing: doing(a.run.Live()),
	}
}

// phases are what agents do, in words.
var phases = map[agent.Phase]string{
	agent.PhaseQueued: "waiting for slot", agent.PhaseWaiting: "waiting for first token", agent.PhaseThinking: "thinking",
	agent.PhaseWriting: "writing", agent.PhaseRetrying: "waiting to try again", agent.PhaseAway: "waiting for the endpoint", agent.PhaseTools: "using tools",
}

// doing says what the agents of a run do.
func doing(lives []*agent.Live) string {
	var words []string
	for _, live := range lives {
		state := live.State()
		word, known := phases[state.Phase]
		switch {
		case !known:
			continue
		case state.Phase == agent.PhaseTools && live.Dispatch == "" && len(lives) > 1:
			word = "waiting for specialists"
		case state.RetryReason != "":
			word += " (" + chars.Clip(state.RetryReason, causeChars) + ")"
		}
		words = append(words, fmt.Sprintf("%s %s", live.DisplayName, word))
	}
	return strings.Join(words, ", ")
}
