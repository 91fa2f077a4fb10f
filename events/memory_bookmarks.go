package events

import (
	"context"
	"strconv"
)

// Bookmark implements [Log].
func (m *Memory) Bookmark(ctx context.Context, name string) (Cursor, error) {
	if err := m.lock(ctx); err != nil {
		return "", err
	}
	defer m.mu.Unlock()
	if _, known := m.bookmarks[name]; !known {
		m.bookmarks[name] = Cursor(strconv.Itoa(len(m.order)))
	}
	return m.bookmarks[name], nil
}

// SetBookmark implements [Log].
func (m *Memory) SetBookmark(ctx context.Context, name string, cursor Cursor) error {
	if err := m.lock(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	m.bookmarks[name] = cursor
	return nil
}
