package termview

import (
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// Frame is all that one picture of a run depends on.
type Frame struct {
	// Run is the fold of the run so far; nil before its first event.
	Run *thread.Run
	// Active are the agents at work, the facilitator first.
	Active []Activity
	// Now is the moment that is shown.
	Now time.Time
	// Width and Height are the terminal's, in cells. A picture is at most Width-1
	// wide and Height-1 high, so that it neither wraps nor scrolls.
	Width, Height int
	// Open are lines of the answer that is being written which are not complete; those
	// that are stand above the picture.
	Open []string
	// Notice is a line for the person who watches, such as what ^C does; "" for none.
	Notice string
}

// Doing is what an agent does, in the words of the view.
type Doing string

// What agents do.
const (
	DoingQueued   Doing = "waiting for slot"
	DoingWaiting  Doing = "waiting for first token"
	DoingThinking Doing = "thinking"
	DoingWriting  Doing = "writing"
	DoingRetrying Doing = "retry"
	DoingAway     Doing = "endpoint away"
	DoingTools    Doing = "using tools"
	DoingTeam     Doing = "waiting for specialists"
	DoingWorking  Doing = "working"
)

// Activity is what one agent does at a moment.
type Activity struct {
	Name  string
	Doing Doing
	Since time.Time
	// Text is the newest text that the agent writes; with InCall the end of the
	// arguments of a tool call; while tools run, how far one of them says that it is.
	Text   string
	InCall bool
	// Slow is set on an agent that has been silent for longer than expected.
	Slow bool
	// RetryAt and Reason say when and why it tries again.
	RetryAt time.Time
	Reason  string
	// GiveUpAt is when the run is parked unless the endpoint is back, zero for never.
	GiveUpAt time.Time
}

// Activities tells from the log alone who is at work: what is known of a run that
// another process drives, and of a replayed one.
func Activities(run *thread.Run) []Activity {
	if run == nil || run.Status != events.StatusRunning {
		return nil
	}
	var active []Activity
	for _, d := range run.Dispatches {
		if d.Finish == nil {
			active = append(active, Activity{Name: d.Start.DisplayName, Doing: DoingWorking, Since: d.Started})
		}
	}
	facilitator := Activity{Name: DisplayName(run, events.FacilitatorID), Doing: DoingWorking, Since: run.Thread().Time}
	if len(active) > 0 {
		facilitator.Doing, facilitator.Since = DoingTeam, active[0].Since
	}
	return append([]Activity{facilitator}, active...)
}

// DisplayName is how people know an agent of the run.
func DisplayName(run *thread.Run, id events.AgentID) string {
	for _, card := range run.Started.Agents {
		if card.ID == id && card.DisplayName != "" {
			return card.DisplayName
		}
	}
	if id == events.HumanID {
		return person
	}
	return string(id)
}

// person is the name of whoever answers in an agent's place.
const person = "A person"
