package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/tenants"
	"github.com/convene-run/convene/thread"
)

const (
	// lookPage is how many threads are looked through at once at the start: few listings,
	// little memory. maxWaiting bounds those that are looked after at once: nothing is read
	// any further then.
	lookPage, maxWaiting = 1000, 1000
	// maxParked bounds the runs that are kept in mind until their tenants may use more.
	maxParked = 100_000
	// takeUpBookmark is how far a log was read for messages that wait.
	takeUpBookmark = "take-up"
)

// TakeUp answers what waits in threads that nobody drives, as [Runner.Send] would: messages
// that are queued, and answers to what was asked; and it goes on with runs that were parked
// because their tenant had used what it may use in a day. It looks through all threads, the newest
// first, and meanwhile follows the log; it takes up a thread once whoever holds it has given it
// back or is gone. While most runs are driven here, further threads wait. stalled is told of those that
// cannot be taken up; they wait for their next message.
//
// It returns nil once the runner is shut down or ctx ends, and with ctx end the runs that it
// took up. The error is the log's.
func (r *Runner) TakeUp(ctx context.Context, most int, stalled func(events.ThreadKey, error)) error {
	following, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(r.registry.closing, stop)()
	w := &waiting{runner: r, most: most, stalled: stalled, found: make(chan found), threads: map[events.ThreadKey]found{}, parked: map[events.ThreadKey]quotaMet{}}
	group, following := errgroup.WithContext(following)
	group.Go(func() error { return w.look(following) })
	group.Go(func() error { return w.follow(following) })
	group.Go(func() error { return w.answer(ctx, following) })
	if err := group.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// waiting looks after threads in which something may wait.
type waiting struct {
	runner  *Runner
	most    int
	stalled func(events.ThreadKey, error)
	found   chan found
	// threads are those that are looked after, with the newest of what was found there.
	threads map[events.ThreadKey]found
	// parked are those whose newest run the tenant's quota keeps back.
	parked map[events.ThreadKey]quotaMet
	// place is how far the log was read, kept the newest bookmark.
	place, kept events.Cursor
}

// found is a message that may wait. Its cursor is "" where it was found by looking through
// the threads, and it has no message then.
type found struct {
	key     events.ThreadKey
	seq     events.Seq
	message events.UserMessage
	// parked is set in place of a message where a run was parked.
	parked *quotaMet
	cursor events.Cursor
}

// quotaMet is the quota that a run met, if it was parked for one: there is room for it again on
// another day, or once the limits have changed.
type quotaMet struct {
	limit  events.Limit
	day    time.Time
	limits tenants.Limits
}

// follow finds what was sent since this was done last, and what is sent from now on.
func (w *waiting) follow(ctx context.Context) error {
	log := w.runner.config.Log
	place, err := log.Bookmark(ctx, takeUpBookmark)
	for err == nil {
		for item, failure := range log.Tail(ctx, events.TailFilter{Kinds: []events.Kind{events.KindUserMessage, events.KindRunSuspended}}, place) {
			place = item.Cursor
			var damaged *events.DamagedError
			if errors.As(failure, &damaged) {
				break // whoever reads that thread is told; the others go on
			}
			if err = failure; err != nil {
				break
			}
			f := found{key: item.Envelope.Key(), seq: item.Envelope.Seq, cursor: item.Cursor}
			if parked, ok := item.Envelope.Data.(events.RunSuspended); ok {
				f.parked = &quotaMet{parked.Limit, midnight(item.Envelope.Time), w.runner.quotas.of(f.key.Tenant)}
			} else {
				f.message, _ = item.Envelope.Data.(events.UserMessage)
			}
			if err = w.tell(ctx, f); err != nil {
				break
			}
		}
	}
	return err
}

func (w *waiting) tell(ctx context.Context, f found) error {
	select {
	case w.found <- f:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// look finds the threads in which something waits already.
func (w *waiting) look(ctx context.Context) error {
	query := events.RunQuery{Threads: true, Limit: lookPage}
	for {
		runs, err := w.runner.config.Log.Runs(ctx, query)
		if err != nil {
			return err
		}
		for _, run := range runs {
			if err := w.lookInto(ctx, run); err != nil {
				return err
			}
		}
		if len(runs) < lookPage {
			return nil
		}
		query.Before = runs[len(runs)-1].Run
	}
}

// lookInto tells of the thread whose newest run is given if something waits in it.
func (w *waiting) lookInto(ctx context.Context, run events.RunSummary) error {
	key := events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread}
	if run.Status == events.StatusSuspended && run.Limit != "" {
		return w.tell(ctx, found{key: key, parked: &quotaMet{limit: run.Limit, day: midnight(run.Updated)}})
	}
	waits, err := w.waits(ctx, key, run)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		w.stalled(key, err)
	case waits:
		return w.tell(ctx, found{key: key})
	}
	return nil
}

// waits reports whether something waits in the thread whose newest run is given. Most have
// nothing, which the messages alone tell.
func (w *waiting) waits(ctx context.Context, key events.ThreadKey, run events.RunSummary) (bool, error) {
	envs, err := w.runner.config.Log.Read(ctx, key, 0, 0, events.KindUserMessage, events.KindWorkflowStarted)
	if err != nil {
		return false, err
	}
	queued, answered := map[events.MessageID]bool{}, false
	for _, env := range envs {
		switch e := env.Data.(type) {
		case events.UserMessage:
			if env.Run == "" && e.Delivery == events.DeliveryQueue {
				queued[e.MessageID] = true
			}
			answered = answered || e.InputID != "" && env.Run == run.Run && run.Status == events.StatusAwaitingInput
		case events.WorkflowStarted:
			delete(queued, e.MessageID)
		}
	}
	if len(queued) == 0 && !answered {
		return false, nil
	}
	waits := false
	err = w.runner.kept.Use(ctx, key, func(th *thread.Thread) error {
		waits = len(th.Queue()) > 0 || th.Current() != nil && th.Current().Answered()
		return nil
	})
	return waits, err
}

// answer takes up what was found, until following ends.
func (w *waiting) answer(ctx, following context.Context) error {
	ticker := time.NewTicker(attendInterval)
	defer ticker.Stop()
	for {
		in := w.found
		if len(w.threads) >= maxWaiting {
			in = nil
		}
		select {
		case <-following.Done():
			return following.Err()
		case f := <-in:
			w.note(f)
		case <-ticker.C:
			if err := w.takeUp(ctx); err != nil {
				return err
			}
		}
	}
}

func (w *waiting) note(f found) {
	if f.cursor != "" {
		w.place = f.cursor
	}
	if f.parked != nil {
		w.notePark(f.key, *f.parked)
		return
	}
	if f.cursor == "" || f.message.Delivery == events.DeliveryQueue || f.message.Delivery == events.DeliveryAnswer {
		w.threads[f.key] = f
	}
}

// notePark keeps a run in mind that a quota of the day keeps back; one that was parked since
// for another reason is left to whoever did.
func (w *waiting) notePark(key events.ThreadKey, met quotaMet) {
	switch {
	case met.limit == "":
		delete(w.parked, key)
	case len(w.parked) < maxParked: // the others are found at the next start
		w.parked[key] = met
	}
}

// goOn takes up the runs whose tenants may use more again.
func (w *waiting) goOn(ctx context.Context) {
	full, today := map[events.TenantID]bool{}, midnight(time.Now())
	for key, met := range w.parked {
		if len(w.runner.Runs()) >= w.most {
			return
		}
		if met.day.Equal(today) && met.limits == w.runner.quotas.of(key.Tenant) {
			continue
		}
		if _, asked := full[key.Tenant]; !asked {
			full[key.Tenant] = w.runner.quotas.full(ctx, key.Tenant) != nil
		}
		if full[key.Tenant] {
			continue
		}
		_, err := w.runner.carryOn(ctx, key, Terms{}, nil)
		switch {
		case errors.Is(err, ErrQuota):
			full[key.Tenant] = true
			continue
		case errors.Is(err, events.ErrHeld) && w.runner.Driven(key) == nil:
			continue
		case err != nil && !errors.Is(err, ErrShutDown) && !errors.Is(err, events.ErrHeld):
			w.stalled(key, err)
		}
		delete(w.parked, key)
	}
}

// takeUp takes up the threads that nobody holds, and keeps the place in the log once none is
// left.
func (w *waiting) takeUp(ctx context.Context) error {
	w.goOn(ctx)
	for key, f := range w.threads {
		if len(w.runner.Runs()) >= w.most {
			return nil
		}
		err := error(nil)
		if w.runner.Driven(key) == nil && !w.taken(ctx, f) { // who drives it here carries on
			_, err = w.runner.carryOn(ctx, key, Terms{}, nil)
		}
		if errors.Is(err, events.ErrHeld) || errors.Is(err, ErrQuota) {
			continue
		}
		delete(w.threads, key)
		if err != nil && !errors.Is(err, ErrShutDown) {
			w.stalled(key, err)
		}
	}
	if len(w.threads) > 0 || w.place == w.kept {
		return nil
	}
	w.kept = w.place
	return w.runner.config.Log.SetBookmark(ctx, takeUpBookmark, w.place)
}

// taken reports whether a message that was queued has its run, and with it all those before
// it: folding its thread takes longer than finding that out.
func (w *waiting) taken(ctx context.Context, f found) bool {
	if f.message.Delivery != events.DeliveryQueue {
		return false
	}
	envs, err := w.runner.config.Log.Read(ctx, f.key, f.seq, 0, events.KindWorkflowStarted)
	return err == nil && slices.ContainsFunc(envs, func(env events.Envelope) bool {
		started, _ := env.Data.(events.WorkflowStarted)
		return started.MessageID == f.message.MessageID
	})
}
