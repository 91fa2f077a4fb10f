package events

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Memory is a [Log] that lives and dies with the process: for tests, benchmarks
// and embedders that want no file. It keeps every event until it is dropped. All
// its claimants live in this process, so a claim lasts until it is released or
// taken over.
type Memory struct {
	// mu guards every field below, and the threads. One lock for all: what is done
	// under it takes about a microsecond.
	mu      sync.Mutex
	threads map[ThreadKey]*memoryThread
	// order holds every event's place in the order of appends over all threads, without a
	// thread once that is removed.
	order []memoryPlace
	// bookmarks are the places of those who follow the log, by name.
	bookmarks map[string]Cursor
	// artifacts are the files beside the events, each with the threads that have it.
	artifacts map[ArtifactID]*memoryArtifact
	// grown is closed when any thread grows; nil while nobody tails.
	grown  chan struct{}
	closed chan struct{}
}

type memoryPlace struct {
	thread *memoryThread
	seq    Seq
}

type memoryThread struct {
	key  ThreadKey
	envs []Envelope
	runs []*RunSummary
	// batch is set in the thread of a batch.
	batch *BatchSummary
	epoch Epoch
	owner Owner
	since time.Time
	// grown is closed when the thread grows; nil while nobody waits.
	grown chan struct{}
}

var _ Log = (*Memory)(nil)

// NewMemory gives an empty log.
func NewMemory() *Memory {
	return &Memory{threads: map[ThreadKey]*memoryThread{}, bookmarks: map[string]Cursor{}, artifacts: map[ArtifactID]*memoryArtifact{}, closed: make(chan struct{})}
}

// Claim implements [Log].
func (m *Memory) Claim(ctx context.Context, key ThreadKey, owner Owner, takeOver bool) (Epoch, error) {
	if err := owner.CheckClaim(key); err != nil {
		return 0, err
	}
	if err := m.lock(ctx); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	return m.claim(key, owner, takeOver)
}

func (m *Memory) claim(key ThreadKey, owner Owner, takeOver bool) (Epoch, error) {
	thread := m.threads[key]
	if thread == nil {
		thread = &memoryThread{key: key}
		m.threads[key] = thread
	}
	if thread.owner != "" && thread.owner != owner && !takeOver {
		return 0, &HeldError{Owner: thread.owner, Since: thread.since}
	}
	thread.epoch++
	thread.owner, thread.since = owner, time.Now().Round(0).UTC()
	return thread.epoch, nil
}

// Release implements [Log].
func (m *Memory) Release(ctx context.Context, key ThreadKey, epoch Epoch) error {
	if err := m.lock(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	if thread := m.threads[key]; thread != nil && thread.epoch == epoch {
		thread.owner = ""
	}
	return nil
}

// Post implements [Log].
func (m *Memory) Post(ctx context.Context, key ThreadKey, env Envelope) (Seq, error) {
	if env.Data == nil || !Posted(env.Data) {
		return 0, fmt.Errorf("post to thread=%s: %w", key.Thread, ErrNotPosted)
	}
	if err := m.lock(ctx); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	thread := m.threads[key]
	if thread == nil || len(thread.envs) == 0 {
		return 0, fmt.Errorf("post to thread=%s: %w", key.Thread, ErrNotFound)
	}
	for _, summary := range thread.runs {
		if summary.Run == env.Run && summary.Status.Over() {
			return 0, fmt.Errorf("post to thread=%s run=%s: %w", key.Thread, env.Run, ErrRunOver)
		}
	}
	err := m.add(thread, []Envelope{env})
	return Seq(len(thread.envs)), err
}

// add stamps, folds and stores envs, all or none, and wakes who waits for them.
func (m *Memory) add(thread *memoryThread, envs []Envelope) error {
	if len(envs) == 0 {
		return nil
	}
	after, last := Seq(len(thread.envs)), time.Time{}
	if after > 0 {
		last = thread.envs[after-1].Time
	}
	if err := Stamp(envs, thread.key, after, last, time.Now()); err != nil {
		return err
	}
	for i := range envs {
		if err := thread.summarize(envs[i]); err != nil {
			return err
		}
		m.order = append(m.order, memoryPlace{thread, envs[i].Seq})
		m.nameArtifacts(thread.key, envs[i].Data)
	}
	thread.envs = append(thread.envs, envs...)
	wake(&thread.grown)
	wake(&m.grown)
	return nil
}

// summarize keeps the summary of the run, or of the batch. It fails for no event that
// Stamp let pass.
func (t *memoryThread) summarize(env Envelope) error {
	if env.Run == "" {
		t.summarizeBatch(env)
		return nil
	}
	for _, summary := range t.runs {
		if summary.Run == env.Run {
			return summary.Apply(env)
		}
	}
	if _, started := env.Data.(WorkflowStarted); !started {
		return nil
	}
	summary := new(RunSummary)
	t.runs = append(t.runs, summary)
	return summary.Apply(env)
}

// Read implements [Log].
func (m *Memory) Read(ctx context.Context, key ThreadKey, after Seq, limit int, kinds ...Kind) ([]Envelope, error) {
	if err := m.lock(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	thread := m.threads[key]
	if thread == nil || after >= Seq(len(thread.envs)) {
		return nil, nil
	}
	envs := thread.envs[max(after, 0):]
	if len(kinds) > 0 {
		return ofKinds(envs, limit, kinds), nil
	}
	if limit > 0 && len(envs) > limit {
		envs = envs[:limit]
	}
	return slices.Clone(envs), nil
}

// ofKinds gives the first events of those kinds, at most limit if that is above 0.
func ofKinds(envs []Envelope, limit int, kinds []Kind) (found []Envelope) {
	for _, env := range envs {
		if !slices.Contains(kinds, env.Data.Kind()) {
			continue
		}
		if found = append(found, env); len(found) == limit {
			break
		}
	}
	return found
}

// ReadEncoded implements [Log].
func (m *Memory) ReadEncoded(ctx context.Context, key ThreadKey, after Seq, limit int, kinds ...Kind) ([]Encoded, error) {
	envs, err := m.Read(ctx, key, after, limit, kinds...)
	if err != nil || len(envs) == 0 {
		return nil, err
	}
	encoded := make([]Encoded, len(envs))
	for i, env := range envs {
		if encoded[i].Body, err = Encode(env); err != nil {
			return nil, err
		}
		encoded[i].Seq = env.Seq
	}
	return encoded, nil
}

// Holder implements [Log].
func (m *Memory) Holder(ctx context.Context, key ThreadKey) (Owner, time.Time, error) {
	if err := m.lock(ctx); err != nil {
		return "", time.Time{}, err
	}
	defer m.mu.Unlock()
	thread := m.threads[key]
	if thread == nil || thread.owner == "" {
		return "", time.Time{}, nil
	}
	return thread.owner, thread.since, nil
}

// Close implements [Log].
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.closed:
	default:
		close(m.closed)
	}
	return nil
}

// lock takes the lock unless ctx has ended or the log is closed.
func (m *Memory) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	select {
	case <-m.closed:
		m.mu.Unlock()
		return ErrClosed
	default:
		return nil
	}
}

// wake closes the channel that waiters hold, if there are any.
func wake(grown *chan struct{}) {
	if *grown != nil {
		close(*grown)
		*grown = nil
	}
}

// waken gives the channel that wake will close.
func waken(grown *chan struct{}) <-chan struct{} {
	if *grown == nil {
		*grown = make(chan struct{})
	}
	return *grown
}
