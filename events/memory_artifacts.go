package events

import (
	"bytes"
	"context"
	"fmt"
	"io"
)

// memoryArtifact is a file with the threads that have it.
type memoryArtifact struct {
	data    []byte
	threads map[ThreadKey]bool
}

// PutArtifact implements [Artifacts].
func (m *Memory) PutArtifact(ctx context.Context, key ThreadKey, epoch Epoch, data []byte) (ArtifactID, error) {
	if len(data) > MaxArtifactBytes {
		return "", fmt.Errorf("keep %d bytes for thread=%s: %w", len(data), key.Thread, ErrArtifactSize)
	}
	id := ArtifactOf(data)
	if err := m.lock(ctx); err != nil {
		return "", err
	}
	defer m.mu.Unlock()
	thread := m.threads[key]
	if thread == nil || thread.owner == "" || thread.epoch != epoch {
		return "", fmt.Errorf("keep artifact %s for thread=%s epoch=%d: %w", id.Short(), key.Thread, epoch, ErrFenced)
	}
	if m.artifacts[id] == nil {
		m.artifacts[id] = &memoryArtifact{data: data, threads: map[ThreadKey]bool{}}
	}
	m.artifacts[id].threads[key] = true
	return id, nil
}

// OpenArtifact implements [Artifacts].
func (m *Memory) OpenArtifact(ctx context.Context, key ThreadKey, id ArtifactID) (*io.SectionReader, error) {
	if err := m.lock(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	kept := m.artifacts[id]
	if kept == nil || !kept.threads[key] {
		return nil, fmt.Errorf("artifact %s of thread=%s: %w", id.Short(), key.Thread, ErrNotFound)
	}
	return io.NewSectionReader(bytes.NewReader(kept.data), 0, int64(len(kept.data))), nil
}

// nameArtifacts gives the thread what its event names, as far as it is kept.
func (m *Memory) nameArtifacts(key ThreadKey, event Event) {
	for _, id := range Named(event) {
		if kept := m.artifacts[id]; kept != nil {
			kept.threads[key] = true
		}
	}
}

// dropArtifacts takes from a thread what it has; what nobody has any more is gone.
func (m *Memory) dropArtifacts(key ThreadKey) {
	for id, kept := range m.artifacts {
		if delete(kept.threads, key); len(kept.threads) == 0 {
			delete(m.artifacts, id)
		}
	}
}
