package audit

import (
	"context"
	"errors"
	"slices"

	"github.com/convene-run/convene/events"
)

// Tell gives the entry of one event, as [Read] gives it; ok is false where it tells of nothing.
// What the event does not say itself is looked up in the log.
func Tell(ctx context.Context, log Log, env events.Envelope) (entry Entry, ok bool, err error) {
	if !slices.Contains(kinds, env.Data.Kind()) {
		return entry, false, nil
	}
	f := newFold("")
	if env.Run != "" {
		run, err := log.FindRun(ctx, env.Tenant, string(env.Run))
		if err != nil && !errors.Is(err, events.ErrNotFound) {
			return entry, false, err
		}
		f.owner = run.UserID
	}
	if refersBack(env.Data) {
		before, err := log.Read(ctx, env.Key(), 0, 0, events.KindWorkflowStarted, events.KindInputRequested)
		if err != nil {
			return entry, false, err
		}
		for _, earlier := range before {
			f.entry(earlier)
		}
	}
	entry, ok = f.entry(env)
	return entry, ok, nil
}

// refersBack reports whether earlier events say more of an event: what was approved, and where a
// forked run comes from.
func refersBack(event events.Event) bool {
	switch d := event.(type) {
	case events.UserMessage:
		return d.Approval != nil
	case events.RunResumed:
		return true
	}
	return false
}
