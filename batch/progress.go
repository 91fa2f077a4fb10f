package batch

import (
	"cmp"
	"slices"
	"time"

	"github.com/convene-run/convene/agent"
)

// Progress is where a batch stands at one moment.
type Progress struct {
	// Total is the number of rows, 0 where nobody knows. Done counts those with an
	// output, the failed and degraded among them.
	Total    int `json:"total"`
	Done     int `json:"done"`
	Failed   int `json:"failed"`
	Degraded int `json:"degraded"`
	Running  int `json:"running"`
	// RowsPerSecond is of this call of the batch.
	RowsPerSecond float64 `json:"rows_per_second"`
	// Elapsed is of this call; Left is how long the rest will take at this rate, 0 where
	// that is unknown.
	Elapsed time.Duration `json:"-"`
	Left    time.Duration `json:"-"`
	// Tokens and CostUSD are spent so far, by rows under way too; ProjectedUSD is what
	// all rows will cost if the others are like those done, 0 where that is unknown.
	Tokens       int64   `json:"tokens"`
	CostUSD      float64 `json:"cost_usd"`
	ProjectedUSD float64 `json:"projected_cost_usd"`
	// Slowest are the rows that have been under way for longest.
	Slowest []RowProgress `json:"slowest"`
	// Stop is set once no more rows are started.
	Stop *Stop `json:"stop,omitempty"`
}

// RowProgress is a row under way.
type RowProgress struct {
	ID      string        `json:"id"`
	Index   int           `json:"index"`
	Elapsed time.Duration `json:"-"`
	// Agents are what its agents do.
	Agents []AgentProgress `json:"agents"`
}

// AgentProgress is what an agent of a row does.
type AgentProgress struct {
	Name  string      `json:"name"`
	Phase agent.Phase `json:"phase"`
	// Reason is why it waits to try again, where it does.
	Reason string `json:"reason,omitempty"`
}

// slowestShown is how many rows under way a progress names.
const slowestShown = 3

// Progress tells where the batch stands.
func (b *Batch) Progress() Progress {
	b.mu.Lock()
	now := time.Now()
	r := &b.tally.report
	p := Progress{
		Total: b.config.Total, Done: r.Rows, Failed: r.Failed, Degraded: r.Degraded,
		Running: len(b.active), Stop: b.stop,
	}
	if !b.begun.IsZero() {
		p.Elapsed = now.Sub(b.begun)
	}
	if p.Elapsed > 0 {
		p.RowsPerSecond = float64(b.written) / p.Elapsed.Seconds()
	}
	if r.CostUSD != nil && p.Done > 0 {
		p.ProjectedUSD = *r.CostUSD / float64(p.Done) * float64(p.Total)
	}
	slowest := b.slowest()
	b.mu.Unlock()

	p.Tokens, p.CostUSD = b.budget.Spent()
	if p.RowsPerSecond > 0 && p.Total > p.Done {
		p.Left = time.Duration(float64(p.Total-p.Done) / p.RowsPerSecond * float64(time.Second))
	}
	for _, a := range slowest {
		p.Slowest = append(p.Slowest, a.progress(now))
	}
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

func (a *active) progress(now time.Time) RowProgress {
	p := RowProgress{ID: a.row.ID, Index: a.row.Index, Elapsed: now.Sub(a.since)}
	for _, live := range a.run.Live() {
		state := live.State()
		p.Agents = append(p.Agents, AgentProgress{Name: live.DisplayName, Phase: state.Phase, Reason: state.RetryReason})
	}
	return p
}
