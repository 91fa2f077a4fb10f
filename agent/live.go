package agent

import (
	"sync"
	"time"
	"unicode/utf8"

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
	PhaseAway     Phase = "away"     // waiting for an endpoint that cannot be used
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
	// Queues says that the endpoint lets calls of the agent wait for their first token for
	// long, as the flex tier does: that is no time at work.
	Queues bool

	mu  sync.Mutex // guards what follows
	now LiveState
	// written counts what the attempt has streamed, in bytes; tail is the end of it.
	written int64
	tail    []byte
	// parts are the newest texts and calls that have streamed, the current one last.
	parts []part
	// lookedAt is when somebody last asked for the stream.
	lookedAt time.Time
	// works counts the external tools and functions at work. active is the time at work
	// until counted.
	works int
	// reporter marks whose words now.Progress are.
	reporter *bool
	active   time.Duration
	counted  time.Time
}

// part is a text, or the arguments of one call, within what an attempt streams.
type part struct {
	from int64
	call int // its index, or -1 for text
}

const (
	// tailBytes bounds the text that a Live keeps: what a line of a view can show, and
	// little enough that thousands of agents at once cost nothing.
	tailBytes = 400
	// streamBytes bounds it while somebody follows the stream. The fastest endpoints
	// write 3,000 tokens a second, 12 kB: a viewer that polls five times a second misses nothing,
	// even if one look comes late.
	streamBytes = 8 << 10
	// maxParts bounds the parts that are told apart in a stream: more than a model
	// begins between two looks.
	maxParts = 16
	// followedFor is how long after the last look a stream counts as followed.
	followedFor = 2 * time.Second
)

// LiveState is a Live at one moment.
type LiveState struct {
	Phase Phase
	// Since is when the phase began, Heard when something last came from the model or
	// from a tool.
	Since, Heard time.Time
	// AtWork says that the agent's model, or a tool of its own, is at work now: not that
	// it waits for the endpoint or for other agents. Active is how long it has been in
	// all.
	AtWork  bool
	Active  time.Duration
	Call    events.ModelCallID
	Attempt int
	// RetryAt and RetryReason are set while retrying, and while the endpoint is away; then
	// GiveUpAt is when the run is parked, zero for never.
	RetryAt     time.Time
	RetryReason string
	GiveUpAt    time.Time
	// Tail is the end of what has streamed in this attempt: of the arguments of a tool
	// call where InCall is set, else of the text.
	Tail   string
	InCall bool
	// Progress is what a tool at work said last of how far it is, "" for nothing.
	Progress string
}

// State gives the agent's state at this moment.
func (l *Live) State() LiveState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state()
}

// Pulse gives the state without its Tail, for whoever only asks whether the agent works: the
// text is not copied.
func (l *Live) Pulse() LiveState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pulse()
}

func (l *Live) pulse() LiveState {
	l.count(time.Now())
	state := l.now
	state.AtWork, state.Active = l.atWork(), l.active
	return state
}

func (l *Live) state() LiveState {
	state := l.pulse()
	if pieces := l.pieces(); len(pieces) > 0 {
		state.Tail = pieces[len(pieces)-1].Text
	}
	return state
}

// Piece is a stretch of what an attempt has streamed: of its text, or of the
// arguments of one tool call.
type Piece struct {
	// From is the place of the first byte in all that the attempt has streamed. A
	// piece that begins behind the end of what a reader has follows a gap.
	From int64
	Text string
	// InCall says that it belongs to a tool call, Begins that nothing of the same
	// text or call comes before it.
	InCall, Begins bool
}

// Stream gives the agent's state and the newest of what has streamed in this attempt,
// in order. Whoever asks again within a second or two gets pieces without a gap; for
// others less is kept.
func (l *Live) Stream() (LiveState, []Piece) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookedAt = now
	return l.state(), l.pieces()
}

// pieces cuts the tail into the parts that it belongs to.
func (l *Live) pieces() []Piece {
	begin := l.written - int64(len(l.tail))
	var pieces []Piece
	for i, p := range l.parts {
		from, end := max(p.from, begin), l.written
		if i+1 < len(l.parts) {
			end = l.parts[i+1].from
		}
		for from > p.from && from < end && !utf8.RuneStart(l.tail[from-begin]) {
			from++ // the character's beginning is no longer there
		}
		if from < end {
			text := string(l.tail[from-begin : end-begin])
			pieces = append(pieces, Piece{From: from, Text: text, InCall: p.call >= 0, Begins: from == p.from})
		}
	}
	return pieces
}

