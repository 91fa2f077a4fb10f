package web_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
)

// batchStory writes a batch as its process would: the events of the batch, and the
// runs of its rows, whose ids sort as the rows do.
type batchStory struct {
	*script
	id      events.BatchID
	figures events.BatchFigures
	cost    float64
	causes  map[string]*events.BatchCause
}

// newBatchStory takes the thread of a new batch.
func newBatchStory(t testing.TB, log events.Log) *batchStory {
	t.Helper()
	id := events.BatchID(uuid.NewString())
	s := &script{t: t, log: log, key: events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(id)}}
	var err error
	s.epoch, err = log.Claim(t.Context(), s.key, "host:1", false)
	require.NoError(t, err)
	return &batchStory{script: s, id: id, causes: map[string]*events.BatchCause{}}
}

// then adds events of that moment.
func (s *batchStory) then(moment time.Time, facts ...events.Event) {
	s.t.Helper()
	s.moment = moment
	s.add(facts...)
}

func rowID(index int) string { return fmt.Sprintf("q-%d", index) }

func (s *batchStory) runID(index int) events.RunID {
	return events.RunID(fmt.Sprintf("%s-%08d", s.id, index))
}

// begin starts the run of a row.
func (s *batchStory) begin(moment time.Time, index int, request string) *script {
	s.t.Helper()
	run := &script{t: s.t, log: s.log, run: s.runID(index), key: events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(s.runID(index))}, moment: moment}
	var err error
	run.epoch, err = s.log.Claim(s.t.Context(), run.key, "host:1", false)
	require.NoError(s.t, err)
	run.add(events.WorkflowStarted{
		Message: request, Team: "trip", Simulated: true, Batch: &events.BatchRow{Batch: s.id, Row: rowID(index), Index: index},
		Agents: []events.AgentCard{{ID: events.FacilitatorID, DisplayName: "Facilitator", Models: []string{"sim/sim"}}},
	})
	s.figures.Running++
	return run
}

// end ends the run of a row, and counts it.
func (s *batchStory) end(run *script, moment time.Time, index int, status events.Status, code, reason string) {
	s.t.Helper()
	run.moment = moment
	cost := 0.0021
	facts := []events.Event{events.ModelCalled{ID: "f.1", Model: "sim", Usage: events.Usage{InputTokens: 1900, OutputTokens: 320}, CostUSD: &cost}}
	if status != events.StatusFailed {
		facts = append(facts, events.FinalAnswer{Content: fmt.Sprintf("Three days are enough: the answer to row %d says how, and what it costs.", index)})
	}
	run.add(append(facts, events.WorkflowFinished{Status: status, Reason: reason, CostUSD: &cost})...)
	f := &s.figures
	f.Running--
	f.Done++
	s.cost += cost
	f.Tokens += 2220
	switch status {
	case events.StatusFailed:
		f.Failed++
	case events.StatusDegraded:
		f.Degraded++
	default:
		f.Completed++
		return
	}
	cause := s.causes[code]
	if cause == nil {
		cause = &events.BatchCause{Code: code, Status: status, Row: rowID(index), Run: run.run, Message: reason}
		s.causes[code] = cause
	}
	cause.Count++
}

// now gives the figures, so long after the beginning of the call.
func (s *batchStory) now(elapsed time.Duration, rows int) events.BatchFigures {
	f := s.figures
	cost := s.cost
	f.CostUSD, f.ElapsedMS, f.Causes = &cost, elapsed.Milliseconds(), nil
	if f.Done > 0 {
		f.RowsPerSecond = float64(f.Done) / elapsed.Seconds()
		f.LeftMS = int64(float64(rows-f.Done) / f.RowsPerSecond * 1000)
		f.ProjectedUSD = cost / float64(f.Done) * float64(rows)
	}
	for _, code := range []string{"rate_limited", "max_tokens", "auth", "timeout"} {
		if cause := s.causes[code]; cause != nil {
			f.Causes = append(f.Causes, *cause)
		}
	}
	return f
}
