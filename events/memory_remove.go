package events

import (
	"context"
	"fmt"
)

// Remove implements [Log].
func (m *Memory) Remove(ctx context.Context, key ThreadKey) error { return m.remove(ctx, key, false) }

// Erase implements [Log].
func (m *Memory) Erase(ctx context.Context, key ThreadKey) error { return m.remove(ctx, key, true) }

func (m *Memory) remove(ctx context.Context, key ThreadKey, unfinished bool) error {
	if err := m.lock(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	thread := m.threads[key]
	switch {
	case thread == nil || len(thread.envs) == 0:
		return fmt.Errorf("remove thread=%s: %w", key.Thread, ErrNotFound)
	case thread.owner != "":
		return &HeldError{Owner: thread.owner, Since: thread.since}
	}
	runs := make([]RunSummary, len(thread.runs))
	for i, run := range thread.runs {
		runs[i] = *run
	}
	err := Removable(runs, unfinished, thread.batch, func(id BatchID) (*BatchSummary, error) {
		if of := m.threads[ThreadKey{Tenant: key.Tenant, Thread: ThreadID(id)}]; of != nil {
			return of.batch, nil
		}
		return nil, nil
	})
	if err != nil {
		return fmt.Errorf("remove thread=%s: %w", key.Thread, err)
	}
	delete(m.threads, key)
	m.dropArtifacts(key)
	for i := range m.order {
		if m.order[i].thread == thread {
			m.order[i].thread = nil // its place stays
		}
	}
	wake(&thread.grown)
	wake(&m.grown)
	return nil
}
