package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// Hooks are told of what happens in the threads whose runs are driven here, once it is in the
// log and decided: nothing of a run waits for them, and they change nothing. Those of one
// thread are called one after the other, in the order of its log; those of several at
// once. What a process that died was not told of, nobody is: a program that must miss
// nothing follows the log from a cursor of its own, see [events.Tailer].
//
// A callback that panics is called again with the next event. What it is given others have
// too: it changes nothing of it.
type Hooks struct {
	// OnPhaseTransition is told of each change of phase, OnHandoff of each handoff that was
	// accepted, with its request, OnHandoffRejected of each that was not. nil is nobody.
	OnPhaseTransition func(events.Envelope, events.PhaseChanged)
	OnHandoff         func(events.Envelope, events.HandoffRequested)
	OnHandoffRejected func(events.Envelope, events.HandoffRequested, events.HandoffRejected)
	// OnEvent is told of every event, before the others.
	OnEvent func(events.Envelope)
	// Delay is how long events may wait to be told of, so that many are told of at once: waking
	// up for each costs more than what most callbacks do. The end of a run waits for nothing.
	// Defaults to none.
	Delay time.Duration
}

func (h *Hooks) none() bool {
	return h.OnPhaseTransition == nil && h.OnHandoff == nil && h.OnHandoffRejected == nil && h.OnEvent == nil
}

// hooking takes what happens in the threads that are driven here to the hooks: facts that were
// committed here from its memory, what others posted from the log, once the driver knows of it.
type hooking struct {
	hooks Hooks
	log   events.Log
	ctx   context.Context
	stop  context.CancelFunc
	ended sync.WaitGroup

	mu      sync.Mutex // guards what follows
	threads map[events.ThreadKey]*told
}

// told is how far the hooks were told of a thread. Its goroutine ends once no run of the
// thread is driven here and all was told.
type told struct {
	after  events.Seq
	driven int
	// known is the last event that is known to be in the log.
	known events.Seq
	// fed are facts that were committed here, in the order of the log. What others posted is
	// missing between them, and what there was no room for.
	fed []events.Envelope
	// grown says that there may be something to tell of, over that a run is not driven any more.
	// Both have room for one.
	grown, over chan struct{}
}

const (
	// hookPage is how many events are read at once.
	hookPage = 256
	// maxFed bounds the facts of a thread that wait in memory to be told of, some seconds of a
	// busy run; further ones are read from the log.
	maxFed = 1024
)

func newHooking(log events.Log, hooks Hooks) *hooking {
	h := &hooking{hooks: hooks, log: log, threads: map[events.ThreadKey]*told{}}
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h
}

// begin has the hooks told of the thread from after on, unless they are already. first are
// facts that were committed behind it.
func (h *hooking) begin(key events.ThreadKey, after events.Seq, first []events.Envelope) {
	if h.hooks.none() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.threads[key]
	if t == nil {
		t = &told{after: after, known: after, grown: make(chan struct{}, 1), over: make(chan struct{}, 1)}
		h.threads[key] = t
		h.ended.Go(func() { h.tell(key, t) })
	}
	t.driven++
	t.feed(first)
}

// committed takes facts of a thread that is driven here, so that they need not be read again.
func (h *hooking) committed(facts []events.Envelope) {
	if h.hooks.none() || len(facts) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.threads[facts[0].Key()]; t != nil {
		t.feed(facts)
	}
}

// reached says up to which event the driver of a thread knows its log: what others posted is
// among that.
func (h *hooking) reached(key events.ThreadKey, last events.Seq) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.threads[key]; t != nil {
		t.reach(last)
	}
}

func (t *told) feed(facts []events.Envelope) {
	if len(facts) == 0 {
		return
	}
	if len(t.fed)+len(facts) <= maxFed {
		t.fed = append(t.fed, facts...)
	}
	t.reach(facts[len(facts)-1].Seq)
}

func (t *told) reach(last events.Seq) {
	if last > t.known {
		t.known = last
		signal(t.grown)
	}
}

