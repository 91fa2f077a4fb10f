package batch

import (
	"cmp"
	"slices"
	"time"

	"github.com/convene-run/convene/events"
)

// Report is what a batch came to so far, earlier calls of it included.
type Report struct {
	// Rows counts the rows that have an output; it is the sum of the three below.
	Rows      int `json:"rows"`
	Completed int `json:"completed"`
	Degraded  int `json:"degraded"`
	Failed    int `json:"failed"`
	// Left counts the rows that have none yet; -1 where nobody knows.
	Left int `json:"left"`
	// Suspended counts the runs that were under way when the batch stopped.
	Suspended int `json:"suspended"`
	// Usage, CostUSD and ModelCalls are of all rows, those included that have no output
	// yet.
	Usage events.Usage `json:"usage"`
	// CostUSD is nil where a model has no known price.
	CostUSD    *float64 `json:"cost_usd"`
	ModelCalls int      `json:"model_calls"`
	// Simulated is set where answers come from the simulated model.
	Simulated bool `json:"simulated,omitempty"`
	// Elapsed is of this call alone.
	Elapsed time.Duration `json:"-"`
	// Slowest and MostExpensive are the rows that took the most time and cost the most, in
	// descending order.
	Slowest       []RowFigure `json:"slowest"`
	MostExpensive []RowFigure `json:"most_expensive"`
	// Causes are the failures and degradations by kind, the commonest first.
	Causes []Cause `json:"causes"`
	// Stop says why the batch stopped before its last row, nil if it did not.
	Stop *StopReason `json:"stop,omitempty"`
}

// RowFigure is a row with what it took.
type RowFigure struct {
	ID    string `json:"id"`
	Index int    `json:"index"`
	// Line is that of [Output].
	Line       int          `json:"line,omitempty"`
	RunID      events.RunID `json:"run_id,omitempty"`
	DurationMS int64        `json:"duration_ms"`
	CostUSD    float64      `json:"cost_usd"`
}

// Cause is one kind of failure.
type Cause struct {
	Kind   string        `json:"kind"`
	Status events.Status `json:"status"`
	Count  int           `json:"count"`
	// ID, Line, RunID and Message are of the first row that it happened to; Line is that of
	// [Output], RunID is empty where the row never had a run.
	ID      string       `json:"id"`
	Line    int          `json:"line,omitempty"`
	RunID   events.RunID `json:"run_id,omitempty"`
	Message string       `json:"message"`
}

// StopKind is why a batch stopped before its last row.
type StopKind string

// The kinds of stop.
const (
	StopInterrupted StopKind = "interrupted"
	StopFailures    StopKind = "max_failures"
	StopBudget      StopKind = "budget"
	StopTimeout     StopKind = "timeout"
	StopEndpoint    StopKind = "endpoint" // one could not be used, and rows were parked
	StopInput       StopKind = "input"    // rows wait for a person; all others have ended
	StopBroken      StopKind = "broken"   // input, output or store failed
)

// StopReason says why a batch stopped.
type StopReason struct {
	Kind    StopKind `json:"kind"`
	Message string   `json:"message"`
	// Limit is the bound that was met, where that is why, and Suffices one that should do
	// for all rows, by what rows took so far; where none has ended, for more of them.
	Limit    events.Limit `json:"limit,omitempty"`
	Suffices float64      `json:"suffices,omitempty"`
}

const (
	// figuresKept is how many rows a ranking has: those one would look at.
	figuresKept = 5
	// maxCauses bounds the kinds of failure told apart; there are some twenty.
	maxCauses = 100
)

// tally counts outputs. It keeps nothing of single rows but the rankings.
type tally struct {
	report Report
	causes map[string]*Cause
}

func newTally() *tally {
	zero := 0.0
	return &tally{report: Report{CostUSD: &zero}, causes: map[string]*Cause{}}
}

func (t *tally) add(out *Output) {
	r := &t.report
	r.Rows++
	r.Simulated = r.Simulated || out.Simulated
	switch {
	case out.Failed():
		r.Failed++
	case out.Status == events.StatusDegraded:
		r.Degraded++
	default:
		r.Completed++
	}
	t.spend(out.Usage, out.CostUSD, out.ModelCalls)
	if out.RunID != "" {
		t.rank(out)
	}
	if out.Error != nil {
		t.blame(out)
	}
}

// spent is what a row has used.
type spent struct {
	usage   events.Usage
	costUSD *float64
	calls   int
}

// spend counts what belongs to no output that stands.
func (t *tally) spend(usage events.Usage, costUSD *float64, calls int) {
	t.report.spend(usage, costUSD, calls)
}

func (r *Report) spend(usage events.Usage, costUSD *float64, calls int) {
	r.Usage = r.Usage.Add(usage)
	r.CostUSD = events.AddCost(r.CostUSD, costUSD)
	r.ModelCalls += calls
}

func (t *tally) rank(out *Output) {
	figure := RowFigure{ID: out.ID, Index: out.Index, Line: out.Line, RunID: out.RunID, DurationMS: out.DurationMS}
	if out.CostUSD != nil {
		figure.CostUSD = *out.CostUSD
	}
	t.report.Slowest = ranked(t.report.Slowest, figure, func(f RowFigure) float64 { return float64(f.DurationMS) })
	if figure.CostUSD > 0 {
		t.report.MostExpensive = ranked(t.report.MostExpensive, figure, func(f RowFigure) float64 { return f.CostUSD })
	}
}

// ranked puts the figure in its place and drops the last one too many.
func ranked(figures []RowFigure, figure RowFigure, by func(RowFigure) float64) []RowFigure {
	if len(figures) == figuresKept && by(figures[figuresKept-1]) >= by(figure) {
		return figures
	}
	figures = append(figures, figure)
	slices.SortStableFunc(figures, func(a, b RowFigure) int { return cmp.Compare(by(b), by(a)) })
	return figures[:min(len(figures), figuresKept)]
}

func (t *tally) blame(out *Output) {
	key := string(out.Status) + " " + out.Error.Kind
	cause := t.causes[key]
	if cause == nil {
		if len(t.causes) == maxCauses {
			return
		}
		cause = &Cause{Kind: out.Error.Kind, Status: out.Status, ID: out.ID, Line: out.Line, RunID: out.RunID, Message: out.Error.Message}
		t.causes[key] = cause
	}
	cause.Count++
}

// sum gives the report so far; total is the number of rows, 0 if unknown.
func (t *tally) sum(total int) Report {
	r := t.report
	r.Slowest, r.MostExpensive, r.Causes = slices.Clone(r.Slowest), slices.Clone(r.MostExpensive), t.ranking()
	r.Left = -1
	if total > 0 {
		r.Left = total - r.Rows
	}
	return r
}

// ranking gives the causes, the commonest first.
func (t *tally) ranking() (causes []Cause) {
	for _, cause := range t.causes {
		causes = append(causes, *cause)
	}
	slices.SortFunc(causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Status, b.Status))
	})
	return causes
}