func (l *Live) set(change func(now time.Time)) {
	if l == nil {
		return
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(now)
	change(now)
}

func (l *Live) enter(phase Phase, now time.Time) {
	if l.now.Phase != phase {
		l.now.Phase, l.now.Since = phase, now
	}
	l.now.Heard = now
}

// Enter says that the agent is in a phase from now on. Enter, Asks, Take and Work are for what
// drives the agent.
func (l *Live) Enter(phase Phase) {
	l.set(func(now time.Time) { l.enter(phase, now) })
}

// Asks says which model call the agent makes next.
func (l *Live) Asks(id events.ModelCallID) {
	l.set(func(now time.Time) {
		l.now.Call, l.now.Attempt = id, 0
		l.forget()
		l.enter(PhaseQueued, now)
	})
}

// Take shows what came of the model call.
func (l *Live) Take(delta *llm.Delta) {
	switch {
	case delta.Retry != nil:
		l.retry(delta.Retry)
	case delta.Away != nil:
		l.endpointAway(delta.Away)
	case delta.Back:
		l.endpointBack()
	case delta.Sent != 0:
		l.sent(delta.Sent)
	case delta.Text != "":
		l.stream(-1, delta.Text)
	case delta.Reasoning != "":
		l.Enter(PhaseThinking)
	case delta.Fragment != "":
		l.stream(delta.Index, delta.Fragment)
	}
}

func (l *Live) sent(attempt int) {
	l.set(func(now time.Time) {
		l.now.Attempt = attempt
		l.forget()
		if l.now.Phase == PhaseAway {
			return // the call asks whether the endpoint is back
		}
		l.enter(PhaseWaiting, now)
	})
}

func (l *Live) stream(call int, text string) {
	l.set(func(now time.Time) {
		l.enter(PhaseWriting, now)
		l.now.InCall = call >= 0
		followed := now.Sub(l.lookedAt) < followedFor
		if len(l.parts) == 0 || l.parts[len(l.parts)-1].call != call {
			switch {
			case !followed:
				l.parts = l.parts[:0]
			case len(l.parts) == maxParts:
				l.parts = append(l.parts[:0], l.parts[1:]...)
			}
			l.parts = append(l.parts, part{l.written, call})
		}
		l.append(text, followed)
	})
}

// append keeps the newest bytes, moving memory only every so often, and gives back
// what was kept for a viewer that has left.
func (l *Live) append(text string, followed bool) {
	keep := tailBytes
	if followed {
		keep = streamBytes
	}
	l.written += int64(len(text))
	if len(text) > keep {
		l.tail, text = l.tail[:0], text[len(text)-keep:]
	}
	if len(l.tail)+len(text) > 2*keep {
		newest := l.tail[len(l.tail)-(keep-len(text)):]
		if cap(l.tail) > 4*keep {
			l.tail = nil
		}
		l.tail = append(l.tail[:0], newest...)
	}
	l.tail = append(l.tail, text...)
}

// forget starts the stream over.
func (l *Live) forget() {
	l.written, l.tail, l.parts = 0, l.tail[:0], l.parts[:0]
}

func (l *Live) retry(r *llm.Retry) {
	l.set(func(now time.Time) {
		l.enter(PhaseRetrying, now)
		l.now.RetryAt = now.Add(r.Wait)
		l.forget()
		l.now.RetryReason = ""
		if r.Err != nil {
			l.now.RetryReason = r.Err.Error()
		}
	})
}

// endpointAway shows that the call waits for an endpoint.
func (l *Live) endpointAway(a *llm.Away) {
	l.set(func(now time.Time) {
		l.enter(PhaseAway, now)
		l.now.Since = a.Since
		l.now.RetryAt, l.now.GiveUpAt, l.now.RetryReason = a.Next, a.GiveUp, a.Trouble.String()
		l.forget()
	})
}

func (l *Live) endpointBack() {
	l.set(func(now time.Time) {
		l.now.RetryAt, l.now.GiveUpAt, l.now.RetryReason = time.Time{}, time.Time{}, ""
		l.enter(PhaseWaiting, now)
	})
}
