package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/thread"
)

// desk has a person answer in an agent's place: in the thread that is named, or with
// --continue in the one that has waited longest. Otherwise it lists the threads that wait.
func (a *app) desk(ctx context.Context, d *driver, r *runner.Runner, f *chatFlags) error {
	if f.thread != "" {
		if err := checkThread(f.thread); err != nil {
			return usage(err)
		}
	}
	queue, err := waitingForPerson(ctx, d.log)
	if err != nil {
		return err
	}
	if f.thread == "" && !f.newest {
		return a.printDesk(queue)
	}
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(f.thread)}
	if f.newest {
		if len(queue) == 0 {
			return usage(fmt.Errorf("no conversation in %s waits for a person", a.storePath()))
		}
		key.Thread = queue[0].Thread
	}
	c := &chat{
		app: a, driver: d, runner: r, key: key, desk: true, thread: thread.New(),
		job: runner.Job{Message: &runner.Message{UserID: f.user, ChannelType: channelTerminal, Actor: inChat(f.user)}},
	}
	return c.run(ctx)
}

// waitingForPerson finds the conversations that wait for a person, the one that has waited
// longest first.
func waitingForPerson(ctx context.Context, log events.Index) ([]events.RunSummary, error) {
	runs, err := log.Runs(ctx, events.RunQuery{Tenant: events.LocalTenant, Threads: true})
	slices.Reverse(runs)
	return slices.DeleteFunc(runs, func(run events.RunSummary) bool { return forPerson(run) == nil }), err
}

// forPerson is what a run asks a person to answer in an agent's place, nil if it asks nothing
// of the kind.
func forPerson(run events.RunSummary) *events.Ask {
	for _, ask := range run.Asks {
		if ask.For == events.InputHuman {
			return &ask
		}
	}
	return nil
}

// printDesk lists the conversations that wait for a person.
func (a *app) printDesk(queue []events.RunSummary) error {
	if len(queue) == 0 {
		fmt.Fprintln(a.err, "no conversation waits for a person")
		return nil
	}
	rows := [][]string{{"THREAD", "TEAM", "QUESTION"}}
	for _, run := range queue {
		rows = append(rows, []string{string(run.Thread), termview.Clip(run.Team, 16), termview.Line(forPerson(run).Question)})
	}
	if err := a.printLines(termview.Columns(rows, width(a.out))); err != nil {
		return err
	}
	fmt.Fprintln(a.err, "answer one with: convene chat --as human --thread THREAD, or the first with --continue")
	return nil
}
