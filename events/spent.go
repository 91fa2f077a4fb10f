package events

// Spent is what attempts of model calls that failed used together.
type Spent struct {
	Usage Usage `json:"usage"`
	// CostUSD is nil where a model has no known price.
	CostUSD *float64 `json:"cost_usd"`
}

// Plus sums two of them; either may be nil.
func (s *Spent) Plus(more *Spent) *Spent {
	switch {
	case s == nil:
		return more
	case more == nil:
		return s
	}
	return &Spent{Usage: s.Usage.Add(more.Usage), CostUSD: AddCost(s.CostUSD, more.CostUSD)}
}

// AddTo adds what was spent, nil for nothing, to a usage and its cost.
func (s *Spent) AddTo(usage Usage, costUSD *float64) (Usage, *float64) {
	if s == nil {
		return usage, costUSD
	}
	return usage.Add(s.Usage), AddCost(costUSD, s.CostUSD)
}

// LostIn gives what failed attempts used of the model call that an event closes, nil
// for nothing: it was paid for, though it got no reply.
func LostIn(data Event) *Spent {
	switch e := data.(type) {
	case ModelCalled:
		return e.Lost
	case ModelCallFailed:
		return e.Lost
	case AgentFinished:
		return e.Lost
	case Error:
		return e.Lost
	}
	return nil
}
