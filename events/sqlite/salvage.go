package sqlite

import (
	"errors"
	"strconv"
	"time"

	"github.com/convene-run/convene/events"
)

// maxSalvaged bounds how many stretches of damaged events of a thread are gone around: each
// takes a look at the whole thread.
const maxSalvaged = 64

// salvage is project that goes on behind what is damaged. A run or batch that the damage is of
// is as of the event before, and says so; one whose beginning is lost is known by its id alone.
// damaged is the first of them, nil where all can be read.
func salvage(c *conn, key events.ThreadKey) (p projection, damaged *events.DamagedError, err error) {
	s := salvaging{key: key}
	for at := (chain{}); s.stretches < maxSalvaged; {
		page, err := readSound(c, key, &at, pageEvents)
		if found := (*events.DamagedError)(nil); errors.As(err, &found) {
			s.meet(found)
			at = chain{seq: max(found.Seq, found.Through)}
			continue
		}
		if err != nil || len(page) == 0 {
			return s.projection, s.first, err
		}
		for _, e := range page {
			s.take(e)
		}
	}
	return s.projection, s.first, nil
}

// salvaging is a salvage under way.
type salvaging struct {
	projection
	key events.ThreadKey
	// first and last are the first and the last damage that was met, nil for none.
	first, last *events.DamagedError
	stretches   int
}

// meet notes damage.
func (s *salvaging) meet(damaged *events.DamagedError) {
	if s.first == nil {
		s.first = damaged
	}
	s.last = damaged
	s.stretches++
	s.mark(damaged)
}

// take folds an event that can be read.
func (s *salvaging) take(e events.Encoded) {
	env, err := events.Decode(e.Body)
	switch {
	case err != nil:
	case s.closed(env):
		return
	default:
		err = s.apply(env)
	}
	if err != nil {
		s.meet(&events.DamagedError{Key: s.key, Seq: e.Seq, Problem: err.Error()})
	}
}

// closed reports whether nothing is to be folded of what the event is of, since events are
// lost. If that began with them, it is added.
func (s *salvaging) closed(env events.Envelope) bool {
	if s.last == nil {
		return false
	}
	kind := env.Data.Kind()
	if env.Run == "" {
		if s.batch == nil && (kind == events.KindBatchProgress || kind == events.KindBatchEnded) {
			s.batch = lostBatch(s.key, s.last)
		}
		return s.batch != nil && s.batch.Damaged != nil
	}
	run := s.run(env.Run)
	if run == nil && kind != events.KindWorkflowStarted {
		run = lostRun(s.key, env.Run, s.last)
		s.runs = append(s.runs, run)
	}
	return run != nil && run.Damaged != nil
}

// lostRun is a run of which the beginning cannot be read.
func lostRun(key events.ThreadKey, id events.RunID, damaged *events.DamagedError) *events.RunSummary {
	start := startOf(id)
	return &events.RunSummary{
		Tenant: key.Tenant, Thread: key.Thread, Run: id, Status: events.StatusRunning, Start: start, Updated: start,
		FirstSeq: damaged.Seq, LastSeq: max(damaged.Seq-1, 0), Damaged: damaged.Note(),
	}
}

// lostBatch is a batch of which the beginning cannot be read.
func lostBatch(key events.ThreadKey, damaged *events.DamagedError) *events.BatchSummary {
	return &events.BatchSummary{
		Tenant: key.Tenant, Batch: events.BatchID(key.Thread), Status: events.StatusRunning,
		LastSeq: max(damaged.Seq-1, 0), Damaged: damaged.Note(),
	}
}

// startOf is when a run began, by its id: the first 48 bits of a UUID version 7 are the
// milliseconds since 1970 (RFC 9562). It is the zero time for an id of another form.
func startOf(id events.RunID) time.Time {
	if len(id) != 36 || id[8] != '-' || id[14] != '7' {
		return time.Time{}
	}
	ms, err := strconv.ParseInt(string(id[:8]+id[9:13]), 16, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// salvageRun gives the run that a damaged row was of, from the events of the thread.
func salvageRun(c *conn, row brokenRow) (events.RunSummary, error) {
	key, p, damaged, err := salvageOf(c, row)
	if err != nil {
		return events.RunSummary{}, err
	}
	if run := p.run(events.RunID(row.id)); run != nil {
		return *run, nil
	}
	return *lostRun(key, events.RunID(row.id), damaged), nil
}

// salvageBatch gives the batch that a damaged row was of, from the events of its thread.
func salvageBatch(c *conn, row brokenRow) (events.BatchSummary, error) {
	key, p, damaged, err := salvageOf(c, row)
	if err != nil {
		return events.BatchSummary{}, err
	}
	if p.batch != nil {
		return *p.batch, nil
	}
	return *lostBatch(key, damaged), nil
}

// salvageOf salvages the thread that a damaged row says it is of. Where that has no damaged
// event, or there is none, what is damaged is the row alone.
func salvageOf(c *conn, row brokenRow) (key events.ThreadKey, p projection, damaged *events.DamagedError, err error) {
	key, err = threadKey(c, row.thread)
	if errors.Is(err, ErrDamaged) {
		key, err = events.ThreadKey{Tenant: row.tenant}, nil
	} else if err == nil {
		p, damaged, err = salvage(c, key)
	}
	if damaged == nil {
		damaged = &events.DamagedError{Key: key, Problem: "its row in listings is damaged, and does not say whose it was"}
	}
	return key, p, damaged, err
}
