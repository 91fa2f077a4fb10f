package agent

import (
	"sync"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// Phase is what an agent does at this moment.
type Phase string

// The phases. They are shown, never stored.
const (
	PhaseQueued   Phase = "queued"   // waiting for its turn at the endpoint
	PhaseWaiting  Phase = "waiting"  // for the first token
	PhaseThinking Phase = "thinking" // reasoning streams
	PhaseWriting  Phase = "writing"  // text or arguments stream
	PhaseRetrying Phase = "retrying" // waiting to try again
	PhaseTools    Phase = "tools"    // slow tools run
	PhaseFinished Phase = "finished" // nothing more comes
)

// Live is what one agent does now: lossy, for those who watch, and for noticing
// silence. It is safe for concurrent use, and a nil Live takes everything and
// keeps nothing.
type Live struct {
	Agent       events.AgentID
	DisplayName string
	Dispatch    events.DispatchID

	mu         sync.Mutex // guards what follows
	now        LiveState
	fragmentOf int
	// tail is the newest text of the attempt, up to tailBytes.
	tail []byte
}

// tailBytes bounds the text that a Live keeps: what a line of a view can show, and
// little enough that thousands of agents at once cost nothing.
const tailBytes = 400

// LiveState is a Live at one moment.
type LiveState struct {
	Phase Phase
	// Since is when the phase began, Heard when something last came from the model.
	Since, Heard time.Time
	Call         events.ModelCallID
	Attempt      int
	// RetryAt and RetryReason are set while retrying.
	RetryAt     time.Time
	RetryReason string
	// Tail is the end of what has streamed in this attempt: of the arguments of a tool
	// call where InCall is set, else of the text.
	Tail   string
	InCall bool
}

// State gives the agent's state at this moment.
func (l *Live) State() LiveState {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := l.now
	state.Tail = string(l.tail)
	return state
}

func (l *Live) set(change func(now time.Time)) {
	if l == nil {
		return
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	change(now)
}

func (l *Live) enter(phase Phase, now time.Time) {
	if l.now.Phase != phase {
		l.now.Phase, l.now.Since = phase, now
	}
	l.now.Heard = now
}

func (l *Live) phase(phase Phase) {
	l.set(func(now time.Time) { l.enter(phase, now) })
}

func (l *Live) done() { l.phase(PhaseFinished) }

func (l *Live) call(id events.ModelCallID) {
	l.set(func(now time.Time) {
		l.now.Call, l.now.Attempt, l.tail = id, 0, l.tail[:0]
		l.enter(PhaseQueued, now)
	})
}

func (l *Live) sent(attempt int) {
	l.set(func(now time.Time) {
		l.now.Attempt, l.tail = attempt, l.tail[:0]
		l.enter(PhaseWaiting, now)
	})
}

func (l *Live) reasoning() { l.phase(PhaseThinking) }

func (l *Live) text(text string) {
	l.set(func(now time.Time) {
		l.enter(PhaseWriting, now)
		l.now.InCall = false
		l.append(text)
	})
}

func (l *Live) fragment(index int, text string) {
	l.set(func(now time.Time) {
		l.enter(PhaseWriting, now)
		if !l.now.InCall || index != l.fragmentOf {
			l.now.InCall, l.fragmentOf, l.tail = true, index, l.tail[:0]
		}
		l.append(text)
	})
}

// append keeps the newest tailBytes, moving memory only every so often.
func (l *Live) append(text string) {
	l.tail = append(l.tail, text...)
	if len(l.tail) > 2*tailBytes {
		l.tail = append(l.tail[:0], l.tail[len(l.tail)-tailBytes:]...)
	}
}

func (l *Live) retry(r *llm.Retry) {
	l.set(func(now time.Time) {
		l.enter(PhaseRetrying, now)
		l.now.RetryAt, l.tail = now.Add(r.Wait), l.tail[:0]
		l.now.RetryReason = ""
		if r.Err != nil {
			l.now.RetryReason = r.Err.Error()
		}
	})
}
