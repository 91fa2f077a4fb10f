package sim

import "time"

// RunReport is one run as the server saw it.
type RunReport struct {
	Run   string `json:"run"`
	Calls int    `json:"calls"`
	// Conversations counts the agents that took part, each dispatch for itself.
	Conversations int `json:"conversations"`
	// ElapsedMS is from the first request's arrival to the last chunk of the run.
	ElapsedMS float64 `json:"elapsed_ms"`
	// CriticalPathMS is the shortest time that the model's pace allows a client that
	// waits for the end of a dispatching turn: the facilitator's turns, and after each
	// the slowest of the specialists it dispatched.
	CriticalPathMS float64 `json:"critical_path_ms"`
	// EarlyCriticalPathMS is the same for a perfect client, which starts a specialist
	// at the instant its own call has streamed whole.
	EarlyCriticalPathMS float64 `json:"early_critical_path_ms"`
}

// runPath collects the planned times of one run.
type runPath struct {
	report      RunReport
	first, last float64 // ms
	turns       []*Record
	spent       map[*conversation]time.Duration // by dispatched specialists
}

// runs computes the runs in order of their first request.
func (l *ledger) runs() []RunReport {
	paths := map[string]*runPath{}
	order := []*runPath{}
	for _, r := range l.records {
		if r.conversation == nil {
			continue
		}
		p := paths[r.Run]
		if p == nil {
			p = &runPath{first: r.ArrivalMS, spent: map[*conversation]time.Duration{}}
			p.report.Run = r.Run
			paths[r.Run], order = p, append(order, p)
		}
		p.add(r)
	}
	reports := make([]RunReport, len(order))
	for i, p := range order {
		reports[i] = p.finish()
	}
	return reports
}

func (p *runPath) add(r *Record) {
	p.report.Calls++
	p.last = max(p.last, r.ArrivalMS+r.LastChunkMS)
	if r.conversation.parent == nil {
		p.turns = append(p.turns, r)
		return
	}
	if _, known := p.spent[r.conversation]; !known || r.Whole {
		planned := r.planned
		if !r.Whole {
			planned = 0
		}
		p.spent[r.conversation] += planned
	}
}

func (p *runPath) finish() RunReport {
	waits, early := map[*Record]time.Duration{}, map[*Record]time.Duration{}
	agents := map[*conversation]bool{}
	for c, spent := range p.spent {
		waits[c.parent] = max(waits[c.parent], spent)
		early[c.parent] = max(early[c.parent], c.due+spent)
	}
	var path, earlyPath time.Duration
	for _, turn := range p.turns {
		agents[turn.conversation] = true
		wait, dispatching := waits[turn]
		if !turn.Whole && !dispatching {
			continue
		}
		path += turn.planned + wait
		earlyPath += max(turn.planned, early[turn])
	}
	p.report.Conversations = len(agents) + len(p.spent)
	p.report.ElapsedMS = p.last - p.first
	p.report.CriticalPathMS, p.report.EarlyCriticalPathMS = milliseconds(path), milliseconds(earlyPath)
	return p.report
}
