package eventstest

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
)

// numbered gives bytes of which no stretch is like another.
func numbered(size int) []byte {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return data
}

// put keeps bytes for the writer's thread.
func (w *writer) put(data []byte) events.ArtifactID {
	w.Helper()
	id, err := w.PutArtifact(w.ctx, w.key, w.epoch, data)
	require.NoError(w, err)
	require.Equal(w, events.ArtifactOf(data), id)
	return id
}

// kept reads all of an artifact.
func (f *fixture) kept(key events.ThreadKey, id events.ArtifactID) []byte {
	f.Helper()
	reader, err := f.OpenArtifact(f.ctx, key, id)
	require.NoError(f, err)
	data, err := io.ReadAll(reader)
	require.NoError(f, err)
	return data
}

func (f *fixture) lacks(key events.ThreadKey, id events.ArtifactID) {
	f.Helper()
	_, err := f.OpenArtifact(f.ctx, key, id)
	require.ErrorIs(f, err, events.ErrNotFound)
}

// Bytes of any length come back as they were, from any place on.
func testArtifacts(t *testing.T, f *fixture) {
	w := f.begin()
	for _, size := range []int{0, 1, 256 << 10, 256<<10 + 1, 3_000_000} {
		data := numbered(size)
		id := w.put(data)
		require.Equal(t, id, w.put(data), "twice is fine")
		require.True(t, bytes.Equal(data, f.kept(w.key, id)))
	}
	data := numbered(3_000_000)
	reader, err := f.OpenArtifact(f.ctx, w.key, events.ArtifactOf(data))
	require.NoError(t, err)
	require.Equal(t, int64(len(data)), reader.Size())
	part := make([]byte, 300<<10)
	for _, offset := range []int64{256<<10 - 5, 0, 2_500_000} {
		_, err := reader.ReadAt(part, offset)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data[offset:offset+int64(len(part))], part))
	}
	n, err := reader.ReadAt(part, 2_999_999)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, 1, n)
}

// Only who holds the thread keeps something for it, and only so much.
func testArtifactsClaimed(t *testing.T, f *fixture) {
	w := f.begin()
	_, err := f.PutArtifact(f.ctx, newKey(), w.epoch, []byte("a"))
	require.ErrorIs(t, err, events.ErrFenced)
	_, err = f.Claim(f.ctx, w.key, "heir", true)
	require.NoError(t, err)
	_, err = f.PutArtifact(f.ctx, w.key, w.epoch, []byte("a"))
	require.ErrorIs(t, err, events.ErrFenced)
	f.lacks(w.key, events.ArtifactOf([]byte("a")))
	f.lacks(w.key, "no hash")

	w = f.begin()
	_, err = f.PutArtifact(f.ctx, w.key, w.epoch, make([]byte, events.MaxArtifactBytes+1))
	require.ErrorIs(t, err, events.ErrArtifactSize)
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	_, err = f.PutArtifact(ctx, w.key, w.epoch, []byte("a"))
	require.ErrorIs(t, err, context.Canceled)
	id := w.put([]byte("a"))
	f.lacks(events.ThreadKey{Tenant: "other", Thread: w.key.Thread}, id)
}

// Threads share bytes, and each has them until it is removed.
func testArtifactsShared(t *testing.T, f *fixture) {
	data := numbered(700_000)
	first, second, stranger := f.begin(), f.begin(), f.begin()
	id, text := first.put(data), first.put([]byte("its text"))
	require.Equal(t, id, second.put(data))
	created := events.ArtifactCreated{Artifact: id, Text: text, Name: "numbers", Source: events.SourceTool}
	for _, w := range []*writer{first, second} {
		w.add(created, events.WorkflowFinished{Status: events.StatusCompleted})
		require.NoError(t, f.Release(f.ctx, w.key, w.epoch))
	}
	f.lacks(stranger.key, id)
	require.Equal(t, "its text", string(f.kept(second.key, text)), "what its event names is its own")

	require.NoError(t, f.Remove(f.ctx, first.key))
	f.lacks(first.key, id)
	require.True(t, bytes.Equal(data, f.kept(second.key, id)))
	require.NoError(t, f.Remove(f.ctx, second.key))
	f.lacks(second.key, id)
	stranger.add(created)
	f.lacks(stranger.key, id)
	require.Equal(t, id, stranger.put(data), "what was deleted can be put again")
	require.True(t, bytes.Equal(data, f.kept(stranger.key, id)))
}
