package thread

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/convene-run/convene/events"
)

// Kept keeps the folds of threads, so that a long one is folded from its beginning once and
// from then on only continued. What others write is read behind what is known; a thread that
// was removed, or removed and begun anew, is folded again. Any number of processes may keep
// the same threads. It is safe for concurrent use.
type Kept struct {
	log events.Reader

	mu    sync.Mutex // guards what follows
	folds map[events.ThreadKey]*Fold
	// resting are those of them that nobody uses, the most recently used in front; bytes is
	// their size.
	resting list.List
	bytes   int64
}

// Bounds of the folds that nobody uses. Those used least recently are let go first, and folded
// again when they are asked for.
const (
	// maxResting is more conversations than go on at the same time in one process.
	maxResting = 256
	// maxRestingBytes has room for several threads of 10,000 messages. The size of a fold is
	// estimated: see [Thread.Apply].
	maxRestingBytes = 128 << 20
)

// NewKept keeps folds of the log's threads.
func NewKept(log events.Reader) *Kept {
	return &Kept{log: log, folds: map[events.ThreadKey]*Fold{}}
}

// Use lends the thread as its log has it now: see [Fold.Use].
func (k *Kept) Use(ctx context.Context, key events.ThreadKey, use func(*Thread) error) error {
	f := k.Pin(key)
	defer f.Unpin()
	return f.Use(ctx, use)
}

// Post has post add an event to the thread that others than its driver may add, and takes it
// in. Who drives the thread through these folds decides and commits before it or behind it, so
// that nothing is decided in vain. The error is post's: what was added is in the log, even
// where that cannot be read.
func (k *Kept) Post(ctx context.Context, key events.ThreadKey, post func() error) error {
	f := k.Pin(key)
	defer f.Unpin()
	return f.with(ctx, f.known, func(*Thread) error {
		err := post()
		if err == nil {
			_ = f.catchUp(ctx)
		}
		return err
	})
}

// Pin gives the fold of a thread, which is kept until [Fold.Unpin]. Each Pin has an Unpin.
func (k *Kept) Pin(key events.ThreadKey) *Fold {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.folds[key]
	if f == nil {
		f = &Fold{kept: k, key: key, lock: make(chan struct{}, 1)}
		k.folds[key] = f
	}
	if f.place != nil {
		k.wake(f)
	}
	f.users++
	return f
}

// Forget lets the fold of a thread go that nobody is going to ask for again. Who uses it now
// is not disturbed.
func (k *Kept) Forget(key events.ThreadKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f := k.folds[key]; f != nil {
		k.drop(f)
	}
}

// wake takes a fold out of those that rest. The caller holds mu.
func (k *Kept) wake(f *Fold) {
	k.resting.Remove(f.place)
	k.bytes -= f.resting
	f.place = nil
}

// drop lets a fold go. The caller holds mu.
func (k *Kept) drop(f *Fold) {
	if f.place != nil {
		k.wake(f)
	}
	delete(k.folds, f.key)
}

// rest keeps a fold that nobody uses any more, and lets others go for it. The caller holds mu.
func (k *Kept) rest(f *Fold) {
	if k.folds[f.key] != f {
		return
	}
	if f.resting = f.size.Load(); f.resting == 0 || f.resting > maxRestingBytes {
		k.drop(f)
		return
	}
	f.place = k.resting.PushFront(f)
	k.bytes += f.resting
	for k.resting.Len() > maxResting || k.bytes > maxRestingBytes {
		k.drop(k.resting.Back().Value.(*Fold))
	}
}

// Fold is the state of one thread in memory. Whoever uses it has it alone for that time. It is
// safe for concurrent use.
type Fold struct {
	kept *Kept
	key  events.ThreadKey
	// lock is full while somebody uses the fold, who alone touches thread and foreign.
	lock chan struct{}
	// thread is nil where nothing is known.
	thread  *Thread
	foreign events.Seq
	// size is the estimated size of thread in bytes.
	size atomic.Int64

	// kept.mu guards what follows: users counts the pins; place and resting, its size, are of
	// a fold that rests.
	users   int
	place   *list.Element
	resting int64
}

// Unpin gives a pin back.
func (f *Fold) Unpin() {
	f.kept.mu.Lock()
	defer f.kept.mu.Unlock()
	if f.users--; f.users == 0 {
		f.kept.rest(f)
	}
}

// Use lends the thread as its log has it now. use must keep nothing of it that changes, and
// must not use the fold again. It may apply events that it commits: where it fails after it
// applied some, or panics, the state is forgotten. The error is use's or the log's; a thread
// whose events are damaged is an [*events.DamagedError].
func (f *Fold) Use(ctx context.Context, use func(*Thread) error) error {
	return f.with(ctx, f.catchUp, use)
}

// Known is Use of the thread as far as it is known here, which costs no look into the log.
func (f *Fold) Known(ctx context.Context, use func(*Thread) error) error {
	return f.with(ctx, f.known, use)
}

// Fresh is Known of a thread that nobody is known to have begun: where nothing is known of it,
// it is lent as one without events.
func (f *Fold) Fresh(ctx context.Context, use func(*Thread) error) error {
	return f.with(ctx, func(context.Context) error {
		if f.thread == nil {
			f.thread = New()
		}
		return nil
	}, use)
}

// Foreign is the seq of the newest event that was read behind what was known and that only the
// driver of a thread writes: another one than whoever commits through this fold. It is for
// those who are using the fold.
func (f *Fold) Foreign() events.Seq { return f.foreign }

func (f *Fold) with(ctx context.Context, ready func(context.Context) error, use func(*Thread) error) error {
	select {
	case f.lock <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	sound := false
	defer func() {
		if !sound {
			f.thread = nil
		}
		f.measure()
		<-f.lock
	}()
	if err := ready(ctx); err != nil {
		sound = true // what was read before is what the log has
		return err
	}
	before := f.thread.Seq
	err := use(f.thread)
	sound = err == nil || f.thread.Seq == before
	return err
}

func (f *Fold) measure() {
	size := 0
	if f.thread != nil && f.thread.Seq > 0 {
		size = f.thread.bytes
	}
	f.size.Store(int64(size))
}

func (f *Fold) known(ctx context.Context) error {
	if f.thread == nil {
		return f.load(ctx)
	}
	return nil
}

func (f *Fold) load(ctx context.Context) (err error) {
	f.thread, err = Load(ctx, f.kept.log, f.key, 0)
	return err
}

// catchUp folds what the log has behind the state, if the newest event that is known is still
// there.
func (f *Fold) catchUp(ctx context.Context) error {
	if f.thread == nil || f.thread.Seq == 0 {
		return f.load(ctx)
	}
	known := true
	for after, more := f.thread.Seq-1, true; more; after = f.thread.Seq {
		envs, err := f.kept.log.Read(ctx, f.key, after, loadPage)
		if err != nil {
			return fmt.Errorf("read thread %s: %w", f.key.Thread, err)
		}
		more = len(envs) == loadPage
		if known {
			if len(envs) == 0 || !f.thread.newest(envs[0]) {
				return f.load(ctx)
			}
			known, envs = false, envs[1:]
		}
		for _, env := range envs {
			if err := f.thread.Apply(env); err != nil {
				f.thread = nil
				return fmt.Errorf("read thread %s: %w", f.key.Thread, err)
			}
			if !events.Posted(env.Data) {
				f.foreign = env.Seq
			}
		}
	}
	return nil
}
