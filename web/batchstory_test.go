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

// tellBatch writes a batch of two calls: all rows but the last few have ended, some of
// them badly, and two cannot be run. The second call goes on.
func tellBatch(t testing.TB, log events.Log, total, rows int) *batchStory {
	t.Helper()
	const atOnce, between = 16, 240 * time.Millisecond
	s := newBatchStory(t, log)
	moment := time.Now().UTC().Add(-time.Duration(rows) * between)
	begun := moment
	start := events.BatchStarted{
		Input: "/data/jobs/questions.jsonl", Output: "/data/jobs/answers.jsonl", Team: "trip", Models: []string{"sim/large", "sim/small"}, Rows: total,
		Concurrency: atOnce, MaxCostUSD: 1.5, Simulated: true, Owner: "host:1",
	}
	s.then(moment, start,
		events.BatchRowRejected{Row: rowID(7), Index: 7, Line: 8, Code: "invalid_row", Message: `"request" is missing or empty`},
		events.BatchRowRejected{Row: rowID(99), Index: 99, Line: 100, Code: "invalid_row", Message: "column 17: the JSON ends too early"},
	)
	var under []int
	open := map[int]*script{}
	for i := range rows {
		if i == 7 || i == 99 {
			continue
		}
		moment = moment.Add(between/2 + time.Duration(i*7919%240)*time.Millisecond)
		open[i] = s.begin(moment, i, fmt.Sprintf("Plan three days in %s for two people who walk a lot and eat no meat", cities[i%len(cities)]))
		if under = append(under, i); len(under) > atOnce {
			at := i * 31 % len(under)
			row := under[at]
			under = append(under[:at:at], under[at+1:]...)
			status, code, reason := howItEnded(row)
			s.end(open[row], moment, row, status, code, reason)
		}
		if i%8 == 0 {
			s.then(moment, events.BatchProgress{BatchFigures: s.busy(moment, moment.Sub(begun), total, under, open)})
		}
		if i == rows/2 {
			begun = moment
			s.then(moment, events.BatchEnded{BatchFigures: s.now(moment.Sub(begun)+time.Second, total), Status: events.StatusSuspended, Reason: "interrupted", Left: total - s.figures.Done})
			start.Resumed, start.Owner = true, "host:2"
			s.then(moment.Add(time.Second), start)
		}
	}
	return s
}

var cities = []string{"Kyoto", "Nara", "Osaka", "Kanazawa", "Matsumoto", "Takayama", "Hiroshima"}

// howItEnded has one row in twelve end badly.
func howItEnded(row int) (status events.Status, code, reason string) {
	switch row % 37 {
	case 3:
		return events.StatusFailed, "rate_limited", "the facilitator could not answer: refused 6 times with 429, the last time after 40 seconds of patience"
	case 20:
		return events.StatusDegraded, "max_tokens", "tasks 3 and 5 stayed open: the limit of tokens was met"
	case 29:
		return events.StatusFailed, "auth", "the endpoint refused the key"
	}
	return events.StatusCompleted, "", ""
}

// busy are the figures of a batch under way, with rows and endpoints.
func (s *batchStory) busy(moment time.Time, elapsed time.Duration, total int, under []int, open map[int]*script) events.BatchFigures {
	f := s.now(elapsed+time.Second, total)
	for _, row := range under[:min(3, len(under))] {
		f.Slowest = append(f.Slowest, events.BatchRowUnderWay{
			Row: rowID(row), Index: row, Run: open[row].run, ElapsedMS: moment.Sub(open[row].moment).Milliseconds(), Doing: "Food writes; Logistics waits to try again: 429 from the endpoint",
		})
	}
	f.Limiters = []events.BatchLimiter{
		{Endpoint: "large", Limit: 32, InFlight: 27, Waiting: 4, RequestsPerMinute: 600, TokensPerMinute: 200_000, HeldBackMS: 40_000}, {Endpoint: "small", Limit: 4, InFlight: 4, Waiting: 9},
	}
	return f
}
