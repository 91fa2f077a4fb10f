package events

import (
	"context"
	"fmt"
)

// Append implements [Log].
func (m *Memory) Append(ctx context.Context, key ThreadKey, epoch Epoch, after Seq, envs []Envelope) error {
	if err := m.lock(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	return m.append(key, epoch, after, envs)
}

// AppendFirst implements [Log].
func (m *Memory) AppendFirst(ctx context.Context, key ThreadKey, owner Owner, envs []Envelope) (Epoch, error) {
	if err := owner.CheckClaim(key); err != nil {
		return 0, err
	}
	if err := m.lock(ctx); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	if thread := m.threads[key]; thread != nil && len(thread.envs) > 0 {
		return 0, fmt.Errorf("begin thread=%s last=%d: %w", key.Thread, len(thread.envs), ErrConflict)
	}
	epoch, err := m.claim(key, owner, false)
	if err != nil {
		return 0, err
	}
	if err := m.append(key, epoch, 0, envs); err != nil {
		m.threads[key].owner = ""
		return 0, err
	}
	return epoch, nil
}

// AppendLast implements [Log].
func (m *Memory) AppendLast(ctx context.Context, key ThreadKey, epoch Epoch, after Seq, envs []Envelope) error {
	if err := m.lock(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	err := m.append(key, epoch, after, envs)
	if err == nil {
		m.threads[key].owner = ""
	}
	return err
}

func (m *Memory) append(key ThreadKey, epoch Epoch, after Seq, envs []Envelope) error {
	thread := m.threads[key]
	if thread == nil || thread.owner == "" || thread.epoch != epoch {
		return fmt.Errorf("append to thread=%s epoch=%d: %w", key.Thread, epoch, ErrFenced)
	}
	if last := Seq(len(thread.envs)); last != after {
		return fmt.Errorf("append to thread=%s after=%d last=%d: %w", key.Thread, after, last, ErrConflict)
	}
	return m.add(thread, envs)
}
