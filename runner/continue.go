package runner

import (
	"bytes"
	"fmt"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// continueRun has the run begin with what another one of the thread left.
func continueRun(th *thread.Thread, id events.RunID, started *events.WorkflowStarted) error {
	before := th.Run(id)
	switch {
	case before == nil || !before.Status.Over():
		return &InputError{fmt.Sprintf("run %s cannot be continued: %v", id, thread.ErrNoSuchRun)}
	case !bytes.Equal(before.Started.Layout, started.Layout):
		return &InputError{fmt.Sprintf("run %s cannot be continued: its document has another layout than this team's", id)}
	case before.Started.Solo != started.Solo:
		return &InputError{fmt.Sprintf("run %s cannot be continued: only one of the two runs has a single agent", id)}
	}
	started.Continues, started.TasksBefore, started.FinishedBefore = id, before.Tasks, before.FinishedTasks
	return nil
}