// signal says something to whoever looks next, once.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// next gives events behind the last one that was told of, none where there are none yet.
func (h *hooking) next(key events.ThreadKey, t *told) ([]events.Envelope, error) {
	h.mu.Lock()
	for len(t.fed) > 0 && t.fed[0].Seq <= t.after {
		t.fed = t.fed[1:]
	}
	n := 0
	for n < len(t.fed) && t.fed[n].Seq == t.after+1+events.Seq(n) {
		n++
	}
	envs, all := t.fed[:n:n], t.after >= t.known
	t.fed = t.fed[n:]
	h.mu.Unlock()
	if n > 0 || all {
		return envs, nil
	}
	envs, err := h.log.Read(h.ctx, key, t.after, hookPage)
	if err == nil && len(envs) == 0 {
		err = fmt.Errorf("read thread=%s after seq=%d: %w", key.Thread, t.after, events.ErrNotFound) // it was removed meanwhile
	}
	return envs, err
}

// resumed is the event behind which the hooks are told of a run that is taken up again: what
// was posted while it was parked is among it.
func (h *hooking) resumed(th *thread.Thread) events.Seq {
	if h.hooks.none() {
		return 0
	}
	parked, err := h.log.Read(h.ctx, th.Key, 0, 0, events.KindRunSuspended)
	if err != nil || len(parked) == 0 || parked[len(parked)-1].Run != th.Current().ID {
		return th.Seq
	}
	return parked[len(parked)-1].Seq
}

// end says that a run of the thread is not driven here any more, and its last event.
func (h *hooking) end(key events.ThreadKey, last events.Seq) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.threads[key]; t != nil {
		t.driven--
		t.known = max(t.known, last)
		signal(t.grown)
		signal(t.over)
	}
}

// wait returns when all was told, or ctx ends: what a callback does then is left behind.
func (h *hooking) wait(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		h.ended.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	h.stop()
}

func (h *hooking) tell(key events.ThreadKey, t *told) {
	for {
		envs, err := h.next(key, t)
		for _, env := range envs {
			h.call(env)
			t.after = env.Seq
		}
		if len(envs) > 0 && err == nil {
			continue
		}
		if h.done(key, t, err) {
			return
		}
		select {
		case <-t.grown:
			h.gather(t)
		case <-h.ctx.Done():
		}
	}
}

// done reports whether nothing more of a thread will be told, and forgets it then.
func (h *hooking) done(key events.ThreadKey, t *told, failed error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if failed == nil && h.ctx.Err() == nil && (t.driven > 0 || t.after < t.known) {
		return false
	}
	delete(h.threads, key)
	return true
}

// gather lets further events come, while the thread is driven.
func (h *hooking) gather(t *told) {
	h.mu.Lock()
	driven := t.driven > 0
	h.mu.Unlock()
	if h.hooks.Delay <= 0 || !driven {
		return
	}
	timer := time.NewTimer(h.hooks.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.over:
	case <-h.ctx.Done():
	}
}

// call tells the hooks of an event.
func (h *hooking) call(env events.Envelope) {
	if h.hooks.OnEvent != nil {
		calmly(func() { h.hooks.OnEvent(env) })
	}
	switch e := env.Data.(type) {
	case events.PhaseChanged:
		if h.hooks.OnPhaseTransition != nil {
			calmly(func() { h.hooks.OnPhaseTransition(env, e) })
		}
	case events.HandoffAccepted:
		if h.hooks.OnHandoff != nil {
			calmly(func() { h.hooks.OnHandoff(env, h.requested(env, e.HandoffID)) })
		}
	case events.HandoffRejected:
		if h.hooks.OnHandoffRejected != nil {
			calmly(func() { h.hooks.OnHandoffRejected(env, h.requested(env, e.HandoffID), e) })
		}
	}
}

// requested finds the request of a handoff, the zero request if the log cannot be read.
func (h *hooking) requested(env events.Envelope, id events.HandoffID) events.HandoffRequested {
	requests, _ := h.log.Read(h.ctx, env.Key(), 0, 0, events.KindHandoffRequested)
	for _, request := range requests {
		if e := request.Data.(events.HandoffRequested); e.HandoffID == id {
			return e
		}
	}
	return events.HandoffRequested{HandoffID: id}
}

// calmly calls a callback of the program, which may panic.
func calmly(call func()) {
	defer func() { _ = recover() }()
	call()
}
