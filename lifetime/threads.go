package lifetime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
)

// ErrNobody is for a user of whom the log has no thread.
var ErrNobody = errors.New("no thread is of this user")

// LiveError says that threads of a user are in use. It is an [events.ErrHeld].
type LiveError struct {
	// Runs are the newest runs of the threads that somebody holds.
	Runs []events.RunID
	// Owner holds the first of them.
	Owner events.Owner
}

func (e *LiveError) Error() string {
	names := make([]string, min(len(e.Runs), liveNamed))
	for i := range names {
		names[i] = string(e.Runs[i])
	}
	more := ""
	if len(e.Runs) > len(names) {
		more = fmt.Sprintf(" and %d more", len(e.Runs)-len(names))
	}
	return fmt.Sprintf("in progress, driven by %s: %s%s. Stop or cancel what is under way, then erase again", e.Owner, strings.Join(names, ", "), more)
}

// liveNamed bounds the runs that an error names.
const liveNamed = 5

// Is makes errors.Is(err, events.ErrHeld) true.
func (e *LiveError) Is(target error) bool { return target == events.ErrHeld }

// page is how many runs, or batches, are listed at once.
const page = 500

// whole is a thread of a user.
type whole struct {
	key    events.ThreadKey
	newest events.RunID
	runs   int
	from   time.Time
}

// threadsOf lists the threads of a user, in the order in which they began.
func threadsOf(ctx context.Context, log events.Index, tenant events.TenantID, user string) (all []*whole, err error) {
	if user == "" {
		return nil, errors.New("name the user: threads of nobody belong to no one")
	}
	known := map[events.ThreadID]*whole{}
	query := events.RunQuery{Tenant: tenant.OrLocal(), UserID: user, OldestFirst: true, Limit: page}
	for {
		runs, err := log.Runs(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			query.After = run.Run
			thread := known[run.Thread]
			if thread == nil {
				thread = &whole{key: events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread}, from: run.Start}
				known[run.Thread], all = thread, append(all, thread)
			}
			thread.runs++
			thread.newest = run.Run
		}
		if len(runs) < page {
			return all, nil
		}
	}
}
