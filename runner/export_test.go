package runner

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// RecordCancelled is the first half of [Run.Cancel]: the fact is in the log, and those
// at work have not been stopped yet.
func (r *Run) RecordCancelled(reason string) error {
	return r.journal.Do(func(tx *thread.Tx) { tx.Emit("", "", events.RunCancelled{Reason: reason}) })
}

// State is what the run was driven with.
func (r *Run) State() (th *thread.Thread) {
	_ = r.fold.Known(context.Background(), func(known *thread.Thread) error {
		th = known
		return nil
	})
	return th
}

// WallClock gives the runs of a test a wall clock that can be set, by what it returns,
// while the monotonic clock goes on as it was.
func WallClock(t testing.TB) (step func(by time.Duration)) {
	begun := time.Now()
	var ahead atomic.Int64
	read := func() time.Time {
		moment := time.Now()
		return withMonotonic(moment.Add(time.Duration(ahead.Load())), moment.Sub(begun))
	}
	stepped.Store(&read)
	t.Cleanup(func() { stepped.Store(nil) })
	return func(by time.Duration) { ahead.Add(int64(by)) }
}

// withMonotonic gives a time with both readings, as [time.Now] does outside of synctest:
// in the first word behind a flag the seconds since 1885 and the nanoseconds, in the
// second the monotonic reading.
func withMonotonic(wall time.Time, monotonic time.Duration) (both time.Time) {
	words := (*[2]int64)(unsafe.Pointer(&both))
	since1885 := wall.Unix() - time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	words[0] = math.MinInt64 | since1885<<30 | int64(wall.Nanosecond())
	words[1] = int64(monotonic) + 1
	return both
}

// HasPlan reports whether there is a plan of a team that equals what it was.
func (r *Runner) HasPlan(t *team.Team) bool { return r.equalPlan(planKey{team: t}) != nil }
