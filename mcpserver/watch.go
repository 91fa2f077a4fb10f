package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

const (
	// heartbeat is how often a caller hears of a run in which nothing happens: well below the
	// minute after which clients give a request up that reports no progress.
	heartbeat = 15 * time.Second
	// watchPage is how many events are read at once.
	watchPage = 256
)

// watched are the kinds of events that a caller who waits hears of.
var watched = []events.Kind{
	events.KindTasksCreated, events.KindAgentStarted, events.KindToolStarted, events.KindAgentFinished,
	events.KindOutageBegan, events.KindOutageEnded, events.KindFinalAnswer, events.KindRunSuspended, events.KindWorkflowFinished,
}

// watcher follows a run for the caller of run_team.
type watcher struct {
	server *Server
	key    events.ThreadKey
	run    events.RunID
	// after is the last event that was looked at.
	after events.Seq
	call  *call
	// said counts the notifications.
	said int
	// named are the names of the agents at work.
	named map[events.DispatchID]string
}

// watch returns nil once the run is over, or nobody drives it any more. Its error may be that
// the caller may hear of it no longer.
func (w *watcher) watch(ctx context.Context) error {
	log := w.server.config.Log
	for {
		page, err := log.Read(ctx, w.key, w.after, watchPage, watched...)
		if err != nil {
			return err
		}
		if err := w.call.still(); err != nil {
			return err
		}
		for _, env := range page {
			w.after = env.Seq
			if env.Run != w.run {
				continue
			}
			if ends(env.Data) {
				return nil
			}
			w.notify(ctx, w.message(ctx, env))
		}
		if len(page) == watchPage {
			continue
		}
		waiting, stop := context.WithTimeout(ctx, heartbeat)
		err = log.Wait(waiting, w.key, w.after, watched...)
		stop()
		switch {
		case err == nil:
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return err
		default:
			if driven, err := w.look(ctx); err != nil || !driven {
				return err
			}
		}
	}
}

// ends reports whether a run that has the event is over, or parked.
func ends(data events.Event) bool {
	switch data.(type) {
	case events.WorkflowFinished, events.RunSuspended:
		return true
	}
	return false
}

// look tells how the run stands in which nothing happens. It is no longer driven where its
// process ended without a word, or could not begin.
func (w *watcher) look(ctx context.Context) (driven bool, err error) {
	if err := w.call.still(); err != nil {
		return false, err
	}
	found, err := w.server.config.Log.FindRun(ctx, w.key.Tenant, string(w.run))
	if err != nil {
		return false, err
	}
	run, err := web.ViewRun(ctx, w.server.config.Log, found)
	if err != nil || run.HeldBy == "" {
		return false, err
	}
	w.notify(ctx, fmt.Sprintf("still at work, %d model calls so far", run.ModelCalls))
	return true, nil
}

// message says in a line what happened.
func (w *watcher) message(ctx context.Context, env events.Envelope) string {
	switch e := env.Data.(type) {
	case events.TasksCreated:
		return fmt.Sprintf("%d tasks planned", len(e.Tasks))
	case events.AgentStarted:
		w.named[env.Dispatch] = e.DisplayName
		return fmt.Sprintf("%s begins", e.DisplayName)
	case events.ToolStarted:
		if name := w.named[env.Dispatch]; name != "" {
			return fmt.Sprintf("%s uses %s", name, e.Tool)
		}
		return fmt.Sprintf("%s is used", e.Tool)
	case events.AgentFinished:
		message := fmt.Sprintf("%s has finished", e.DisplayName)
		if e.Status != events.OutcomeOK {
			message = fmt.Sprintf("%s ended: %s", e.DisplayName, e.Status)
		}
		if run, err := w.server.config.Log.FindRun(ctx, w.key.Tenant, string(w.run)); err == nil && run.Tasks > 0 {
			message += fmt.Sprintf(", %d of %d tasks finished", run.FinishedTasks, run.Tasks)
		}
		return message
	case events.OutageBegan:
		return "waits for " + e.Message
	case events.OutageEnded:
		return "goes on"
	}
	return "the answer is there"
}

// notify tells the caller, if that is wanted. One who cannot be told is found out by the
// connection.
func (w *watcher) notify(ctx context.Context, message string) {
	token := w.call.Params.GetProgressToken()
	if token == nil {
		return
	}
	w.said++
	_ = w.call.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(w.said), Message: message})
}
